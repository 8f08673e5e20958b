// SPDX-License-Identifier: MIT
// Build-time switches of the host model: a CPU implementation of the part of CK Tile's interface
// that generated grouped-convolution kernels use.
#pragma once

#define CK_TILE_HOST_MODEL 1

// Interface level of CK Tile that the model follows (year and month).
#define CK_TILE_HOST_MODEL_LEVEL 202606

// CK_TILE_HOST_MODEL_HEADER_ONLY: everything is inline, a program needs nothing but these headers
// and the table of devices (host_model/device_table.hpp).
// Without it the heavy routines (micro-kernels, packing, thread pool, support tests, strings) are
// only declared here and come from plugins/targets/cpu/src/host_model_blocks.cpp and
// host_model_support.cpp, which are compiled once and linked; a kernel's translation unit then
// compiles in a fraction of a second.
#if defined(CK_TILE_HOST_MODEL_HEADER_ONLY)
#define CK_TILE_HOST_MODEL_API inline
#else
#define CK_TILE_HOST_MODEL_API
#endif

// On a GPU build this macro adds GetInstanceString(); the host model always has it.
#if !defined(CK_EXPERIMENTAL_BUILDER)
#define CK_EXPERIMENTAL_BUILDER
#endif

// Rounding of float to bfloat16: 0 nearest even, 1 truncate but keep NaN, 2 truncate,
// 3 nearest even (hardware sequence), 4 nearest, ties away from zero.
#if !defined(CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT)
#if defined(CK_GFX950_SUPPORT)
#define CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT 0
#else
#define CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT 2
#endif
#endif

// Encoding of the 8-bit floating-point types: 1 OCP, 0 FNUZ.
#if !defined(CK_TILE_USE_OCP_FP8)
#if defined(CK_GFX950_SUPPORT)
#define CK_TILE_USE_OCP_FP8 1
#else
#define CK_TILE_USE_OCP_FP8 0
#endif
#endif

#define CK_TILE_HOST
#define CK_TILE_DEVICE
#if defined(__CUDACC__)
#define CK_TILE_HOST_DEVICE __host__ __device__
#else
#define CK_TILE_HOST_DEVICE
#endif
