/* SPDX-License-Identifier: MIT
 *
 * The C interface between a generated kernel library and the worker process that loads it.
 *
 * A library exports one function, ckprof_get_library(). Everything else is reached through the
 * table that it returns. No function throws; text results are written into the caller's buffer,
 * always terminated, cut if too long. Pointers inside the table live as long as the library.
 */
#ifndef CKPROF_ABI_H
#define CKPROF_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever anything below changes; part of every object's cache key. */
#define CKPROF_ABI_VERSION 7

/* Most sizes of a problem, and most tensors of an operation. */
#define CKPROF_MAX_VALUES 32
#define CKPROF_MAX_TENSORS 8

/* A problem of the operation that the library's kernels compute: its sizes are values, in the order
 * that the operation defines. A split_k of less than 0 leaves the number of splits to the kernel.
 *
 * Those of a convolution have names. Spatial arrays are ordered D, H, W with ndim used entries from
 * index 0; K and C are per group. Operations without spatial axes have an ndim of 0. */
typedef struct ckprof_problem
{
    int32_t ndim;
    int32_t split_k;
    __extension__ union {
        int64_t values[CKPROF_MAX_VALUES];
        __extension__ struct
        {
            int64_t groups;
            int64_t batch;
            int64_t out_channels;
            int64_t in_channels;
            int64_t filter[3];
            int64_t input[3];
            int64_t strides[3];
            int64_t dilations[3];
            int64_t left_pads[3];
            int64_t right_pads[3];
        };
    };
} ckprof_problem;

/* Target memory of a convolution's tensors, packed. Which one is written depends on the direction.
 *
 * It is an array of pointers: other operations have tensors of their own, at most
 * CKPROF_MAX_TENSORS, in the order that the operation defines; see ckprof_tensor(). */
typedef struct ckprof_buffers
{
    void* input;
    void* weight;
    void* output;
} ckprof_buffers;

/* Target memory of one tensor, by its position in the operation's order. */
static inline void* ckprof_tensor(const ckprof_buffers* buffers, int position)
{ return ((void* const*)buffers)[position]; }

typedef enum ckprof_status
{
    CKPROF_OK       = 0,
    CKPROF_REJECTED = 1, /* the kernel does not support the problem; the reason says why. That of a
                            run may name the condition first: "device-memory: it needs more" */
    CKPROF_FAILED = 2    /* something was thrown; the reason is its text */
} ckprof_status;

/* What a kernel that supports a problem will do with it. */
typedef struct ckprof_plan
{
    uint64_t workspace_bytes; /* scratch memory that the launcher takes, 0 if none */
    int32_t split_k;          /* the problem's, or the one that the kernel has chosen */
} ckprof_plan;

/* Told of one condition that a problem does not meet: a stable id, and a sentence with the numbers.
 * The texts live as long as the call. */
typedef void (*ckprof_report)(void* context, const char* condition, const char* message);

/* The id that is reported last where a support test did not get to its end: what was reported
 * before may not be all that is not met. */
#define CKPROF_UNTESTED "untested"

typedef struct ckprof_kernel
{
    const char* key;  /* content key of the instance, 32 hexadecimal digits */
    const char* name; /* kernel name */
    /* CKPROF_OK: *plan is filled. CKPROF_REJECTED: report was called for every condition that is
     * not met, the one that decides first, and with CKPROF_UNTESTED if there may be more of them.
     * CKPROF_FAILED: report was called with what was thrown. */
    ckprof_status (*is_supported)(const ckprof_problem* problem,
                                  ckprof_plan* plan,
                                  ckprof_report report,
                                  void* context);
    /* CK Builder's text of the instance. */
    ckprof_status (*instance_string)(char* text, size_t text_size);
    /* Runs the kernel. With launches > 0 it is launched that many times in a row, and *time_ms is
     * the duration of one of them: what the launcher measured around all (including its own zeroing
     * of outputs and workspace), divided by their number. With 0 it is launched once, and *time_ms
     * is set to 0. Returns after the kernel is done. */
    ckprof_status (*run)(const ckprof_problem* problem,
                         const ckprof_buffers* buffers,
                         int32_t launches,
                         double* time_ms,
                         char* reason,
                         size_t reason_size);
} ckprof_kernel;

/* The device that was selected, as far as it bears on times: what really computes, whatever
 * architecture is modelled. Texts are terminated; empty and 0 stand for what is not known. */
typedef struct ckprof_device
{
    char model[128];       /* name and what tells variants apart */
    char driver[64];       /* version of the device's driver, major number first */
    char partition[64];    /* partition mode */
    uint64_t memory_bytes; /* all of it, 0 where it is the host's */
    uint32_t compute_units;
    uint32_t event_clock; /* 1: launchers measure with the device's own clock */
} ckprof_device;

/* What the target offers to the worker. */
typedef struct ckprof_target
{
    const char* id;
    /* Selects the device, or on the CPU the modelled one, by architecture name and index. */
    ckprof_status (*select_device)(const char* arch,
                                   int32_t index,
                                   char* reason,
                                   size_t reason_size);
    /* Number of CPU threads that kernels may use; 0 restores the default. Without effect on a GPU.
     */
    void (*set_cpu_threads)(int32_t workers);
    /* One line: device name and what matters for speed. */
    void (*describe_device)(char* text, size_t text_size);
    /* NULL when out of memory or when the device has failed: last_error tells them apart. Aligned
     * to at least 256 bytes. */
    void* (*allocate)(size_t bytes);
    void (*release)(void* memory);
    ckprof_status (*copy_to_device)(void* device, const void* host, size_t bytes);
    ckprof_status (*copy_to_host)(void* host, const void* device, size_t bytes);
    /* Evicts the caches by touching that many bytes of memory of the target's own; need not wait
     * for it. 0 frees that memory. CKPROF_REJECTED: there is not that much memory. */
    ckprof_status (*flush_cache)(size_t bytes);
    /* Bytes that can still be allocated; 0 if that is not known. */
    uint64_t (*available_bytes)(void);
    /* Text of the device's error in the last call that failed; empty if memory was short. The
     * function may be NULL. */
    void (*last_error)(char* text, size_t text_size);
    /* Fills *device, which is zeroed. The function may be NULL: nothing is known then. */
    ckprof_status (*identify_device)(ckprof_device* device);
} ckprof_target;

typedef struct ckprof_library
{
    uint32_t abi_version;
    uint32_t kernel_count;
    const ckprof_kernel* const* kernels;
    const ckprof_target* target;
} ckprof_library;

const ckprof_library* ckprof_get_library(void);

#ifdef __cplusplus
}
#endif

#endif
