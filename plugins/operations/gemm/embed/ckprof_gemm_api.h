/* SPDX-License-Identifier: MIT
 *
 * The C interface of libckprof_gemm.so, for programs that load kernels.
 *
 * The dispatcher_* functions are those of the GEMM library of CK Tile's dispatcher: same names,
 * same return codes. The ckprof_gemm_* functions add what they lack: any of the library's kernels
 * by number, splits of the reduction, strides, reasons, and memory of the target.
 *
 * E[M,N] = sum over K of A[M,K] * B[K,N], in the layout and the types of the kernel; the functions
 * that end in _with also take batches of products and D tensors. The device is initialised by the
 * first call that needs it. Functions may be called from several threads; kernels run one after the
 * other.
 */
#ifndef CKPROF_GEMM_API_H
#define CKPROF_GEMM_API_H

#include <stddef.h>
#include <stdint.h>

#include "ckprof_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or -1 if the device cannot be used. Until then nothing is supported. */
int dispatcher_initialize(void);
int dispatcher_init(void); /* the same */
void dispatcher_cleanup(void);
/* Sizes of the first kernel; null pointers are skipped. 0, or -1 before initialisation. */
int dispatcher_get_kernel_config(int* tile_m,
                                 int* tile_n,
                                 int* tile_k,
                                 int* mma_m,
                                 int* mma_n,
                                 int* mma_k,
                                 int* grid_m,
                                 int* grid_n,
                                 int* grid_k);
/* Name of the kernel to use for packed matrices of these sizes, cut if it is too long: 0, or -1 if
 * there is none or an argument is bad. Of the kernels that support them it is the one with the
 * smallest predicted time; without a time model, the first one. */
int dispatcher_select_kernel(int64_t m, int64_t n, int64_t k, char* name, int size);
int dispatcher_is_supported(int64_t m, int64_t n, int64_t k); /* 1 or 0 */
/* Runs the kernel that dispatcher_select_kernel names on packed matrices in host memory. 0, -1 for
 * bad arguments or a failure, -2 if no kernel supports the sizes; *time_ms is -1 unless it ran. */
int dispatcher_run_gemm(
    const void* a, const void* b, void* e, int64_t m, int64_t n, int64_t k, float* time_ms);
const char* dispatcher_get_kernel_name(void);                       /* of the first kernel */
int dispatcher_get_kernel_name_at(int index, char* name, int size); /* 0, or -1 */
int dispatcher_get_kernel_count(void);
/* All kernels as JSON; valid until the next call. */
const char* dispatcher_export_registry_json(void);

typedef struct ckprof_gemm_problem
{
    int64_t m, n, k;
    int64_t stride_a, stride_b, stride_e; /* elements from line to line; 0 packs them */
    int32_t split_k;                      /* splits of the reduction; less than 1: the kernel's */
} ckprof_gemm_problem;

/* What a problem has beside the product of two matrices; all zero if it has nothing else. Only
 * kernels that compute batches support several products, and those with D tensors nothing but
 * their own operation with so many of them. */
typedef struct ckprof_gemm_extra
{
    int64_t batch; /* products of the same sizes; less than 1 is one */
    int64_t batch_stride_a, batch_stride_b, batch_stride_e; /* elements from product to product; 0:
                                                               one behind the other */
    int32_t elementwise_op; /* how the product and the D tensors are combined; 1 MultiDAdd,
                               2 MultiDMultiply */
    int32_t d_count;
    int64_t stride_d[2]; /* elements from row to row; 0 packs them */
} ckprof_gemm_extra;

const char* ckprof_gemm_arch(void);
int ckprof_gemm_kernel_count(void);
/* Of one kernel, NULL for a wrong number; they live as long as the library. The fields are a JSON
 * object. */
const char* ckprof_gemm_kernel_name(int index);
const char* ckprof_gemm_kernel_key(int index);
const char* ckprof_gemm_kernel_fields(int index);
/* Number of the kernel with this name, -1 if there is none. */
int ckprof_gemm_find_kernel(const char* name);
/* The kernel's text: 0, -1 for a bad argument, -3 if it has none. */
int ckprof_gemm_instance_string(int index, char* text, size_t size);
/* 1 yes, 0 no, -1 bad argument or something was thrown. The reason, which may be NULL, says why. */
int ckprof_gemm_is_supported(int index,
                             const ckprof_gemm_problem* problem,
                             char* reason,
                             size_t size);
/* Runs one kernel on matrices in memory of the target, warmup + max(repeat, 1) times. Returns the
 * mean of the timed runs in ms > 0; -1 for bad arguments, -3 if the kernel rejected or failed. */
float ckprof_gemm_run(int index,
                      const ckprof_gemm_problem* problem,
                      const void* a,
                      const void* b,
                      void* e,
                      int warmup,
                      int repeat,
                      char* reason,
                      size_t size);
/* The same with more than two matrices or several products. D tensors are M x N and have the type
 * of E. */
int ckprof_gemm_is_supported_with(int index,
                                  const ckprof_gemm_problem* problem,
                                  const ckprof_gemm_extra* extra,
                                  char* reason,
                                  size_t size);
float ckprof_gemm_run_with(int index,
                           const ckprof_gemm_problem* problem,
                           const ckprof_gemm_extra* extra,
                           const void* a,
                           const void* b,
                           const void* const* d, /* extra->d_count of them */
                           void* e,
                           int warmup,
                           int repeat,
                           char* reason,
                           size_t size);
/* Number of the kernel to use for a problem, chosen as by dispatcher_select_kernel; extra, which
 * may be NULL, is part of what kernels support, not of predicted times, except for batch. -1: none
 * supports it, bad arguments, or the device cannot be used. */
int ckprof_gemm_select_kernel(const ckprof_gemm_problem* problem, const ckprof_gemm_extra* extra);
/* Chooses the device before the first use; arch NULL is what the kernels were built for. 0, or -1
 * and the reason. */
int ckprof_gemm_select_device(const char* arch, int index, char* reason, size_t size);
/* Memory of the target: NULL or -1 on failure, 0 on success. */
void* ckprof_gemm_allocate(size_t bytes);
void ckprof_gemm_release(void* memory);
int ckprof_gemm_copy_to_device(void* device, const void* host, size_t bytes);
int ckprof_gemm_copy_to_host(void* host, const void* device, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
