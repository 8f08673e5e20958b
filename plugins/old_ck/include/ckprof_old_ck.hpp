// SPDX-License-Identifier: MIT
//
// From a device operation of the old library to a launcher of a kernel library.
//
// A kernel is described by a type that has: Operation, the device operation with all its template
// arguments; ndim; the letters of the axes of input, weight and output in memory, slowest first;
// Elementwise, the parameters of its element-wise operations, of which first(), second() and
// result() make these in the order of the template arguments; operand_tensors, of which each
// operand is made; further, how many D tensors or second tensors of operands there are, and
// d_count, how many of these are D tensors; takes_d, whether an operation on weights is one that
// takes D tensors.
#ifndef CKPROF_OLD_CK_HPP
#define CKPROF_OLD_CK_HPP

#include "ckprof_hip_names.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <hip/hip_runtime.h>

#include "ck_tile/core/config.hpp"
#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/host/convolution_parameter.hpp"
#include "ck_tile/host/stream_config.hpp"

#include "ck/ck.hpp"
#include "ck/tensor_operation/gpu/device/convolution_backward_data_specialization.hpp"
#include "ck/tensor_operation/gpu/device/convolution_backward_weight_specialization.hpp"
#include "ck/tensor_operation/gpu/device/convolution_forward_specialization.hpp"
#include "ck/tensor_operation/gpu/device/device_base.hpp"
#include "ck/tensor_operation/gpu/device/gemm_specialization.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ck/tensor_operation/gpu/element/combined_element_wise_operation.hpp"
#include "ck/tensor_operation/gpu/element/element_wise_operation.hpp"

namespace ckprof::old_ck {

using argument_pointer = std::unique_ptr<ck::tensor_operation::device::BaseArgument>;
using sizes            = ck_tile::conv::ConvParam;

// What a kernel is asked about and launched with.
template <typename Kernel>
struct host_args : sizes
{
    static constexpr std::size_t count = Kernel::further;

    const void* input;
    const void* weight;
    const void* output;
    int splits;
    std::array<const void*, count> further{};
    // D tensors that have an element per channel in the place of one per element of the result.
    std::array<bool, count> d_per_channel{};
    typename Kernel::Elementwise elementwise{};

    host_args(const sizes& problem,
              const void* in,
              const void* wei,
              const std::vector<const void*>& others,
              const void* out,
              int k_batch,
              const typename Kernel::Elementwise& given = {})
        : sizes(problem),
          input(in),
          weight(wei),
          output(out),
          splits(k_batch),
          elementwise(given)
    {
        for(std::size_t i = 0; i < count && i < others.size(); ++i) further[i] = others[i];
    }
};

// Lengths of a tensor in the library's order of axes, and the strides of packed memory.
template <typename Index, int Ndim>
struct tensor
{
    using values = std::array<Index, Ndim + 3>;

    values lengths{};
    values strides{};
    bool fits = true;

    // order: the letters of the axes in memory; axes: those of the library, both of the same
    // letters.
    tensor(const char* order, const std::string& axes, const std::vector<std::int64_t>& given)
    {
        for(std::size_t axis = 0; axis < axes.size(); ++axis)
        {
            std::int64_t stride = 1;
            for(const char* inner = std::strchr(order, axes[axis]) + 1; *inner != '\0'; ++inner)
                stride *= given[axes.find(*inner)];
            fits          = fits && stride <= std::numeric_limits<Index>::max() &&
                            given[axis] <= std::numeric_limits<Index>::max();
            lengths[axis] = static_cast<Index>(given[axis]);
            strides[axis] = static_cast<Index>(stride);
        }
    }
};

template <int Ndim, typename Lengths>
std::vector<std::int64_t>
all_lengths(std::int64_t first, std::int64_t second, std::int64_t third, const Lengths& spatial)
{
    std::vector<std::int64_t> lengths{first, second, third};
    lengths.insert(lengths.end(), spatial.begin(), spatial.end());
    return lengths;
}

template <int Ndim>
std::string axes(const char* outer, const char* spatial)
{ return std::string(outer) + (spatial + 3 - Ndim); }

// What the interfaces of all directions ask for.
template <typename Kernel, typename Index>
struct description
{
    static constexpr int ndim = Kernel::ndim;

    tensor<Index, ndim> input, weight, output;
    std::array<Index, ndim> strides{}, dilations{}, left_pads{}, right_pads{};
    std::array<typename tensor<Index, ndim>::values, Kernel::d_count> d_lengths{}, d_strides{};

