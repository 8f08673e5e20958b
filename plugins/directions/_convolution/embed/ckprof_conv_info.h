/* SPDX-License-Identifier: MIT
 *
 * What a kernel library says about itself to the sources that are linked into it.
 */
#ifndef CKPROF_CONV_INFO_H
#define CKPROF_CONV_INFO_H

#include "ckprof_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ckprof_conv_info
{
    const char* direction; /* id of the direction */
    int number;            /* ConvProblemC's number of it, -1 if it has none */
    int buffers[3];        /* what a, b and c are: 0 input, 1 weight, 2 output */
    const char* arch;      /* architecture that the kernels were built for */
    const char* version;   /* of the dispatcher's C interface */
    /* per kernel of the library's table, in its order: */
    const int* ndims;          /* number of spatial dimensions */
    const char* const* fields; /* a JSON object with everything that makes the kernel */
    /* Writes the numbers of all kernels, those with the smallest predicted times first. Null
     * without a time model: kernels are then taken in the order of the table. */
    void (*rank)(const ckprof_problem* problem, int* order);
} ckprof_conv_info;

extern const ckprof_conv_info ckprof_conv_library_info;

#ifdef __cplusplus
}
#endif

#endif
