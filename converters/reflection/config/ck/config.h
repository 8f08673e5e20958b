// SPDX-License-Identifier: MIT
//
// A source tree has this header only once CMake has configured it. All types; matrix instructions
// by the command line.
#ifndef CK_CONFIG_H_IN
#define CK_CONFIG_H_IN

#define CK_ENABLE_INT8 "ON"
#define CK_ENABLE_FP8 "ON"
#define CK_ENABLE_BF8 "ON"
#define CK_ENABLE_FP16 "ON"
#define CK_ENABLE_BF16 "ON"
#define CK_ENABLE_FP32 "ON"
#define CK_ENABLE_FP64 "ON"
#define CK_ENABLE_TF32 "ON"

#endif
