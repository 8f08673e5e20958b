// SPDX-License-Identifier: MIT
//
// The older interface for backward weight alone, over that of ckprof_conv_api.h. A part of the
// library's table, behind that header and ckprof_conv_bwdw.h.
#define CKPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int backward_weight = 2;
constexpr float failed        = -1;

} // namespace

CKPROF_EXPORT int conv_bwdw_init(void) { return conv_dispatcher_init(); }

CKPROF_EXPORT void conv_bwdw_cleanup(void) { conv_dispatcher_cleanup(); }

CKPROF_EXPORT const char* conv_bwdw_version(void) { return "1.0.0"; }

CKPROF_EXPORT int conv_bwdw_has_kernels(void) { return conv_dispatcher_has_bwd_weight(); }

CKPROF_EXPORT int conv_bwdw_get_kernel_count(void)
{ return conv_bwdw_has_kernels() != 0 ? conv_dispatcher_get_kernel_count() : 0; }

CKPROF_EXPORT int conv_bwdw_get_kernel_name(int index, char* name, int size)
{ return conv_bwdw_has_kernels() != 0 ? conv_dispatcher_get_kernel_name(index, name, size) : -1; }

CKPROF_EXPORT float
conv_bwdw_run(const void* x, const void* dy, void* dw, const ConvBwdwProblemC* given, void* stream)
{
    if(given == nullptr) return failed;
    ConvProblemC problem = {};
    problem.N            = given->N;
    problem.G            = given->G;
    problem.C            = given->C;
    problem.K            = given->K;
    problem.input_d      = given->input_d;
    problem.input_h      = given->input_h;
    problem.input_w      = given->input_w;
    problem.filter_z     = given->filter_z;
    problem.filter_y     = given->filter_y;
    problem.filter_x     = given->filter_x;
    problem.stride_d     = given->stride_d;
    problem.stride_h     = given->stride_h;
    problem.stride_w     = given->stride_w;
    problem.pad_d        = given->pad_d;
    problem.pad_h        = given->pad_h;
    problem.pad_w        = given->pad_w;
    problem.dilation_d   = given->dilation_d;
    problem.dilation_h   = given->dilation_h;
    problem.dilation_w   = given->dilation_w;
    problem.direction    = backward_weight;
    problem.split_k      = given->split_k;
    const float time_ms  = conv_dispatcher_run(x, dy, dw, &problem, stream);
    return time_ms > 0 ? time_ms : failed;
}
