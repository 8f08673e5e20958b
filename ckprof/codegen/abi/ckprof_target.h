/* SPDX-License-Identifier: MIT
 *
 * What a target's support source provides to the kernel library that it is linked into.
 */
#ifndef CKPROF_TARGET_H
#define CKPROF_TARGET_H

#include "ckprof_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The target's table; never NULL, lives as long as the library. */
const ckprof_target* ckprof_target_table(void);

#ifdef __cplusplus
}
#endif

#endif
