// SPDX-License-Identifier: MIT
// What multiplies bf16: when the fast units are chosen, and that they compute what they should.
// Real numbers, so that another order of additions shows in the last bits.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "gemm_family.hpp"
#include "kernel_family.hpp"
#include "random_problems.hpp"
#include "reference.hpp"

#include "ck_tile/host_model/impl/pair_products.hpp"

namespace {

using namespace test;
namespace model = ck_tile::host_model;
using ck_tile::bf16_t;
using model::product_unit;

std::mt19937 generator(7);

// The first case: others force units.
TEST_CASE("units that CKPROF_CPU_BF16 or the compiler's flags rule out are not chosen")
{
    const char* named       = std::getenv("CKPROF_CPU_BF16");
    const std::string most  = named == nullptr ? "tiles" : named;
    const product_unit best = model::best_product_unit();
    CHECK(best <= (most == "fp32"    ? product_unit::fp32
                   : most == "pairs" ? product_unit::pairs
                                     : product_unit::tiles));
#if !defined(__AVX512BF16__)
    CHECK(best == product_unit::fp32);
#endif
}

bf16_t from_bits(unsigned bits)
{
    bf16_t value{};
    value.bits = static_cast<std::uint16_t>(bits);
    return value;
}

// Any sign and fraction, a biased exponent of that range.
bf16_t draw(int smallest, int largest)
{
    const auto exponent =
        static_cast<unsigned>(std::uniform_int_distribution<int>(smallest, largest)(generator));
    return from_bits((static_cast<unsigned>(generator()) & 0x807fu) | exponent << 7);
}

std::vector<bf16_t> draw_many(std::size_t count, int smallest = 110, int largest = 130)
{
    std::vector<bf16_t> values(count);
    for(bf16_t& value : values) { value = draw(smallest, largest); }
    return values;
}

// By the definition, one element at a time.
model::exponent_range naive_exponents(const model::operand_lines& operand)
{
    int smallest = 256, largest = 0;
    for(std::int64_t matrix = 0; matrix < operand.batch; ++matrix)
        for(std::int64_t line = 0; line < operand.lines; ++line)
            for(std::int64_t i = 0; i < operand.length; ++i)
            {
                const unsigned bits =
                    static_cast<const bf16_t*>(
                        operand.data)[matrix * operand.batch_stride + line * operand.stride + i]
                        .bits;
                const int exponent = static_cast<int>(bits >> 7 & 0xffu);
                largest            = std::max(largest, exponent);
                if((bits & 0x7fffu) != 0) { smallest = std::min(smallest, exponent); }
            }
    return {smallest, largest};
}

TEST_CASE("exponents are found in lines of matrices and not between them")
{
    const auto same = [](const model::operand_lines& operand) {
        const auto found = model::exponents_of(operand), expected = naive_exponents(operand);
        CHECK((found.smallest == expected.smallest && found.largest == expected.largest));
    };
    std::vector<bf16_t> values = draw_many(200'000, 100, 140);
    const auto size            = static_cast<std::int64_t>(values.size());
    same({values.data(), 1, size, size, 1, 0});
    // each kind at places that vectors, tails and threads look at
    const unsigned kinds[] = {0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x7f80, 0xff81, 0x7f7f};
    for(const unsigned kind : kinds)
    {
        for(const std::size_t at : {0u, 31u, 32u, 65'535u, 65'536u, 131'072u, 199'999u})
        {
            const bf16_t before = values[at];
            values[at]          = from_bits(kind);
            same({values.data(), 1, size, size, 1, 0});
            same({values.data() + at, 1, 1, 1, 1, 0});
            values[at] = before;
        }
    }
    // what lies between lines and matrices is not looked at
    for(std::size_t i = 0; i < values.size(); ++i)
    {
        const bool used = i % 50'000 < 40'000 && i % 50'000 % 100 < 77;
        values[i]       = used ? draw(120, 125) : from_bits(0x7fff);
    }
    same({values.data(), 400, 77, 100, 4, 50'000});
    const std::vector<bf16_t> zeros(100);
    same({zeros.data(), 1, 100, 100, 1, 0});
    same({zeros.data(), 1, 0, 0, 1, 0});
}

// Against sums of the smallest and the largest numbers of a range.
TEST_CASE("fast units are chosen where sums stay normal")
{
    const auto value = [](int exponent, int fraction) {
        return std::ldexp(128.0 + fraction, exponent - 127 - 7);
    };
    const double smallest_normal = 0x1p-126, beyond = 0x1p128;
    for(int a = 1; a < 255; ++a)
    {
        for(int b = 1; b < 255; ++b)
        {
            for(const std::int64_t depth : {1, 2, 27, 1024, 1'000'000})
            {
                const bool chosen = model::sums_stay_normal({a, a}, {b, b}, depth);
                // neighbours that nearly cancel
                const double least = value(a, 1) * value(b, 1) - value(a, 1) * value(b, 0) -
                                     (value(a, 0) * value(b, 1) - value(a, 0) * value(b, 0));
                const double most  = static_cast<double>(depth) * value(a, 127) * value(b, 127);
                const bool right   = least >= smallest_normal && most < beyond;
                // never wrong, and cautious by a few binary orders of magnitude at most
                REQUIRE((!chosen || right));
                REQUIRE((chosen || least < smallest_normal || most * 8 >= beyond));
            }
        }
    }
    CHECK(!model::sums_stay_normal({0, 127}, {127, 127}, 1));
    CHECK(!model::sums_stay_normal({127, 127}, {0, 127}, 1));
    CHECK(!model::sums_stay_normal({127, 255}, {1, 1}, 1));
    CHECK(model::sums_stay_normal({256, 0}, {256, 0}, 1000)); // zeros
}

// Calls launch() with each unit and returns the bits that it leaves in result.
template <typename T>
std::vector<T>
computed_by(product_unit unit, std::vector<T>& result, const std::function<void()>& launch)
{
    std::fill(result.begin(), result.end(), T(std::nanf("")));
    model::force_product_unit(unit);
    const std::uint64_t before = model::launches_by(unit);
    launch();
    CHECK(model::launches_by(unit) == before + 1);
    return result;
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{ return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0; }

// before a test forces another unit
const bool have_tiles = model::best_product_unit() == product_unit::tiles;

// All units on one problem: pairs give the bits of fp32; tiles those sums in another order, so that
// each element is off by what rounding to fp32 so often allows, and by the result's own rounding.
void compare_units(std::vector<bf16_t>& result,
                   const std::vector<double>& magnitudes, // sums of the products' magnitudes
                   double depth,
                   const std::string& name,
                   const std::function<void()>& launch)
{
    const auto exact = computed_by(product_unit::fp32, result, launch);
    CHECK_MESSAGE(same_bits(exact, computed_by(product_unit::pairs, result, launch)),
                  name << ": pairs");
    if(!have_tiles) { return; }
    const auto tiles = computed_by(product_unit::tiles, result, launch);
    for(std::size_t i = 0; i < tiles.size(); ++i)
    {
        const double a = static_cast<float>(exact[i]), b = static_cast<float>(tiles[i]);
        const double unit = 0x1p-6 * std::abs(a);
        REQUIRE_MESSAGE(std::abs(a - b) <= magnitudes[i] * depth * 0x1p-23 + unit,
                        name << ": tiles");
    }
    CHECK_MESSAGE(same_bits(tiles, computed_by(product_unit::tiles, result, launch)),
                  name << ": tiles, again");
}

std::int64_t longest_sum(const model::conv_shape& s)
{ return volume(s.filter) * std::max(s.C, s.K) + s.N * volume(s.output); }

template <typename Family>
void check_backward(const ck_tile::conv::ConvParam& param, bool data, index_t splits)
{
    if(!Family::is_supported(param, splits)) { return; }
    const model::conv_shape s = model::make_conv_shape(param);
    auto in = draw_many(input_size(s)), wei = draw_many(weight_size(s)),
         out             = draw_many(output_size(s));
    const auto in_before = in, wei_before = wei;
    std::vector<double> magnitudes(data ? in.size() : wei.size());
    for_each_product(s, [&](std::size_t i, std::size_t w, std::size_t o) {
        const float factor = data ? static_cast<float>(wei[w]) : static_cast<float>(in[i]);
        magnitudes[data ? i : w] += std::abs(double{factor} * static_cast<float>(out[o]));
    });
    compare_units(data ? in : wei,
                  magnitudes,
                  static_cast<double>(longest_sum(s)),
                  Family::kernel::GetInstanceString(),
                  [&] {
                      std::fill(
                          data ? in.begin() : wei.begin(), data ? in.end() : wei.end(), bf16_t{});
                      Family::launch(param, in.data(), wei.data(), out.data(), splits);
                  });
}

template <typename Family>
void check_forward(const ck_tile::conv::ConvParam& param)
{
    if(!Family::is_supported(param, 1)) { return; }
    const model::conv_shape s = model::make_conv_shape(param);
    const auto in = draw_many(input_size(s)), wei = draw_many(weight_size(s));
    std::vector<bf16_t> out(output_size(s));
    std::vector<double> magnitudes(out.size());
    for_each_product(s, [&](std::size_t i, std::size_t w, std::size_t o) {
        magnitudes[o] += std::abs(double{static_cast<float>(in[i])} * static_cast<float>(wei[w]));
    });
    compare_units(out,
                  magnitudes,
                  static_cast<double>(longest_sum(s)),
                  Family::kernel::GetInstanceString(),
                  [&] { Family::launch({param, in.data(), wei.data(), {}, out.data(), 1}, {}); });
}

template <index_t D>
void check_convolutions()
{
    constexpr kernel_config plain{}, deep{.tile{16, 32, 8}, .waves{1, 1, 1}},
        wide{.tile{128, 64, 16}}, merged{.tile{32, 32, 32}, .merged = 8},
        twofold{.tile{64, 64, 16}, .pipeline = ck_tile::GemmPipeline::COMPUTE_V5};
    auto problems = chosen_problems(D);
    for(int i = 0; i < rounds(4); ++i) { problems.push_back(random_problem(D, i % 4)); }
    for(const auto& param : problems)
    {
        check_forward<forward_family<bf16_t, D, plain>>(param);
        check_forward<forward_family<bf16_t, D, merged>>(param);
        check_forward<forward_family<bf16_t, D, twofold>>(param);
        check_backward<backward_data_family<bf16_t, D, deep>>(param, true, 1);
        check_backward<backward_data_family<bf16_t, D, wide>>(param, true, 2);
        check_backward<backward_weight_family<bf16_t, D, plain>>(param, false, 1);
        check_backward<backward_weight_family<bf16_t, D, wide>>(param, false, 3);
        check_backward<backward_weight_family<bf16_t, D, merged>>(param, false, 1);
    }
}

// Sums of tiles as the instruction's manual has them: in steps of 32 products, those of even k from
// zero, those of odd k from zero, both together, then with the sum so far.
float sum_of_tiles(const bf16_t* a, const bf16_t* b, std::int64_t depth)
{
    float sum = 0;
    for(std::int64_t begin = 0; begin < depth; begin += 32)
    {
        float part[2] = {};
        for(std::int64_t k = begin; k < std::min(depth, begin + 32); ++k)
        {
            part[(k - begin) % 2] =
                std::fma(static_cast<float>(a[k]), static_cast<float>(b[k]), part[(k - begin) % 2]);
        }
        sum += part[0] + part[1];
    }
    return sum;
}

template <bool ARow, bool BRow>
void check_product(index_t m, index_t n, index_t k)
{
    constexpr gemm_config config{.tile{64, 64, 32},
                                 .a_row = ARow,
                                 .b_row = BRow,
                                 .pad_m = true,
                                 .pad_n = true,
                                 .pad_k = true,
                                 .vectors{1, 1, 1}};
    const auto entry = make_gemm_entry<bf16_t, bf16_t, float, float, config>();
    const auto a     = draw_many(static_cast<std::size_t>(m * k)),
               b     = draw_many(static_cast<std::size_t>(n * k));
    // the same with k fastest
    auto rows = a, columns = b;
    if constexpr(!ARow)
    {
        for(index_t i = 0; i < m; ++i)
            for(index_t j = 0; j < k; ++j)
                rows[static_cast<std::size_t>(i * k + j)] = a[static_cast<std::size_t>(j * m + i)];
    }
    if constexpr(BRow)
    {
        for(index_t i = 0; i < n; ++i)
            for(index_t j = 0; j < k; ++j)
                columns[static_cast<std::size_t>(i * k + j)] =
                    b[static_cast<std::size_t>(j * n + i)];
    }
    std::vector<float> e(static_cast<std::size_t>(m * n));
    const auto launch = [&] {
        const ck_tile::GemmHostArgs args(
            a.data(), b.data(), e.data(), 1, m, n, k, ARow ? k : m, BRow ? n : k, n);
        entry.launch(args, ck_tile::stream_config{});
    };
    const auto exact = computed_by(product_unit::fp32, e, launch);
    CHECK(same_bits(exact, computed_by(product_unit::pairs, e, launch)));
    if(!have_tiles) { return; }
    const auto tiles = computed_by(product_unit::tiles, e, launch);
    for(index_t i = 0; i < m; ++i)
    {
        for(index_t j = 0; j < n; ++j)
        {
            const float expected = sum_of_tiles(rows.data() + i * k, columns.data() + j * k, k);
            REQUIRE(tiles[static_cast<std::size_t>(i * n + j)] == expected);
        }
    }
}

// At whatever place they are.
void check_refusals(product_unit unit)
{
    using family = backward_weight_family<bf16_t, 2, kernel_config{}>;
    const lengths one{1, 1}, image{5, 5}, none{0, 0};
    const ck_tile::conv::ConvParam param(2, 1, 2, 4, 4, one, image, one, one, none, none);
    const model::conv_shape s = model::make_conv_shape(param);
    const auto in = draw_many(input_size(s)), out = draw_many(output_size(s));
    std::vector<bf16_t> wei(weight_size(s));
    const auto run = [&](std::vector<bf16_t> x, std::vector<bf16_t> y, product_unit expected) {
        const auto launch = [&] {
            model::force_product_unit(unit);
            family::launch(param, x.data(), wei.data(), y.data(), 1);
        };
        const std::uint64_t before = model::launches_by(expected);
        launch();
        CHECK(model::launches_by(expected) == before + 1);
        const auto found = wei;
        model::force_product_unit(product_unit::fp32);
        family::launch(param, x.data(), wei.data(), y.data(), 1);
        CHECK((expected != product_unit::fp32 || same_bits(found, wei)));
    };
    run(in, out, unit);
    for(const unsigned bits : {0x0001u, 0x807fu, 0x7f80u, 0x7fc0u})
    {
        auto x = in, y = out;
        x.back() = from_bits(bits);
        run(x, out, product_unit::fp32);
        y.front() = from_bits(bits);
        run(in, y, product_unit::fp32);
    }
    // each is normal, but not their products
    run(draw_many(in.size(), 10, 20), draw_many(out.size(), 30, 40), product_unit::fp32);
    run(draw_many(in.size(), 240, 250), draw_many(out.size(), 130, 140), product_unit::fp32);
    run(draw_many(in.size(), 240, 250), draw_many(out.size(), 1, 40), unit);
    run(std::vector<bf16_t>(in.size()), out, unit);
}

TEST_CASE("fast units agree with fp32 on 1D convolutions") { check_convolutions<1>(); }
TEST_CASE("fast units agree with fp32 on 2D convolutions") { check_convolutions<2>(); }

TEST_CASE("units have the bits that their manuals define")
{
    CHECK(model::impl::pairs_as_documented());
    for(const index_t k : {16, 17, 31, 32, 33, 64, 255, 257, 600})
    {
        check_product<true, false>(33, 50, k);
        check_product<false, true>(70, 17, k);
    }
}

TEST_CASE("operands that a fast unit would compute wrongly are left to fp32")
{
    check_refusals(product_unit::pairs);
    if(have_tiles) { check_refusals(product_unit::tiles); }
}

} // namespace
