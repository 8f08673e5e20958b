/* SPDX-License-Identifier: MIT
 *
 * The C entry of a candidate that 'ckprof judge' runs: one function, which computes the result of
 * one problem. Sizes, tensors and status are those of ckprof_abi.h.
 *
 * It returns when the result is complete, and leaves operands as they are. CKPROF_REJECTED says
 * that it does not support the problem, CKPROF_FAILED that it failed; the reason may hold a text,
 * cut to reason_size with its terminator. Time is taken by the process that judges, around the
 * call.
 */
#ifndef CKPROF_CANDIDATE_H
#define CKPROF_CANDIDATE_H

#include "ckprof_abi.h"

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default")))
    ckprof_status ckprof_candidate(const ckprof_problem* problem,
                                   const ckprof_buffers* buffers,
                                   char* reason,
                                   size_t reason_size);

#endif
