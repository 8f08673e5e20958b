// SPDX-License-Identifier: MIT
//
// Launchers of kernels that see the stride along the last axis as channels.
#ifndef CKPROF_FOLDED_STRIDE_HPP
#define CKPROF_FOLDED_STRIDE_HPP

#include <limits>
#include <stdexcept>
#include <string>

#include "ck_tile/host/convolution_parameter.hpp"
#include "ck_tile/host/stream_config.hpp"
#include "ckprof_changed_problem.hpp"

namespace ckprof {

// With channels last and one group, s pixels that lie side by side in a row are, in memory, one
// pixel with s times the channels, in the image and in the filter alike. Where the stride s along
// the last axis divides the lengths and pads of that axis, the convolution is therefore one of
// images and filters s times narrower, with stride 1, s times the channels and the same tensors:
//   N,H,W,C * K,Y,X,C with stride s  =  N,H,W/s,s*C * K,Y,X/s,s*C with stride 1
// The output is the same. Nothing is copied; a kernel that needs channels in multiples of its
// vectors gets s times as many, and backward data has s times fewer GEMMs.
//
// Problem is a ConvParam, or host arguments, which are one with pointers.
template <typename Problem>
Problem fold_stride(Problem problem)
{
    const auto stride = problem.conv_filter_strides_.back();
    problem.C_ *= stride;
    problem.filter_spatial_lengths_.back() /= stride;
    problem.input_spatial_lengths_.back() /= stride;
    problem.input_left_pads_.back() /= stride;
    problem.input_right_pads_.back() /= stride;
    problem.conv_filter_strides_.back() = 1;
    return problem;
}

// Whether a problem is none of those; calls report(context, condition, reason) for each reason.
inline bool cannot_fold_stride(const ck_tile::conv::ConvParam& param,
                               void (*report)(void*, const char*, const char*),
                               void* context)
{
    const auto stride = param.conv_filter_strides_.back();
    const auto most   = std::numeric_limits<ck_tile::index_t>::max();
    bool unmet        = false;
    const auto need   = [&](bool met, const char* what, auto value, const std::string& expected) {
        if(met) { return; }
        const std::string reason = std::string(what) + " = " + std::to_string(value) +
                                   ", expected " + expected +
                                   " to see the stride along the last axis as channels";
        report(context, "fold-stride", reason.c_str());
        unmet = true;
    };
    const auto need_multiple = [&](const char* what, auto length) {
        need(length % stride == 0,
             what,
             length,
             "a multiple of the stride " + std::to_string(stride));
    };
    need(param.G_ == 1, "G", param.G_, "1");
    need(stride > 1 && stride <= most, "the stride", stride, "more than 1");
    need(param.conv_filter_dilations_.back() == 1,
         "the dilation",
         param.conv_filter_dilations_.back(),
         "1");
    // The product with the stride must not leave 64 bits before the kernel refuses it.
    need(param.C_ <= most, "C", param.C_, "at most " + std::to_string(most));
    if(stride > 1)
    {
        need_multiple("the width of the filter", param.filter_spatial_lengths_.back());
        need_multiple("the width of the input", param.input_spatial_lengths_.back());
        need_multiple("the left pad", param.input_left_pads_.back());
        need_multiple("the right pad", param.input_right_pads_.back());
    }
    return unmet;
}

inline bool can_fold_stride(const ck_tile::conv::ConvParam& param)
{
    return !cannot_fold_stride(param, [](void*, const char*, const char*) {}, nullptr);
}

struct fold
{
    static bool possible(const ck_tile::conv::ConvParam& param) { return can_fold_stride(param); }

    static bool cannot(const ck_tile::conv::ConvParam& param,
                       void (*report)(void*, const char*, const char*),
                       void* context)
    { return cannot_fold_stride(param, report, context); }

    template <typename Problem>
    static Problem apply(const Problem& problem)
    { return fold_stride(problem); }
};

// A launcher that hands problems on, folded, to another one.
template <typename Launcher>
struct folded_stride : changed_problem<Launcher, fold>
{
#ifndef CKPROF_SUPPORT_ONLY
    static float launch(const typename Launcher::HostArgs& args,
                        const ck_tile::stream_config& stream)
    {
        if(!can_fold_stride(args))
        {
            throw std::runtime_error(
                "unsupported arguments: the stride along the last axis cannot be seen as channels");
        }
        return Launcher::launch(fold_stride(args), stream);
    }
#endif
};

} // namespace ckprof

#endif
