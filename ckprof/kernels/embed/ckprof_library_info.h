/* SPDX-License-Identifier: MIT
 *
 * What a kernel library says about itself.
 */
#ifndef CKPROF_LIBRARY_INFO_H
#define CKPROF_LIBRARY_INFO_H

#include "ckprof_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ckprof_library_info
{
    const char* operation; /* id of the operation */
    const char* arch;      /* architecture that the kernels were built for */
    const char* version;   /* of the C functions for programs; empty if they have none */
    /* per kernel of the library's table, in its order: a JSON object with everything that makes it
     */
    const char* const* fields;
    /* Writes the numbers of all kernels, those with the smallest predicted times first. Null
     * without a time model: kernels are then taken in the order of the table. */
    void (*rank)(const ckprof_problem* problem, int* order);
} ckprof_library_info;

const ckprof_library_info* ckprof_get_info(void);

#ifdef __cplusplus
}
#endif

#endif
