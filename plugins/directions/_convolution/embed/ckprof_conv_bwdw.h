/* SPDX-License-Identifier: MIT
 *
 * The older interface for backward weight alone, version 1.0.0: x, dy, dw; -1 on any error. Only
 * libckprof_conv_bwd_weight.so has it.
 */
#ifndef CKPROF_CONV_BWDW_H
#define CKPROF_CONV_BWDW_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ConvBwdwProblemC
{
    int N, G, C, K;
    int input_d, input_h, input_w;
    int filter_z, filter_y, filter_x;
    int stride_d, stride_h, stride_w;
    int pad_d, pad_h, pad_w;
    int dilation_d, dilation_h, dilation_w;
    int split_k;
} ConvBwdwProblemC;

int conv_bwdw_init(void);
void conv_bwdw_cleanup(void);
const char* conv_bwdw_version(void);
int conv_bwdw_has_kernels(void);
int conv_bwdw_get_kernel_count(void);
int conv_bwdw_get_kernel_name(int index, char* name, int size);
float conv_bwdw_run(
    const void* x, const void* dy, void* dw, const ConvBwdwProblemC* problem, void* stream);

#ifdef __cplusplus
}
#endif

#endif
