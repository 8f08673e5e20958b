/* SPDX-License-Identifier: MIT
 *
 * The C interface of libckprof_conv_<direction>.so, for programs that load kernels.
 *
 * The conv_dispatcher_* functions are those of CK Tile's dispatcher, version 2.0.0: same names,
 * same struct, same return codes. The ckprof_conv_* functions add what they lack: any of the
 * library's kernels by number, its reasons, one to three dimensions, pads that differ between the
 * sides, and how to time. A direction may add functions of its own, with a header of their own.
 *
 * Tensors are packed, in the layout of the kernel, in memory of the target (ckprof_conv_allocate;
 * on the CPU any memory will do). The device is initialised by the first call that needs it.
 * Functions may be called from several threads; kernels run one after the other.
 */
#ifndef CKPROF_CONV_API_H
#define CKPROF_CONV_API_H

#include <stddef.h>

#include "ckprof_abi.h"

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

/* A convolution of two or three dimensions. C and K count the channels of all groups together and
 * must be multiples of G. It has three dimensions if input_d or filter_z is more than 1. Both sides
 * are padded alike. */
typedef struct ConvProblemC
{
    int N, G, C, K;
    int input_d, input_h, input_w;
    int filter_z, filter_y, filter_x;
    int stride_d, stride_h, stride_w;
    int pad_d, pad_h, pad_w;
    int dilation_d, dilation_h, dilation_w;
    int direction; /* 0 forward, 1 backward data, 2 backward weight */
    int split_k;   /* 0 is taken for 1 */
} ConvProblemC;

int conv_dispatcher_init(void);    /* 0; -1 if the device cannot be used */
int conv_dispatcher_cleanup(void); /* 0 */
const char* conv_dispatcher_version(void);
/* 1 if the library holds forward, backward-data, backward-weight kernels, else 0 */
int conv_dispatcher_has_kernels(void);
int conv_dispatcher_has_bwd_data(void);
int conv_dispatcher_has_bwd_weight(void);
int conv_dispatcher_get_kernel_count(void);
/* 0, or -1 for a bad argument; the name is cut if it is too long */
int conv_dispatcher_get_kernel_name(int index, char* name, int size);
/* whether the selected kernel, or without a selection any kernel, supports the problem */
bool conv_dispatcher_is_supported(const ConvProblemC* problem);
/* name of the kernel that conv_dispatcher_run would use: 0, or -1 if there is none */
int conv_dispatcher_select_kernel(const ConvProblemC* problem, char* name, int size);
/* Runs the selected kernel, or without a selection the first one that supports the problem.
 * Buffers: forward X, W, Y; backward data dY, W, dX; backward weight X, dY, dW; the last one is
 * written. Returns ms > 0; -1 for a null pointer, a wrong direction or malformed problem; -2 if no
 * kernel has these dimensions; -3 if the kernel rejected or threw. The stream must be null. */
float conv_dispatcher_run(
    const void* a, const void* b, void* c, const ConvProblemC* problem, void* stream);

/* How a run is timed; all zero runs once. */
typedef struct ckprof_conv_timing
{
    int warmup; /* runs before the timed ones */
    int repeat; /* timed runs, at least 1 */
    int median; /* 0: mean of the timed runs, else their median */
    size_t
        flush_bytes; /* bytes to touch before each timed run to evict the caches; 0: leave them */
} ckprof_conv_timing;

/* Used by conv_dispatcher_run; 3 warm-up runs, mean of 10 unless set. -1 for values out of range.
 */
int ckprof_conv_set_timing(const ckprof_conv_timing* timing);

/* Chooses the kernel of the conv_dispatcher_* functions: by number, by name, or none (-1). Returns
 * the number that is selected now, -2 if there is no such kernel. */
int ckprof_conv_select_index(int index);
int ckprof_conv_select_name(const char* name);

const char* ckprof_conv_direction(void);
const char* ckprof_conv_arch(void);
/* What argument 0, 1, 2 (a, b, c) of a run is: 0 input, 1 weight, 2 output; -1 for another number.
 * The last one is what the kernels compute. */
int ckprof_conv_buffer(int position);
int ckprof_conv_kernel_count(void);
/* Of one kernel, NULL for a wrong number; they live as long as the library. The fields are a JSON
 * object. */
const char* ckprof_conv_kernel_name(int index);
const char* ckprof_conv_kernel_key(int index);
const char* ckprof_conv_kernel_fields(int index);
/* CK Builder's text: 0, -1 for a bad argument, -3 if the library was built without it. */
int ckprof_conv_instance_string(int index, char* text, size_t size);
/* Number of the kernel with this name, -1 if there is none. */
int ckprof_conv_find_kernel(const char* name);

/* The kernel's own test: 1 yes, 0 no, -1 bad argument or something was thrown. The reason, which
 * may be NULL, says why not. K and C of the problem are per group. */
int ckprof_conv_is_supported(int index, const ckprof_problem* problem, char* reason, size_t size);
/* Runs one kernel on buffers that hold the three tensors; timing may be NULL. Returns as
 * conv_dispatcher_run. */
float ckprof_conv_run(int index,
                      const ckprof_problem* problem,
                      const ckprof_buffers* buffers,
                      const ckprof_conv_timing* timing,
                      char* reason,
                      size_t size);

/* Chooses the device before the first use; arch NULL is what the kernels were built for. 0, or -1
 * and the reason. */
int ckprof_conv_select_device(const char* arch, int index, char* reason, size_t size);
/* One line about the device. */
int ckprof_conv_describe_device(char* text, size_t size);
/* Memory of the target: NULL or -1 on failure, 0 on success. */
void* ckprof_conv_allocate(size_t bytes);
void ckprof_conv_release(void* memory);
int ckprof_conv_copy_to_device(void* device, const void* host, size_t bytes);
int ckprof_conv_copy_to_host(void* host, const void* device, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
