// SPDX-License-Identifier: MIT
// Engine M's kernels, thread by thread on the host: copies, fragments, products and results of
// every direction, and of matrices in all layouts, against their definitions.
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "check.hpp"
#include "reference.hpp"

#include "ck_tile/cuda_model/matrix_gemm.hpp"

namespace {

using namespace ck_tile;
using namespace ck_tile::cuda_model;
using host_model::conv_shape;
using host_model::direction;

constexpr auto bf16 = host_model::data_type::bf16;
constexpr auto fp32 = host_model::data_type::fp32;
constexpr auto tf32 = host_model::data_type::tf32;

std::mt19937 random_bits(31);
int pick(int low, int high)
{ return low + static_cast<int>(random_bits() % static_cast<unsigned>(high - low + 1)); }

template <typename Config>
struct partitioner
{
    int m, n;
    struct index
    { int m, n; };
    int columns() const { return divide_up(n, Config::n); }
    int tiles() const { return divide_up(m, Config::m) * columns(); }
    index GetOutputTileIndex(int tile) const { return {tile / columns(), tile % columns()}; }
};

// Whole numbers: sums of their products are exact.
template <data_type Type>
struct tensor
{
    std::vector<double> values;
    std::vector<stored_t<Type>> stored;

    explicit tensor(std::size_t size) : values(size), stored(size)
    {
        for(std::size_t i = 0; i < size; ++i)
        {
            values[i] = pick(-1, 1);
            stored[i] = narrow<Type, bf16_rounding_mode::standard>(static_cast<float>(values[i]));
        }
    }
};

template <data_type Type>
std::pair<const void*, std::size_t> range(const tensor<Type>& t)
{ return {t.stored.data(), t.stored.size() * sizeof(stored_t<Type>)}; }

template <typename Config>
host_model::kernel_facts facts_of()
{
    host_model::kernel_facts facts{};
    facts.direction       = Config::direction;
    facts.num_dim_spatial = Config::dimensions;
    facts.groups_to_merge = Config::merged;
    facts.m_per_block     = Config::m;
    facts.n_per_block     = Config::n;
    facts.k_per_block     = Config::k;
    facts.k_mma           = 16;
    facts.m_waves = facts.n_waves = facts.k_waves = 1;
    facts.block_size                              = 64;
    facts.a_type = facts.b_type = Config::ab_type == bf16 ? bf16 : fp32;
    facts.e_type                = Config::e_type;
    facts.accumulators          = 1;
    return facts;
}

template <typename Config>
auto call_of(const conv_shape& s, int parts)
{
    const auto facts = facts_of<Config>();
    if constexpr(Config::direction == direction::forward)
    {
        return host_model::make_forward_call(facts, s, 1);
    }
    else if constexpr(Config::direction == direction::backward_data)
    {
        return host_model::make_backward_data_call(facts, s, parts);
    }
    else
    {
        return host_model::make_backward_weight_call(facts, s, parts);
    }
}

struct outcome
{ long long wrong = 0, conflicts = 0; };

// An operation with numbers of its own and up to two D tensors.
struct scaled_sum
{
    float alpha = 2, ceiling = 6;

    template <typename E, typename C, typename... Ds>
    void operator()(E& e, const C& c, const Ds&... ds) const
    {
        const float y = alpha * static_cast<float>(c) + (static_cast<float>(ds) + ... + 0.f);
        e             = static_cast<E>(y < ceiling ? y : ceiling);
    }
};

// D tensors with the result's elements, or one for each channel of all groups; of the result's
// type, or fp32 beside 8 bits. What the operation makes of the sums, which have more than 8 bits.
template <typename Config>
struct d_tensors
{
    using operation = typename Config::fused;

    static constexpr data_type type = Config::e_bytes == 1 ? fp32 : Config::e_type;

    std::vector<tensor<type>> all;
    operation fused{};

    d_tensors(const conv_shape& s, std::size_t elements)
    {
        if constexpr(operation::exists)
        {
            fused.channels_alone = true;
            for(std::size_t i = 0; i < operation::count; ++i)
            {
                fused.per_channel[i] = pick(0, 1) == 1;
                fused.channels_alone = fused.channels_alone && fused.per_channel[i];
                all.emplace_back(fused.per_channel[i] ? static_cast<std::size_t>(s.G * s.K)
                                                      : elements);
                fused.d[i] = all[i].stored.data();
            }
        }
    }