    explicit description(const host_args<Kernel>& args)
        : input(Kernel::input,
                axes<ndim>("GNC", "DHW"),
                all_lengths<ndim>(args.G_, args.N_, args.C_, args.input_spatial_lengths_)),
          weight(Kernel::weight,
                 axes<ndim>("GKC", "ZYX"),
                 all_lengths<ndim>(args.G_, args.K_, args.C_, args.filter_spatial_lengths_)),
          output(Kernel::output,
                 axes<ndim>("GNK", "DHW"),
                 all_lengths<ndim>(args.G_, args.N_, args.K_, args.output_spatial_lengths_))
    {
        for(int axis = 0; axis < ndim; ++axis)
        {
            strides[axis]    = static_cast<Index>(args.conv_filter_strides_[axis]);
            dilations[axis]  = static_cast<Index>(args.conv_filter_dilations_[axis]);
            left_pads[axis]  = static_cast<Index>(args.input_left_pads_[axis]);
            right_pads[axis] = static_cast<Index>(args.input_right_pads_[axis]);
        }
    }

    bool fits() const { return input.fits && weight.fits && output.fits; }

    // The D tensors of a result; those with an element per channel lie in memory as [G, channels].
    void set_d(const tensor<Index, ndim>& result, const std::array<bool, Kernel::further>& channels)
    {
        for(std::size_t i = 0; i < Kernel::d_count; ++i)
        {
            d_lengths[i] = result.lengths;
            d_strides[i] = result.strides;
            if(!channels[i]) continue;
            d_strides[i]    = {};
            d_strides[i][0] = result.lengths[2];
            d_strides[i][2] = 1;
        }
    }
};

struct forward
{
    using index = ck::long_index_t;

    static constexpr bool splits = false;

    // Null: the library's interface cannot say such sizes.
    template <typename Kernel>
    static argument_pointer make(Kernel::Operation& operation,
                                 const host_args<Kernel>& args,
                                 description<Kernel, index>& what)
    {
        what.set_d(what.output, args.d_per_channel);
        const auto make_of = [&](auto&& input, auto&& weight, const auto& d) {
            return operation.MakeArgumentPointer(input,
                                                 weight,
                                                 d,
                                                 const_cast<void*>(args.output),
                                                 what.input.lengths,
                                                 what.input.strides,
                                                 what.weight.lengths,
                                                 what.weight.strides,
                                                 what.d_lengths,
                                                 what.d_strides,
                                                 what.output.lengths,
                                                 what.output.strides,
                                                 what.strides,
                                                 what.dilations,
                                                 what.left_pads,
                                                 what.right_pads,
                                                 Kernel::first(args.elementwise),
                                                 Kernel::second(args.elementwise),
                                                 Kernel::result(args.elementwise));
        };
        if constexpr(Kernel::operand_tensors == 1)
        {
            return make_of(args.input, args.weight, args.further);
        }
        else
        {
            std::array<const void*, 2> input{args.input, args.further[0]};
            std::array<const void*, 2> weight{args.weight, args.further[1]};
            return make_of(input, weight, std::array<const void*, 0>{});
        }
    }
};

struct backward_data
{
    using index = ck::index_t;

    static constexpr bool splits = true;

    template <typename Kernel>
    static argument_pointer make(Kernel::Operation& operation,
                                 const host_args<Kernel>& args,
                                 description<Kernel, index>& what)
    {
        if(!what.fits()) return nullptr;
        what.set_d(what.input, args.d_per_channel);
        return operation.MakeArgumentPointer(args.output,
                                             args.weight,
                                             args.further,
                                             const_cast<void*>(args.input),
                                             what.output.lengths,
                                             what.output.strides,
                                             what.weight.lengths,
                                             what.weight.strides,
                                             what.d_lengths,
                                             what.d_strides,
                                             what.input.lengths,
                                             what.input.strides,
                                             what.strides,
                                             what.dilations,
                                             what.left_pads,
                                             what.right_pads,
                                             Kernel::first(args.elementwise),
                                             Kernel::second(args.elementwise),
                                             Kernel::result(args.elementwise),
                                             args.splits);
    }
};

struct backward_weight
{
    using index = ck::index_t;

    static constexpr bool splits = true;

