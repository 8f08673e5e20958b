// SPDX-License-Identifier: MIT
// Calls the C functions of a library with one kernel, rcr in fp32, whose K is a multiple of 4.
#include "ckprof_gemm_api.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    enum
    {
        M = 16,
        N = 12,
        K = 20
    };
    int x[9];
    char name[40], cut[5], why[200];
    float ms = 5;
    static float a[M * K], b[N * K], e[M * N];
    for(int i = 0; i < M * K; ++i) a[i] = (float)(i % 7) - 3;
    for(int i = 0; i < N * K; ++i) b[i] = (float)(i % 5) - 2;
    assert(dispatcher_is_supported(M, N, K) == 0);
    assert(dispatcher_get_kernel_config(x, 0, 0, 0, 0, 0, 0, 0, 0) == -1);
    assert(dispatcher_select_kernel(M, N, K, name, sizeof(name)) == -1);
    assert(dispatcher_run_gemm(a, b, e, M, N, K, &ms) == -1 && ms == -1);
    assert(dispatcher_initialize() == 0 && dispatcher_init() == 0);
    assert(dispatcher_get_kernel_config(x, x + 1, 0, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8) ==
           0);
    assert(x[0] == 1 && x[1] == 2);
    assert(dispatcher_select_kernel(M, N, K, name, sizeof(name)) == 0);
    assert(strcmp(name, dispatcher_get_kernel_name()) == 0);
    assert(dispatcher_select_kernel(M, N, K, cut, sizeof(cut)) == 0 && strcmp(cut, "gemm") == 0);
    assert(dispatcher_select_kernel(M, N, K, NULL, 3) == -1);
    assert(dispatcher_select_kernel(M, N, 3, name, sizeof(name)) == -1);
    assert(dispatcher_is_supported(M, N, K) == 1 && dispatcher_is_supported(M, N, 3) == 0);
    assert(dispatcher_is_supported(0, N, K) == 0 && dispatcher_is_supported(M, N, -4) == 0);
    assert(dispatcher_run_gemm(a, b, e, M, N, 3, &ms) == -2 && ms == -1);
    assert(dispatcher_run_gemm(a, NULL, e, M, N, K, &ms) == -1 && ms == -1);
    assert(dispatcher_run_gemm(a, b, e, M, 0, K, &ms) == -1 && ms == -1);
    assert(dispatcher_run_gemm(a, b, e, M, N, K, &ms) == 0 && ms > 0);
    for(int m = 0; m < M; ++m)
        for(int n = 0; n < N; ++n)
        {
            float sum = 0;
            for(int k = 0; k < K; ++k) sum += a[m * K + k] * b[n * K + k];
            assert(e[m * N + n] == sum);
        }
    assert(dispatcher_get_kernel_count() == 1 && ckprof_gemm_kernel_count() == 1);
    assert(dispatcher_get_kernel_name_at(0, name, sizeof(name)) == 0);
    assert(dispatcher_get_kernel_name_at(1, name, sizeof(name)) == -1);
    assert(ckprof_gemm_find_kernel(name) == 0 && ckprof_gemm_find_kernel("none") == -1);
    ckprof_gemm_problem problem = {M, N, K, 0, 0, 0, 1};
    assert(ckprof_gemm_is_supported(0, &problem, why, sizeof(why)) == 1 && why[0] == 0);
    problem.stride_b = K - 1;
    assert(ckprof_gemm_is_supported(0, &problem, why, sizeof(why)) == 0);
    assert(strncmp(why, "the stride of B is 19, its lines have 20 elements", 49) == 0);
    assert(ckprof_gemm_run(0, &problem, a, b, e, 0, 1, why, sizeof(why)) == -3);
    problem.stride_b = 0;
    problem.m        = 0;
    assert(ckprof_gemm_is_supported(0, &problem, why, sizeof(why)) == -1);
    problem.m = M;
    assert(ckprof_gemm_run(0, &problem, a, b, e, 1, 2, why, sizeof(why)) > 0);
    assert(ckprof_gemm_run(1, &problem, a, b, e, 1, 2, why, sizeof(why)) == -1);
    printf("%s\n", dispatcher_export_registry_json());
    dispatcher_cleanup();
    assert(dispatcher_is_supported(M, N, K) == 0);
    return 0;
}
