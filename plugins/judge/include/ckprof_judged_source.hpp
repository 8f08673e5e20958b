// SPDX-License-Identifier: MIT
//
// From a HIP source with the C entry of ckprof_candidate.h to a launcher of a kernel library.
//
// A source is described by a generated type that has: operation, one of those of
// ckprof_code_object.hpp; ndim; instance_string(); entry, its function.
#ifndef CKPROF_JUDGED_SOURCE_HPP
#define CKPROF_JUDGED_SOURCE_HPP

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "ckprof_candidate.h"
#include "ckprof_code_object.hpp"

namespace ckprof::judged {

// What the reason of a failure begins with that is no failure.
inline constexpr const char* rejected = "rejected by the candidate: ";

inline ckprof_problem problem_of(const code_object::convolution::host_args& args, int ndim)
{
    ckprof_problem made{};
    made.ndim         = ndim;
    made.split_k      = args.k_batch;
    made.groups       = args.G_;
    made.batch        = args.N_;
    made.out_channels = args.K_;
    made.in_channels  = args.C_;
    for(std::size_t axis = 0; axis < static_cast<std::size_t>(ndim); ++axis)
    {
        made.filter[axis]     = args.filter_spatial_lengths_[axis];
        made.input[axis]      = args.input_spatial_lengths_[axis];
        made.strides[axis]    = args.conv_filter_strides_[axis];
        made.dilations[axis]  = args.conv_filter_dilations_[axis];
        made.left_pads[axis]  = args.input_left_pads_[axis];
        made.right_pads[axis] = args.input_right_pads_[axis];
    }
    return made;
}

inline ckprof_problem problem_of(const code_object::product::host_args& args, int)
{
    ckprof_problem made{};
    made.split_k = args.k_batch;
    const std::array<int64_t, 7> sizes{
        args.M, args.N, args.K, args.stride_A, args.stride_B, args.stride_E, 1};
    for(std::size_t i = 0; i < sizes.size(); ++i) made.values[i] = sizes[i];
    return made;
}

inline std::array<void*, CKPROF_MAX_TENSORS> buffers_of(const code_object::tensors& at,
                                                        bool product)
{
    const auto plain = [](const void* address) { return const_cast<void*>(address); };
    if(product) return {plain(at.a), plain(at.b), plain(at.e)};
    return {plain(at.input), plain(at.weight), plain(at.output)};
}

template <typename Source>
struct launcher
{
    using operation = typename Source::operation;
    using problem   = typename operation::problem;
    using HostArgs  = typename operation::host_args;

    static constexpr ck_tile::index_t NDimSpatial = Source::ndim;

    // The source says it when it runs.
    static bool is_supported(const problem&, int) { return true; }
    static std::string get_instance_string() { return Source::instance_string(); }

#ifndef CKPROF_SUPPORT_ONLY
    static float launch(const HostArgs& args, const ck_tile::stream_config& s)
    {
        constexpr bool is_product  = std::is_same_v<operation, code_object::product>;
        const ckprof_problem asked = problem_of(args, Source::ndim);
        const auto tensors         = buffers_of(operation::tensors_of(args), is_product);
        std::array<char, 1024> reason{};
        return ck_tile::launch_kernel(s, [&](const ck_tile::stream_config&) {
            const ckprof_status status =
                Source::entry(&asked,
                              reinterpret_cast<const ckprof_buffers*>(tensors.data()),
                              reason.data(),
                              reason.size());
            if(status == CKPROF_OK) return;
            const std::string said = reason.front() ? reason.data() : "it gave no reason";
            throw std::runtime_error(status == CKPROF_REJECTED ? rejected + said : said);
        });
    }
#endif
};

} // namespace ckprof::judged

#endif