    stored_t<Config::e_type> result(double sum, std::size_t number, const conv_shape& s) const
    {
        constexpr auto rounding = bf16_rounding_mode::standard;
        if constexpr(operation::exists)
        {
            const auto rounded = narrow<type, rounding>(static_cast<float>(sum));
            float y            = fused.functor.alpha * widen<type>(rounded);
            for(std::size_t i = 0; i < operation::count; ++i)
            {
                const auto channels = static_cast<std::size_t>(s.G * s.K);
                y += static_cast<float>(
                    all[i].values[fused.per_channel[i] ? number % channels : number]);
            }
            const float ceiling = fused.functor.ceiling;
            return narrow<Config::e_type, rounding>(y < ceiling ? y : ceiling);
        }
        return narrow<Config::e_type, rounding>(static_cast<float>(sum));
    }
};

// Runs all blocks of a kernel; `parts` of K.
template <typename Config>
outcome run(const conv_shape& s, int parts)
{
    // Operands of two types are those of a forward kernel.
    tensor<Config::a_memory> in(test::input_size(s)), out(test::output_size(s));
    tensor<Config::b_memory> wei(test::weight_size(s));
    constexpr bool data   = Config::direction == direction::backward_data,
                   weight = Config::direction == direction::backward_weight;
    const std::vector<double> expected =
        data     ? test::reference_backward_data(s, wei.values, out.values)
        : weight ? test::reference_backward_weight(s, in.values, out.values)
                 : test::reference_forward(s, in.values, wei.values);
    auto call     = call_of<Config>(s, parts);
    call.in       = in.stored.data();
    call.wei      = wei.stored.data();
    call.out      = out.stored.data();
    gemm_params p = make_gemm_params(facts_of<Config>(), call);
    // Where results are added, or some belong to no GEMM, launchers clear the memory.
    const bool cleared = !covers_result(p);
    std::vector<stored_t<Config::e_type>> result(
        expected.size(), cleared ? stored_t<Config::e_type>{0} : stored_t<Config::e_type>(0x7fc1));
    p.result   = result.data();
    p.tiles    = partitioner<Config>{p.m, p.n}.tiles();
    p.blocks_x = std::int64_t{p.tiles} * (data ? p.gemms : 1);
    const d_tensors<Config> d(s, expected.size());
    emulated::block block;
    block.readable = {range(in), range(wei), range(out)};
    for(const auto& one : d.all) { block.readable.push_back(range(one)); }
    block.kernel = [&] { implicit_gemm<void, Config, partitioner<Config>>(p, d.fused); };
    for(unsigned b = 0; b < linear_blocks(p); ++b)
    {
        emulated::run_block(block, Config::threads, b);
    }
    outcome found{0, block.conflicts};
    for(std::size_t i = 0; i < expected.size(); ++i)
    {
        found.wrong += result[i] != d.result(expected[i], i, s);
    }
    return found;
}

std::string describe(direction d, const conv_shape& s)
{
    std::string text = "direction " + std::to_string(static_cast<int>(d));
    for(const std::int64_t value : {s.G, s.N, s.K, s.C}) { text += " " + std::to_string(value); }
    const auto add = [&](const auto& values) {
        text += ",";
        for(const std::int64_t value : values) { text += " " + std::to_string(value); }
    };
    add(s.filter);
    add(s.input);
    add(s.output);
    add(s.stride);
    add(s.dilation);
    add(s.left_pad);
    return text;
}

struct sizes
{
    int in_step, out_step; // channels are multiples of these
    int filter = 3;
    int image  = 9;
    int groups = 1;
};

void expect_right(const outcome& found, const std::string& what)
{
    CHECK_MESSAGE(found.wrong == 0, what);
    CHECK(found.conflicts == 0);
}

template <typename Config>
void check(const sizes& z, int parts = 1)
{
    conv_shape s;
    s.G = z.groups;
    s.N = pick(1, 2);
    // Merged groups of a forward kernel have one input channel each.
    s.C =
        Config::direction == direction::forward && Config::merged > 1 ? 1 : z.in_step * pick(1, 3);
    s.K = z.out_step * pick(1, 3);
    for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
    {
        s.filter[axis]            = pick(1, z.filter);
        s.stride[axis]            = pick(1, 2);
        s.dilation[axis]          = pick(1, 2);
        s.left_pad[axis]          = pick(0, 2);
        s.right_pad[axis]         = pick(0, 2);
        const std::int64_t window = (s.filter[axis] - 1) * s.dilation[axis] + 1;
        s.input[axis]             = window + pick(0, z.image);
        s.output[axis] =
            (s.input[axis] + s.left_pad[axis] + s.right_pad[axis] - window) / s.stride[axis] + 1;
    }
    expect_right(run<Config>(s, parts),
                 std::to_string(Config::m) + "x" + std::to_string(Config::n) + "x" +
                     std::to_string(Config::k) + ", " + describe(Config::direction, s));
}

template <direction Direction,
          data_type AB,
          int M,
          int N,
          int K,
          int MWarps,
          int NWarps,
          int... Rest>
using config = tile_config<Direction,
                           2,
                           AB,
                           AB == bf16 ? bf16 : fp32,
                           bf16_rounding_mode::standard,
                           M,
                           N,
                           K,
                           MWarps,
                           NWarps,
                           Rest...>;

void forward()
{
    constexpr auto d = direction::forward;
    // vectors of A, B and the result, merged groups, stages, blocks
    check<config<d, bf16, 64, 64, 64, 2, 1, 8, 8, 8, 1, 3, 2>>({8, 8});
    check<config<d, bf16, 64, 32, 32, 2, 2, 8, 4, 2, 1, 4, 1>>({8, 2});
    check<config<d, bf16, 32, 48, 16, 2, 1, 4, 2, 1, 1, 2, 1>>({4, 1});
    check<config<d, bf16, 32, 32, 128, 2, 1, 8, 8, 1, 1, 2, 1>>({8, 3});
    check<config<d, bf16, 16, 32, 48, 2, 1, 8, 8, 4, 1, 1, 1>>({8, 4});
    check<config<d, bf16, 64, 16, 16, 2, 1, 1, 1, 1, 4, 2, 1>>({1, 2, 3, 4, 8});
    // Filters of more taps than masks have bits.
    check<config<d, bf16, 32, 16, 32, 2, 1, 2, 2, 1, 1, 2, 1>>({2, 1, 9, 2});
    check<config<d, tf32, 64, 32, 32, 2, 2, 4, 4, 4, 1, 3, 1>>({4, 4});
    check<config<d, fp32, 32, 32, 16, 2, 1, 4, 2, 1, 1, 2, 1>>({4, 1});
    using deep = tile_config<d,
                             3,
                             bf16,
                             bf16,
                             bf16_rounding_mode::standard,
                             32,
                             32,
                             32,
                             2,
                             1,
                             4,
                             4,
                             2,
                             1,
                             3,
                             1>;
    check<deep>({4, 2, 3, 3});
}

template <typename Config, data_type... Ds>
using fused = fusing<Config, fused_operation<scaled_sum, Ds...>>;

// Where neighbouring elements are stored together, by themselves, and of merged groups.
void operations()
{
    constexpr auto d = direction::forward;
    using wide       = config<d, bf16, 64, 64, 64, 2, 1, 8, 8, 8, 1, 3, 2>;
    check<fused<wide>>({8, 8});
    check<fused<wide, bf16>>({8, 8, 3, 9, 3});
    check<fused<wide, bf16, bf16>>({8, 8, 3, 9, 2});
    check<fused<config<d, bf16, 32, 48, 16, 2, 1, 4, 2, 1, 1, 2, 1>, bf16>>({4, 1, 3, 9, 2});
    check<fused<config<d, bf16, 16, 32, 48, 2, 1, 8, 8, 4, 1, 1, 1>, bf16, bf16>>({8, 4});
    check<fused<config<d, bf16, 64, 16, 16, 2, 1, 1, 1, 1, 4, 2, 1>, bf16>>({1, 2, 3, 4, 8});
    check<fused<config<d, tf32, 64, 32, 32, 2, 2, 4, 4, 4, 1, 3, 1>, fp32, fp32>>({4, 4});
    check<fused<config<d, fp32, 32, 32, 16, 2, 1, 4, 2, 1, 1, 2, 1>, fp32>>({4, 1, 3, 9, 2});
    check<fused<config<d, fp32, 32, 32, 16, 2, 1, 1, 1, 1, 2, 2, 1>, fp32, fp32>>({1, 1, 3, 9, 4});
}

// Operands of two types of 8 bits, and results of 8 bits, which hold too little of a sum.
void bytes()
{
    constexpr auto d   = direction::forward;
    constexpr auto bf8 = data_type::bf8_fnuz, fp8 = data_type::fp8_fnuz;
    constexpr auto rounding = bf16_rounding_mode::standard;
    using wide       = tile_config<d, 2, bf16, fp8, rounding, 64, 64, 64, 2, 1, 16, 8, 8, 1, 3, 2>;
    using narrow_one = tile_config<d, 2, bf16, fp8, rounding, 32, 48, 16, 2, 1, 4, 2, 1, 1, 2, 1>;
    using whole      = tile_config<d, 2, bf16, fp32, rounding, 32, 32, 32, 2, 1, 8, 8, 4, 1, 2, 1>;
    check<decoding<wide, bf8, fp8>>({16, 8});
    check<decoding<narrow_one, fp8, bf8>>({4, 1, 3, 9, 2});
    check<decoding<whole, bf8, bf8>>({8, 4});
    check<fused<decoding<wide, fp8, bf8>, fp32>>({16, 8});
    check<fused<decoding<narrow_one, bf8, fp8>, fp32, fp32>>({4, 1, 3, 9, 2});
}

void backward_data()
{
    constexpr auto d = direction::backward_data;
    check<config<d, bf16, 64, 64, 64, 2, 1, 8, 8, 8, 1, 3, 2>>({8, 8}, 2);
    check<config<d, bf16, 32, 48, 32, 2, 1, 4, 8, 4, 1, 2, 1>>({8, 4});
    check<config<d, bf16, 32, 16, 32, 2, 1, 2, 2, 1, 1, 2, 1>>({2, 2, 9, 2});
    check<config<d, fp32, 32, 32, 16, 2, 1, 4, 2, 1, 1, 1, 1>>({2, 4});
    check<config<d, tf32, 32, 32, 16, 2, 1, 4, 4, 1, 1, 2, 1>>({4, 4});
}

void backward_weight()
{
    constexpr auto d = direction::backward_weight;
    check<config<d, bf16, 64, 64, 32, 2, 1, 8, 8, 8, 1, 3, 1>>({8, 8}, 3);
    check<config<d, bf16, 48, 96, 32, 2, 1, 4, 2, 1, 1, 2, 1>>({2, 4});
    check<config<d, bf16, 16, 32, 64, 2, 1, 1, 1, 1, 2, 2, 1>>({1, 1, 3, 9, 4}, 2);
    check<config<d, tf32, 32, 16, 16, 2, 1, 4, 4, 4, 1, 2, 1>>({4, 4});
    check<config<d, fp32, 32, 32, 16, 2, 1, 4, 1, 1, 1, 2, 1>>({1, 4});
}

// A product of matrices with gaps between their lines; elements of a vector, and of the gaps.
template <int M, int N, int K, bool AKMajor, bool BKMajor, data_type Type, int Vector, int Stages>
void multiply_matrices(int gap, int parts)
{
    using shape   = tile_shape<Type,
                               Type == bf16 ? bf16 : fp32,
                               bf16_rounding_mode::standard,
                               M,
                               N,
                               K,
                               2,
                               2,
                               Vector,
                               Vector,
                               Vector,
                               AKMajor,
                               BKMajor,
                               Stages,
                               1>;
    using config  = matrix_config<shape::ab_type,
                                  shape::ab_type,
                                  shape::e_type,
                                  false,
                                  combination<host_model::d_operation::none>,
                                  shape>;
    using element = stored_t<Type>;
    host_model::plain_gemm_call call{};
    call.m        = Vector * pick(1, 80 / Vector);
    call.n        = Vector * pick(1, 80 / Vector);
    call.k        = Vector * pick(1, 200 / Vector);
    call.k_batch  = parts;
    call.batch    = 1;
    call.stride_a = (AKMajor ? call.k : call.m) + gap;
    call.stride_b = (BKMajor ? call.k : call.n) + gap;
    call.stride_e = call.n + gap;
    const tensor<Type> a(static_cast<std::size_t>(call.stride_a * (AKMajor ? call.m : call.k)));
    const tensor<Type> b(static_cast<std::size_t>(call.stride_b * (BKMajor ? call.n : call.k)));
    std::vector<element> result(static_cast<std::size_t>(call.stride_e * call.m),
                                parts > 1 ? element{0} : element(0x7fc1));
    call.a          = a.stored.data();
    call.b          = b.stored.data();
    call.e          = result.data();
    matrix_params p = make_matrix_params(call, shape::e_bytes);
    p.tiles         = partitioner<config>{p.m, p.n}.tiles();
    emulated::block block;
    block.readable = {range(a), range(b)};
    block.kernel   = [&] { matrix_gemm<config, partitioner<config>, 16, void>(p); };
    for(unsigned i = 0; i < linear_blocks(p); ++i)
    {
        emulated::run_block(block, config::threads, i);
    }
    int wrong = 0;
    for(std::int64_t i = 0; i < call.m; ++i)
        for(std::int64_t j = 0; j < call.n; ++j)
        {
            double sum = 0;
            for(std::int64_t k = 0; k < call.k; ++k)
            {
                const auto from_a = AKMajor ? i * call.stride_a + k : k * call.stride_a + i;
                const auto from_b = BKMajor ? j * call.stride_b + k : k * call.stride_b + j;
                sum += a.values[static_cast<std::size_t>(from_a)] *
                       b.values[static_cast<std::size_t>(from_b)];
            }
            wrong += result[static_cast<std::size_t>(i * call.stride_e + j)] !=
                     narrow<shape::e_type, bf16_rounding_mode::standard>(static_cast<float>(sum));
        }
    CHECK(wrong == 0);
    CHECK(block.conflicts == 0);
}

void matrices()
{
    multiply_matrices<64, 64, 32, true, true, bf16, 8, 3>(8, 1);
    multiply_matrices<64, 64, 32, true, false, bf16, 4, 2>(4, 2);
    multiply_matrices<48, 64, 16, false, true, bf16, 2, 3>(2, 1);
    multiply_matrices<64, 96, 32, false, false, bf16, 8, 4>(0, 1);
    multiply_matrices<32, 32, 32, false, false, tf32, 4, 3>(4, 1);
    multiply_matrices<32, 64, 16, false, true, fp32, 1, 2>(3, 2);
}

// Eight threads that follow one another write one row of 128 bytes.
template <int Side, int Depth, bool KMajor, int ElementBytes>
void check_layout()
{
    using layout = operand_layout<Side, Depth, KMajor, ElementBytes>;
    std::vector<int> used(static_cast<std::size_t>(layout::bytes / 16));
    for(int line = 0; line < layout::lines; ++line)
    {
        for(int byte = 0; byte < layout::used_bytes; byte += 16)
        {
            const int at = layout::at(line, byte);
            CHECK((at % 16 == 0 && 0 <= at && at < layout::bytes));
            used[static_cast<std::size_t>(at / 16)] += 1;
            CHECK(used[static_cast<std::size_t>(at / 16)] == 1);
            CHECK(at / 128 == (line * layout::line_bytes + byte) / 128);
            CHECK(layout::at(line, byte + 6) == at + 6);
            CHECK((byte % 32 != 0 || layout::at(line, byte + 16) == (at ^ 16)));
            CHECK(layout::at(line + layout::period, byte) ==
                  at + layout::period * layout::line_bytes);
        }
    }
}

TEST_CASE("each vector of an operand has a place of its own")
{
    check_layout<128, 64, true, 2>();
    check_layout<128, 32, true, 2>();
    check_layout<48, 16, true, 2>();
    check_layout<224, 64, false, 2>();
    check_layout<16, 32, false, 2>();
    check_layout<16, 16, false, 4>();
    check_layout<64, 32, true, 4>();
}

void twice(void (&draw_and_check)())
{
    draw_and_check();
    draw_and_check();
}

TEST_CASE("forward kernels agree with the definition") { twice(forward); }
TEST_CASE("kernels with operations agree with the definition") { twice(operations); }
TEST_CASE("kernels of 8-bit types agree with the definition") { twice(bytes); }
TEST_CASE("backward data kernels agree with the definition") { twice(backward_data); }
TEST_CASE("backward weight kernels agree with the definition") { twice(backward_weight); }
TEST_CASE("products of matrices agree with the definition") { twice(matrices); }

} // namespace
