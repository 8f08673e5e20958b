// SPDX-License-Identifier: MIT
// Tensors of more elements than 32 bits count, of each family of kernels.
//
// The memory is only reserved: windows lie far apart, and nothing between them is touched. Each
// result is compared with the definition in 64-bit arithmetic. The same definition with offsets of
// 32 bits, as a kernel has that forgot to widen them, gives something else: what it would find
// instead of the last image is in the first one.
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "depthwise_family.hpp"
#include "gemm_family.hpp"
#include "kernel_family.hpp"
#include "reserved.hpp"

using namespace ck_tile;
using test::kernel_config;
using test::reserved;
using test::value;

namespace {

constexpr std::int64_t images = 9, channels = 8, outputs = 16, length = 8192, stride = 512;
constexpr kernel_config plain{.vectors{8, 8, 8}};
constexpr std::int64_t positions = length / stride; // of windows along an axis
constexpr std::int64_t image     = length * length * channels;
static_assert(image <= INT32_MAX && (images - 1) * image > UINT32_MAX - image);

struct place
{ std::int64_t n, h, w; };

template <typename Function>
void at_every_window(const Function& function)
{
    for(std::int64_t n = 0; n < images; ++n)
        for(std::int64_t h = 0; h < positions; ++h)
            for(std::int64_t w = 0; w < positions; ++w) function(place{n, h, w});
}

// Offset is what a kernel counts elements with.
template <typename Offset>
std::int64_t in_input(const place& p, std::int64_t c)
{
    const std::int64_t whole =
        ((p.n * length + p.h * stride) * length + p.w * stride) * channels + c;
    return static_cast<std::int64_t>(static_cast<Offset>(whole));
}

std::int64_t in_output(const place& p, std::int64_t k)
{ return ((p.n * positions + p.h) * positions + p.w) * outputs + k; }

conv::ConvParam problem()
{
    const auto both = [](std::int64_t v) {
        const auto one = static_cast<index_t>(v);
        return std::vector<index_t>{one, one};
    };
    return conv::ConvParam(2,
                           1,
                           images,
                           outputs,
                           channels,
                           both(1),
                           both(length),
                           both(stride),
                           both(1),
                           both(0),
                           both(0));
}

template <typename T>
std::vector<T> filled(std::int64_t count, std::int64_t from)
{
    std::vector<T> values(static_cast<std::size_t>(count));
    for(std::size_t i = 0; i < values.size(); ++i)
    {
        values[i] = T(value(from + static_cast<std::int64_t>(i)));
    }
    return values;
}

template <typename T>
void fill_windows(const reserved<T>& input)
{
    at_every_window([&](const place& p) {
        for(std::int64_t c = 0; c < channels; ++c)
        {
            input[in_input<std::int64_t>(p, c)] = T(value(in_output(p, c)));
        }
    });
}

constexpr std::int64_t windows = images * positions * positions;

TEST_CASE("a forward kernel counts with 64 bits")
{
    using family = test::forward_family<half_t, 2, plain>;
    const reserved<half_t> input(images * image);
    fill_windows(input);
    const auto weight = filled<half_t>(outputs * channels, 1000);
    std::vector<half_t> output(static_cast<std::size_t>(windows * outputs));
    family::launch({problem(), input.data(), weight.data(), {}, output.data(), 1}, {});
    const auto wrong = [&]<typename Offset>(Offset) {
        std::int64_t count = 0;
        at_every_window([&](const place& p) {
            for(std::int64_t k = 0; k < outputs; ++k)
            {
                float sum = 0;
                for(std::int64_t c = 0; c < channels; ++c)
                {
                    sum += static_cast<float>(input[in_input<Offset>(p, c)]) *
                           static_cast<float>(weight[static_cast<std::size_t>(k * channels + c)]);
                }
                count +=
                    static_cast<float>(output[static_cast<std::size_t>(in_output(p, k))]) != sum;
            }
        });
        return count;
    };
    CHECK(wrong(std::int64_t{}) == 0);
    CHECK(wrong(std::uint32_t{}) > 0);
}

TEST_CASE("a backward data kernel counts with 64 bits")
{
    using family = test::backward_data_family<half_t, 2, plain>;
    const reserved<half_t> input(images * image);
    const auto weight = filled<half_t>(outputs * channels, 1000);
    auto output       = filled<half_t>(windows * outputs, 0);
    // Without zeros before: what no window reaches stays untouched.
    test::launch_backward<family::kernel>(
        GroupedConvBwdDataHostArgs(problem(), input.data(), weight.data(), {}, output.data(), 1),
        input.data(),
        0,
        {});
    const auto wrong = [&]<typename Offset>(Offset) {
        std::int64_t count = 0;
        at_every_window([&](const place& p) {
            for(std::int64_t c = 0; c < channels; ++c)
            {
                float sum = 0;
                for(std::int64_t k = 0; k < outputs; ++k)
                {
                    sum += static_cast<float>(output[static_cast<std::size_t>(in_output(p, k))]) *
                           static_cast<float>(weight[static_cast<std::size_t>(k * channels + c)]);
                }
                count += static_cast<float>(input[in_input<Offset>(p, c)]) != sum;
            }
        });
        return count;
    };
    CHECK(wrong(std::int64_t{}) == 0);
    CHECK(wrong(std::uint32_t{}) > 0);
}

template <typename Launch>
void check_backward_weight(const Launch& launch)
{
    const reserved<half_t> input(images * image);
    fill_windows(input);
    auto output = filled<half_t>(windows * outputs, 5000);
    std::vector<half_t> weight(static_cast<std::size_t>(outputs * channels));
    launch(input.data(), weight.data(), output.data());
    const auto wrong = [&]<typename Offset>(Offset) {
        std::int64_t count = 0;
        for(std::int64_t k = 0; k < outputs; ++k)
        {
            for(std::int64_t c = 0; c < channels; ++c)
            {
                float sum = 0;
                at_every_window([&](const place& p) {
                    sum += static_cast<float>(output[static_cast<std::size_t>(in_output(p, k))]) *
                           static_cast<float>(input[in_input<Offset>(p, c)]);
                });
                count +=
                    static_cast<float>(weight[static_cast<std::size_t>(k * channels + c)]) != sum;
            }
        }
        return count;
    };
    CHECK(wrong(std::int64_t{}) == 0);
    CHECK(wrong(std::uint32_t{}) > 0);
}

TEST_CASE("a backward weight kernel counts with 64 bits")
{
    for(const int parts : {1, 4})
    {
        CAPTURE(parts);
        check_backward_weight([&](void* in, void* wei, void* out) {
            test::backward_weight_family<half_t, 2, plain>::launch(problem(), in, wei, out, parts);
        });
    }
}

TEST_CASE("a two-stage backward weight kernel counts with 64 bits")
{
    check_backward_weight([](void* in, void* wei, void* out) {
        test::two_stage_family<half_t, 2, plain>::launch(problem(), in, wei, out, 4);
    });
}

using enum StreamKReductionStrategy;

TEST_CASE("a stream-K kernel that adds in a tree counts with 64 bits")
{
    check_backward_weight([](void* in, void* wei, void* out) {
        test::stream_k_family<half_t, 2, plain, Tree, false>::launch(problem(), in, wei, out, 7);
    });
}

TEST_CASE("a linear and persistent stream-K kernel counts with 64 bits")
{
    check_backward_weight([](void* in, void* wei, void* out) {
        test::stream_k_family<half_t, 2, plain, Linear, true>::launch(problem(), in, wei, out, 7);
    });
}

// The last tile of a product whose A has nearly 2^31 elements, and twice as many bytes.
TEST_CASE("a product counts with 64 bits")
{
    namespace model = host_model;
    const auto entry =
        test::make_support_entry<half_t, half_t, float, half_t, test::gemm_config{.pad_m = true}>();
    constexpr std::int64_t rows = 65535, columns = 64, depth = 32768, tile = 64;
    model::plain_gemm_call call{};
    call.m        = rows;
    call.n        = columns;
    call.k        = depth;
    call.k_batch  = 1;
    call.stride_a = call.stride_b = depth;
    call.stride_e                 = columns;
    call.batch                    = 1;
    CHECK(model::supports_plain_gemm(*entry.facts, call));
    const reserved<half_t> a(rows * depth), b(columns * depth), e(rows * columns);
    const auto in_b              = [](std::int64_t n, std::int64_t k) { return n * depth + k; };
    constexpr std::int64_t step  = 1024;
    constexpr std::int64_t first = rows / tile * tile;
    for(std::int64_t k = 0; k < depth; k += step)
    {
        for(std::int64_t m = first; m < rows; ++m)
            a[m * depth + k] = half_t(value(m * 31 + k / step));
        for(std::int64_t n = 0; n < columns; ++n) b[in_b(n, k)] = half_t(value(n * 17 + k / step));
    }
    call.a = a.data();
    call.b = b.data();
    call.e = e.data();
    model::run_plain_gemm_block(*entry.facts, call, rows / tile, 0, model::block_position{});
    const auto wrong = [&]<typename Offset>(Offset) {
        std::int64_t count = 0;
        for(std::int64_t m = first; m < rows; ++m)
        {
            for(std::int64_t n = 0; n < columns; ++n)
            {
                float sum = 0;
                for(std::int64_t k = 0; k < depth; k += step)
                {
                    // counted in bytes
                    const auto at = static_cast<Offset>((m * depth + k) * 2);
                    if(at < 0) { continue; }
                    sum += static_cast<float>(a[static_cast<std::int64_t>(at) / 2]) *
                           static_cast<float>(b[in_b(n, k)]);
                }
                count += static_cast<float>(e[m * columns + n]) != sum;
            }
        }
        return count;
    };
    CHECK(wrong(std::int64_t{}) == 0);
    CHECK(wrong(std::int32_t{}) > 0);
    // CK Tile counts elements with 32 bits: one row more than they reach.
    call.m = 65537;
    CHECK(!model::supports_plain_gemm(*entry.facts, call));
    CHECK(model::unmet_requirements().front().condition == "index-range");
}

// The last block of a depthwise kernel whose input and output both have more than 2^32 elements.
TEST_CASE("a depthwise kernel counts with 64 bits")
{
    using family                = test::depthwise_family<half_t, 16, 16, 3, 1, 1, 1, 4, 8, 4>;
    constexpr std::int64_t side = 32, plane = side * side, groups = 1024, count = 4128, filter = 3;
    static_assert((count * groups - 1) * plane > UINT32_MAX);
    const auto both = [](index_t v) { return std::vector<index_t>{v, v}; };
    const conv::ConvParam p(
        2, groups, count, 1, 1, both(filter), both(side), both(1), both(1), both(1), both(1));
    REQUIRE_MESSAGE(family::supported(p), host_model::last_rejection());
    const reserved<half_t> input(count * groups * plane), output(count * groups * plane);
    constexpr std::int64_t last = (count * groups - 1) * plane;
    for(std::int64_t i = 0; i < plane; ++i) input[last + i] = half_t(value(i));
    auto weight      = filled<half_t>(groups * filter * filter, 1000);
    const auto kargs = family::kernel::MakeKernelArgs(
        GroupedConvFwdHostArgs<>(p, input.data(), weight.data(), {}, output.data(), 1));
    host_model::block_position block{};
    block.x = groups - 1;
    block.y = count - 1;
    typename family::kernel{}(block, kargs);
    // In and Out are what a kernel counts the elements of either tensor with.
    const auto wrong = [&]<typename In, typename Out>(In, Out) {
        std::int64_t different = 0;
        for(std::int64_t at = 0; at < plane; ++at)
        {
            float sum = 0;
            for(std::int64_t tap = 0; tap < filter * filter; ++tap)
            {
                const std::int64_t h = at / side + tap / filter - 1,
                                   w = at % side + tap % filter - 1;
                if(h < 0 || w < 0 || h >= side || w >= side) { continue; }
                const auto from   = static_cast<In>(last + h * side + w);
                const auto tap_at = static_cast<std::size_t>((groups - 1) * filter * filter + tap);
                sum += static_cast<float>(input[static_cast<std::int64_t>(from)]) *
                       static_cast<float>(weight[tap_at]);
            }
            const auto to = static_cast<Out>(last + at);
            different += static_cast<float>(output[static_cast<std::int64_t>(to)]) != sum;
        }
        return different;
    };
    CHECK(wrong(std::int64_t{}, std::int64_t{}) == 0);
    CHECK(wrong(std::uint32_t{}, std::int64_t{}) > 0);
    CHECK(wrong(std::int64_t{}, std::uint32_t{}) > 0);
}

TEST_CASE("an image that 32 bits do not count is refused")
{
    using family      = test::forward_family<half_t, 2, plain>;
    conv::ConvParam p = problem();
    p.C_ *= 8;
    CHECK(!family::is_supported(p, 1));
    CHECK(host_model::unmet_requirements().front().condition == "index-range");
}

} // namespace
