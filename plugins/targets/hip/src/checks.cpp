// SPDX-License-Identifier: MIT
// Operands, references and comparisons on an AMD GPU.
#include <hip/hip_runtime.h>

#if HIP_VERSION_MAJOR < 6 && __clang_major__ > 19
// What the barriers of these headers call lies in a library that newer compilers do not link.
extern "C" inline __device__ void
__atomic_work_item_fence(__cl_mem_fence_flags, __memory_order, __memory_scope)
{ __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
#endif

#define CKPROF_RUNTIME(name) hip##name
#include "ckprof_device_api.hpp"
#include "ckprof_device_checks.hpp"

namespace {

constexpr ckprof_checks table = ckprof::checks::table<ckprof::device_api>();

} // namespace

extern "C" const ckprof_checks* ckprof_get_checks(void) { return &table; }
