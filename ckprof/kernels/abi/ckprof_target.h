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

/* What a device can be asked to reach. */
typedef enum ckprof_peak
{
    CKPROF_PEAK_COPY = 0, /* bytes read and written per second while memory is copied */
    CKPROF_PEAK_FP32 = 1, /* operations per second of multiply-adds of fp32 operands */
    CKPROF_PEAK_FP16 = 2, /* the same of fp16 operands, added up in fp32 */
    CKPROF_PEAK_BF16 = 3  /* the same of bf16 operands, added up in fp32 */
} ckprof_peak;

/* A target may leave this function out. Measures for about so many seconds what the selected device
 * reaches, with the number of threads that is set; a copy has source and destination of so many
 * bytes. CKPROF_REJECTED: this device is not measured that way. */
__attribute__((visibility("default"))) ckprof_status ckprof_measure_peak(ckprof_peak peak,
                                                                         size_t bytes,
                                                                         double seconds,
                                                                         double* rate);

/* A target may leave this function out, too. Says which of the device's units computed the launches
 * since the last call, where it chooses one for each launch by its operands: their names, separated
 * by commas. */
__attribute__((visibility("default"))) void ckprof_units_used(char* names, size_t names_size);

#ifdef __cplusplus
}
#endif

#endif