    template <typename Kernel>
    static argument_pointer make(Kernel::Operation& operation,
                                 const host_args<Kernel>& args,
                                 description<Kernel, index>& what)
    {
        if(!what.fits()) return nullptr;
        what.set_d(what.weight, args.d_per_channel);
        const auto with_sizes = [&](const auto& pointers, const auto& further) {
            return std::apply(
                [&](const auto&... values) { return operation.MakeArgumentPointer(values...); },
                std::tuple_cat(
                    std::tuple<const void*, void*, const void*>(
                        args.input, const_cast<void*>(args.weight), args.output),
                    pointers,
                    std::tie(what.input.lengths,
                             what.input.strides,
                             what.weight.lengths,
                             what.weight.strides,
                             what.output.lengths,
                             what.output.strides),
                    further,
                    std::tie(what.strides, what.dilations, what.left_pads, what.right_pads),
                    std::make_tuple(Kernel::first(args.elementwise),
                                    Kernel::second(args.elementwise),
                                    Kernel::result(args.elementwise),
                                    args.splits)));
        };
        if constexpr(Kernel::takes_d)
            return with_sizes(std::tie(args.further), std::tie(what.d_lengths, what.d_strides));
        else
            return with_sizes(std::tuple<>{}, std::tuple<>{});
    }
};

// Device memory that kernels use while they run; it grows with the largest demand.
inline void* scratch(std::size_t bytes)
{
    static void* memory     = nullptr;
    static std::size_t held = 0;
    if(bytes > held)
    {
        if(memory != nullptr) { (void)hipFree(memory); }
        memory = nullptr;
        held   = 0;
        if(hipMalloc(&memory, bytes) != hipSuccess)
            throw std::runtime_error("the device has no memory for a workspace of " +
                                     std::to_string(bytes) + " bytes");
        held = bytes;
    }
    return memory;
}

// One question to a device operation, and what it needs to be put.
template <typename Direction, typename Kernel>
struct prepared
{
    typename Kernel::Operation operation{};
    // Arguments of some operations refer to strides and pads that they were given.
    description<Kernel, typename Direction::index> what;
    argument_pointer argument;
    std::size_t workspace_bytes = 0;

    explicit prepared(const host_args<Kernel>& args)
        : what(args),
          argument(Direction::template make<Kernel>(operation, args, what))
    {
        if(argument != nullptr) { workspace_bytes = operation.GetWorkSpaceSize(argument.get()); }
    }

    prepared(const prepared&) = delete;

    // Operations that need a workspace support nothing as long as they have none.
    bool is_supported(void* workspace)
    {
        if(argument == nullptr) { return false; }
        if(workspace_bytes != 0) { operation.SetWorkSpacePointer(argument.get(), workspace); }
        return operation.IsSupportedArgument(argument.get());
    }
};

template <typename Direction, typename Kernel>
struct launcher
{
    static constexpr ck_tile::index_t NDimSpatial = Kernel::ndim;

    using HostArgs = host_args<Kernel>;
    using ready    = prepared<Direction, Kernel>;

    static HostArgs question(const sizes& problem, int k_batch)
    { return HostArgs(problem, nullptr, nullptr, {}, nullptr, k_batch); }

    static bool rejects([[maybe_unused]] const sizes& problem,
                        int k_batch,
                        void (*report)(void*, const char*, const char*),
                        void* context)
    {
        if(Direction::splits || k_batch == 1) { return false; }
        const std::string why = "split_k = " + std::to_string(k_batch) +
                                ": a forward kernel does not split its reduction";
        report(context, "split-k", why.c_str());
        return true;
    }

    static bool is_supported(const sizes& problem, int k_batch)
    {
        if(!Direction::splits && k_batch != 1) { return false; }
        // any address will do for a question
        alignas(256) static char place[256];
        return ready(question(problem, k_batch)).is_supported(place);
    }

    static std::size_t workspace_bytes(const sizes& problem, int k_batch)
    { return ready(question(problem, k_batch)).workspace_bytes; }

    static float run(const HostArgs& args, const ck_tile::stream_config& s)
    {
        ready asked(args);
        if(!asked.is_supported(scratch(asked.workspace_bytes)))
            throw std::runtime_error("the device operation does not support its arguments");
        const StreamConfig config{s.stream_id_, s.time_kernel_, 0, s.cold_niters_, s.nrepeat_};
        return asked.operation.MakeInvokerPointer()->Run(asked.argument.get(), config);
    }
};

// Of operations that choose the number of splits themselves.
template <typename Direction, typename Kernel>
struct splitting_launcher : launcher<Direction, Kernel>
{
    static int deduce_split_k(const sizes& problem)
    {
        using base = launcher<Direction, Kernel>;
        const typename base::ready asked(base::question(problem, -1));
        using argument = typename Kernel::Operation::Argument;
        return static_cast<int>(dynamic_cast<const argument&>(*asked.argument).k_batch_);
    }
};

} // namespace ckprof::old_ck

#endif
