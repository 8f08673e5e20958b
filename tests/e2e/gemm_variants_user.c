// SPDX-License-Identifier: MIT
// Calls the C functions of a library with a plain, a batched and two multi-D kernels, rrr in fp32.
#include "ckprof_gemm_api.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum
{
    M     = 5,
    N     = 8,
    K     = 16,
    COUNT = 2
};

int main(void)
{
    float a[COUNT * M * K], b[COUNT * K * N], d[M * N], e[COUNT * M * N + 3];
    char why[256];
    for(int i = 0; i < COUNT * M * K; ++i) a[i] = (float)(i % 5 - 2);
    for(int i = 0; i < COUNT * K * N; ++i) b[i] = (float)(i % 7 - 3);
    for(int i = 0; i < M * N; ++i) d[i] = (float)(i % 3 - 1);
    float products[COUNT][M * N];
    for(int g = 0; g < COUNT; ++g)
        for(int i = 0; i < M * N; ++i)
        {
            products[g][i] = 0;
            for(int k = 0; k < K; ++k)
                products[g][i] += a[(g * M + i / N) * K + k] * b[(g * K + k) * N + i % N];
        }
    const ckprof_gemm_problem problem = {M, N, K, 0, 0, 0, 1};
    ckprof_gemm_extra none = {0}, batch = {.batch = COUNT, .batch_stride_e = M * N + 4};
    assert(ckprof_gemm_is_supported_with(0, &problem, &none, why, sizeof(why)) == 1);
    assert(ckprof_gemm_is_supported_with(0, &problem, &batch, why, sizeof(why)) == 0);
    assert(strstr(why, "a batch of 2") != NULL);
    batch.batch_stride_e = M * N - 4;
    assert(ckprof_gemm_is_supported_with(1, &problem, &batch, why, sizeof(why)) == 0);
    assert(strstr(why, "the batch stride of E is 36, each matrix takes 40 elements") != NULL);
    batch.batch_stride_e = 0;
    e[COUNT * M * N]     = 99;
    assert(ckprof_gemm_run_with(1, &problem, &batch, a, b, NULL, e, 0, 2, why, sizeof(why)) > 0);
    for(int i = 0; i < COUNT * M * N; ++i) assert(e[i] == products[i / (M * N)][i % (M * N)]);
    assert(e[COUNT * M * N] == 99);
    ckprof_gemm_extra multiply = {.elementwise_op = 2, .d_count = 1};
    const void* matrices[]     = {d};
    assert(ckprof_gemm_run_with(3, &problem, &multiply, a, b, matrices, e, 1, 1, why, sizeof(why)) >
           0);
    for(int i = 0; i < M * N; ++i) assert(e[i] == products[0][i] * d[i]);
    assert(ckprof_gemm_run_with(3, &problem, &multiply, a, b, NULL, e, 1, 1, why, sizeof(why)) ==
           -1);
    assert(strcmp(why, "a buffer is missing") == 0);
    assert(ckprof_gemm_run(3, &problem, a, b, e, 1, 1, why, sizeof(why)) == -3);
    multiply.d_count = 3;
    assert(ckprof_gemm_is_supported_with(3, &problem, &multiply, why, sizeof(why)) == -1);
    multiply.d_count = 0;
    assert(ckprof_gemm_is_supported_with(3, &problem, &multiply, why, sizeof(why)) == -1);
    assert(ckprof_gemm_is_supported_with(3, &problem, NULL, why, sizeof(why)) == -1);
    assert(dispatcher_initialize() == 0);
    char name[256];
    assert(dispatcher_select_kernel(M, N, K, name, sizeof(name)) == 0);
    assert(strcmp(name, ckprof_gemm_kernel_name(0)) == 0);
    return 0;
}
