// SPDX-License-Identifier: MIT
//
// Launchers that pad the channels of problems with zeros to what a kernel's vectors need.
//
// The problem is y(k) = sum over c of x(c) w(k, c), in any direction. With zeros for further c,
// every sum has the same terms and zeros; further k are further results, which are left behind. So
// operands are copied into larger tensors, the kernel computes the larger problem, and its result
// is copied back without what was added. Channels are those of one group, in tensors with channels
// last.
#ifndef CKPROF_PADDED_CHANNELS_HPP
#define CKPROF_PADDED_CHANNELS_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ck_tile/host/convolution_parameter.hpp"
#include "ck_tile/host/device_memory.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/host/stream_config.hpp"
#include "ckprof_changed_problem.hpp"

namespace ckprof {

// Channels of a group up to the next multiples; those that do not fit into indices are left to the
// kernel's own test.
template <long C, long K>
struct pad_channels
{
    static constexpr bool possible(const ck_tile::conv::ConvParam&) { return true; }

    static constexpr bool
    cannot(const ck_tile::conv::ConvParam&, void (*)(void*, const char*, const char*), void*)
    { return false; }

    template <typename Problem>
    static Problem apply(Problem problem)
    {
        problem.C_ = next_multiple(problem.C_, C);
        problem.K_ = next_multiple(problem.K_, K);
        return problem;
    }

    static ck_tile::long_index_t next_multiple(ck_tile::long_index_t channels,
                                               ck_tile::long_index_t of)
    {
        constexpr ck_tile::long_index_t most = std::numeric_limits<ck_tile::index_t>::max();
        return channels > 0 && channels <= most - of ? (channels + of - 1) / of * of : channels;
    }
};

// A tensor as its padding sees it: [outer][middle][inner][last] with padded middle and last axes.
struct padded_axes
{
    ck_tile::long_index_t outer, middle, inner, last;

    ck_tile::long_index_t elements() const { return outer * middle * inner * last; }
};

// Copies what both tensors have, and writes zeros elsewhere.
template <typename Element>
struct channel_copy
{
    const Element* from;
    Element* to;
    ck_tile::long_index_t from_middle, to_middle, inner, from_last, to_last;
    // of the tensor that is written; 0: nothing is to be done
    ck_tile::long_index_t elements;

    CK_TILE_HOST_DEVICE void copy(ck_tile::long_index_t element) const
    {
        const auto last   = element % to_last;
        const auto row    = element / to_last;
        const auto middle = row / inner % to_middle;
        const auto outer  = row / inner / to_middle;
        const bool found  = last < from_last && middle < from_middle;
        const auto place =
            ((outer * from_middle + middle) * inner + row % inner) * from_last + last;
        to[element] = found ? from[place] : Element{};
    }
};

// Owner: the launcher, so that the device function is one of its kernel's.
template <typename Element, typename Owner>
struct channel_copy_kernel
{
    using Args = channel_copy<Element>;

    static constexpr int block_size = 256;

    static dim3 grid(const Args& args)
    {
        const auto blocks = (args.elements + block_size - 1) / block_size;
        return dim3(static_cast<std::uint32_t>(blocks < 65536 ? blocks : 65536));
    }

#if __has_include("ck_tile/host_model/rejection.hpp")
    void operator()(const ck_tile::host_model::block_position& block, const Args& args) const
    {
        const auto step = static_cast<ck_tile::long_index_t>(block.grid.x) * block_size;
        for(auto first = static_cast<ck_tile::long_index_t>(block.x) * block_size;
            first < args.elements;
            first += step)
        {
            const auto end =
                first + block_size < args.elements ? first + block_size : args.elements;
            for(auto i = first; i < end; ++i) { args.copy(i); }
        }
    }
#else
    CK_TILE_DEVICE void operator()(Args args) const
    {
        const auto step = static_cast<ck_tile::long_index_t>(gridDim.x) * block_size;
        for(auto i = static_cast<ck_tile::long_index_t>(blockIdx.x) * block_size + threadIdx.x;
            i < args.elements;
            i += step)
        {
            args.copy(i);
        }
    }
#endif
};

// Memory for padded tensors: kernels may use workspace() meanwhile, so it is another piece, which
// is kept likewise.
inline ck_tile::DeviceMem& padded_tensors(std::size_t bytes)
{
    static ck_tile::DeviceMem& memory = *new ck_tile::DeviceMem;
    if(memory.GetBufferSize() < bytes) { memory.Realloc(bytes); }
    return memory;
}

enum class conv_tensor
{
    input,
    weight,
    output
};

// A launcher that hands problems on, padded, to another one.
//
// Result: which tensor is written. C, K: multiples of channels per group. Inside: whether copies
// are part of the time. Bounds: template arguments of make_kernel.
template <typename Launcher, conv_tensor Result, long C, long K, bool Inside, auto... Bounds>
struct padded_channels : changed_problem<Launcher, pad_channels<C, K>>
{
    using Change = pad_channels<C, K>;
    using param  = ck_tile::conv::ConvParam;

    static std::size_t workspace_bytes(const param& problem, int k_batch)
    {
        std::size_t inner = 0;
        if constexpr(requires { &Launcher::workspace_bytes; })
        {
            inner = Launcher::workspace_bytes(Change::apply(problem), k_batch);
        }
        return inner + tensors(problem).bytes;
    }

#ifndef CKPROF_SUPPORT_ONLY
    static float launch(const typename Launcher::HostArgs& args,
                        const ck_tile::stream_config& stream)
    {
        const places where = tensors(args);
        auto padded        = Change::apply(args);
        // What the kernel rejects may be more than the arithmetic below can stand.
        if(where.bytes == 0 || !Launcher::is_supported(padded, padded.k_batch))
        {
            return Launcher::launch(padded, stream);
        }
        auto* const memory = static_cast<char*>(padded_tensors(where.bytes).GetDeviceBuffer());

        using conv_tensor::input, conv_tensor::weight, conv_tensor::output;
        const auto of_input = copying<input, typename Launcher::InDataType>(
            args.in_ptr, padded.in_ptr, where.input, memory);
        const auto of_weight = copying<weight, typename Launcher::WeiDataType>(
            args.wei_ptr, padded.wei_ptr, where.weight, memory);
        const auto of_output = copying<output, typename Launcher::OutDataType>(
            args.out_ptr, padded.out_ptr, where.output, memory);

        const auto before = [&](const ck_tile::stream_config& s) {
            if constexpr(Result != input) { of_input(s); }
            if constexpr(Result != weight) { of_weight(s); }
            if constexpr(Result != output) { of_output(s); }
        };
        const auto after = [&](const ck_tile::stream_config& s) {
            if constexpr(Result == input) { of_input(s); }
            if constexpr(Result == weight) { of_weight(s); }
            if constexpr(Result == output) { of_output(s); }
        };
        ck_tile::stream_config once = stream;
        once.time_kernel_           = false;
        if constexpr(Inside)
        {
            const auto compute = [&](const ck_tile::stream_config&) {
                Launcher::launch(padded, once);
            };
            return ck_tile::launch_kernel(stream, before, compute, after);
        }
        else
        {
            ck_tile::launch_kernel(once, before);
            const float time_ms = Launcher::launch(padded, stream);
            ck_tile::launch_kernel(once, after);
            return time_ms;
        }
    }
#endif

private:
    // A tensor as it is, as it is padded, and where it lies in the memory of padded tensors.
    struct place
    {
        padded_axes as_is, padded;
        std::size_t offset;

        bool changes() const { return as_is.elements() != padded.elements(); }
    };

    struct places
    {
        place input, weight, output;
        // 0: nothing is padded
        std::size_t bytes;
    };

    static ck_tile::long_index_t volume(const std::vector<ck_tile::long_index_t>& lengths)
    {
        ck_tile::long_index_t elements = 1;
        for(const auto length : lengths) { elements *= length; }
        return elements;
    }

    static places tensors(const param& problem)
    {
        const param padded = Change::apply(problem);
        const auto images  = problem.G_ * problem.N_;
        const auto pixels  = images * volume(problem.input_spatial_lengths_);
        const auto results = images * volume(problem.output_spatial_lengths_);
        const auto taps    = volume(problem.filter_spatial_lengths_);
        places found{{{pixels, 1, 1, problem.C_}, {pixels, 1, 1, padded.C_}, 0},
                     {{problem.G_, problem.K_, taps, problem.C_},
                      {problem.G_, padded.K_, taps, padded.C_},
                      0},
                     {{results, 1, 1, problem.K_}, {results, 1, 1, padded.K_}, 0},
                     0};
        const auto put = [&found](place& tensor, std::size_t element_bytes) {
            // as far from the start as allocations are aligned
            constexpr std::size_t alignment = 256;
            if(!tensor.changes()) { return; }
            tensor.offset    = found.bytes;
            const auto bytes = static_cast<std::size_t>(tensor.padded.elements()) * element_bytes;
            found.bytes += (bytes + alignment - 1) / alignment * alignment;
        };
        put(found.input, sizeof(typename Launcher::InDataType));
        put(found.weight, sizeof(typename Launcher::WeiDataType));
        put(found.output, sizeof(typename Launcher::OutDataType));
        return found;
    }

    // Returns what copies a tensor into its padded one, or back if it is the result; given.
    // becomes the address of the padded one.
    template <conv_tensor Tensor, typename Element, typename Given>
    static auto copying(Given as_is, Given& padded, const place& where, char* memory)
    {
        channel_copy<Element> copy{};
        if(where.changes())
        {
            padded              = memory + where.offset;
            auto* const plain   = const_cast<Element*>(static_cast<const Element*>(as_is));
            auto* const wide    = reinterpret_cast<Element*>(memory + where.offset);
            constexpr bool back = Tensor == Result;
            const auto& from    = back ? where.padded : where.as_is;
            const auto& to      = back ? where.as_is : where.padded;
            copy                = {back ? wide : plain,
                                   back ? plain : wide,
                                   from.middle,
                                   to.middle,
                                   to.inner,
                                   from.last,
                                   to.last,
                                   to.elements()};
        }
        using kernel     = channel_copy_kernel<Element, Launcher>;
        const auto start = ck_tile::make_kernel<Bounds...>(
            kernel{}, kernel::grid(copy), dim3(kernel::block_size), 0, copy);
        return [start, needed = copy.elements > 0](const ck_tile::stream_config& s) {
            if(needed) { start(s); }
        };
    }
};

} // namespace ckprof

#endif
