// SPDX-License-Identifier: MIT
// What plain GEMM kernels say about themselves and about problems: vector widths, the support test
// against a table, the parts of split-K, 8-bit types.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/k_split.hpp"
#include "gemm_family.hpp"

namespace {

using namespace test;
using ck_tile::bf16_t;
using ck_tile::fp8_t;
using ck_tile::half_t;
using ck_tile::host_model::plain_gemm_facts;

constexpr bool july_2025 = CKPROF_TEST_LEVEL_2025_07;

struct request
{
    index_t m, n, k;
    index_t k_batch  = 1;
    index_t stride_a = 0, stride_b = 0, stride_e = 0; // 0: packed
};

ck_tile::GemmHostArgs arguments(const plain_gemm_facts& f, const request& r)
{
    const auto stride = [](index_t given, index_t packed) { return given == 0 ? packed : given; };
    return {nullptr,
            nullptr,
            nullptr,
            r.k_batch,
            r.m,
            r.n,
            r.k,
            stride(r.stride_a, f.a_row_major ? r.k : r.m),
            stride(r.stride_b, f.b_row_major ? r.n : r.k),
            stride(r.stride_e, f.e_row_major ? r.n : r.m)};
}

// What is not met when all conditions are asked, as "id id ...", and "..." if there may be more.
std::string not_met(const gemm_entry& entry, const request& r)
{
    const ck_tile::host_model::collect_rejections all;
    entry.is_supported(arguments(*entry.facts, r));
    std::string ids;
    for(const auto& rejection : ck_tile::host_model::unmet_requirements())
    {
        CHECK(!rejection.reason.empty());
        ids += (ids.empty() ? "" : " ") + rejection.condition;
    }
    return ck_tile::host_model::were_all_conditions_tested() ? ids : ids + " ...";
}

void expect_not_met(const gemm_entry& entry, const request& r, const std::string& ids)
{
    const std::string got = not_met(entry, r);
    CHECK_MESSAGE(got == ids,
                  entry.name << " M" << r.m << " N" << r.n << " K" << r.k << " split "
                             << r.k_batch);
    CHECK(entry.is_supported(arguments(*entry.facts, r)) == ids.empty());
}

template <typename T, gemm_config C, typename E = half_t>
gemm_entry entry_of()
{ return make_support_entry<T, T, float, E, C>(); }

void expect_vectors(const gemm_entry& entry, int a, int b, int c)
{
    const plain_gemm_facts& f = *entry.facts;
    CHECK_MESSAGE((f.vector_size_a == a && f.vector_size_b == b && f.vector_size_c == c),
                  entry.name << ": got " << f.vector_size_a << "/" << f.vector_size_b << "/"
                             << f.vector_size_c);
}

TEST_CASE("vector widths are those that the headers of July 2025 report")
{
    constexpr sizes square{128, 128, 64}, mma{32, 32, 16};
    expect_vectors(entry_of<half_t, gemm_config{.tile = square, .mma = mma}>(), 8, 8, 8);
    expect_vectors(
        entry_of<half_t, gemm_config{.tile = square, .mma = mma, .b_row = true}>(), 8, 8, 8);
    expect_vectors(
        entry_of<half_t, gemm_config{.tile = square, .mma = mma, .a_row = false, .b_row = true}>(),
        8,
        8,
        8);
    expect_vectors(entry_of<fp8_t, gemm_config{.tile = square, .mma = mma}>(), 16, 16, 8);
    expect_vectors(
        entry_of<half_t, gemm_config{.tile{256, 16, 64}, .waves{4, 1, 1}, .mma{16, 16, 32}}>(),
        8,
        4,
        8);
    expect_vectors(
        entry_of<
            half_t,
            gemm_config{
                .tile{32, 16, 64}, .waves{2, 1, 1}, .mma{16, 16, 32}, .pipeline = kind::mem}>(),
        8,
        8,
        8);
    expect_vectors(
        entry_of<
            half_t,
            gemm_config{
                .tile{16, 16, 128}, .waves{1, 1, 1}, .mma{16, 16, 32}, .pipeline = kind::mem}>(),
        8,
        8,
        8);
    expect_vectors(entry_of<half_t, gemm_config{.tile{224, 256, 64}, .mma{16, 16, 32}}>(), 8, 8, 8);

    constexpr kind v1 = kind::compv1;
    expect_vectors(entry_of<half_t,
                            gemm_config{.tile     = square,
                                        .mma      = mma,
                                        .pipeline = v1,
                                        .pad_m    = true,
                                        .pad_n    = true,
                                        .pad_k    = true}>(),
                   1,
                   1,
                   8);
    expect_vectors(
        entry_of<half_t, gemm_config{.tile = square, .mma = mma, .pipeline = v1}>(), 8, 8, 8);
    expect_vectors(
        entry_of<half_t,
                 gemm_config{.tile = square, .mma = mma, .pipeline = v1, .vectors{4, 4, 4}}>(),
        4,
        4,
        4);
    // The other pipelines listened to an imposed width later only.
    const int narrow = july_2025 ? 8 : 1;
    expect_vectors(entry_of<half_t, gemm_config{.tile = square, .mma = mma, .vectors{1, 1, 1}}>(),
                   narrow,
                   narrow,
                   1);

    // A's pad is that of its contiguous axis, B's that of the other one.
    constexpr gemm_config only_k{
        .tile = square, .mma = mma, .pipeline = kind::compv1, .pad_k = true};
    expect_vectors(entry_of<half_t, only_k>(), 1, 8, 8);
    // Single elements of the accumulators, four along columns.
    expect_vectors(entry_of<half_t, gemm_config{.default_epilogue = true}>(), 8, 8, 1);
    expect_vectors(
        entry_of<half_t, gemm_config{.default_epilogue = true, .e_row = false}>(), 8, 8, 4);
    expect_vectors(make_support_entry<std::int8_t,
                                      std::int8_t,
                                      std::int32_t,
                                      std::int32_t,
                                      gemm_config{.tile = square, .mma{32, 32, 16}}>(),
                   16,
                   16,
                   4);
}

// Which sizes a kernel without imposed widths supports, by the table of layouts.
template <gemm_config C>
void check_table()
{
    const gemm_entry entry    = entry_of<half_t, C>();
    const plain_gemm_facts& f = *entry.facts;
    for(const index_t m : {1, 8, 12, 64, 72, 128})
    {
        for(const index_t n : {4, 8, 64, 72, 128})
        {
            for(const index_t k : {8, 36, 64, 96, 128, 192})
            {
                for(const index_t k_batch : {1, 2, 3})
                {
                    std::string wanted;
                    const auto need = [&](const char* id, bool met) {
                        if(!met) { wanted += (wanted.empty() ? "" : " ") + std::string(id); }
                    };
                    const bool whole_k = C.pad_k || k % (C.tile.k * k_batch) == 0;
                    const bool whole_m = C.pad_m || m % C.tile.m == 0;
                    const bool whole_n = C.pad_n || n % C.tile.n == 0;
                    if(!july_2025) { need("split-k", k >= k_batch * C.mma.k); }
                    need(C.a_row ? "tile-k" : "tile-m", C.a_row ? whole_k : whole_m);
                    need("vector-a", (C.a_row ? k : m) % 8 == 0);
                    need(C.b_row ? "tile-n" : "tile-k", C.b_row ? whole_n : whole_k);
                    need("vector-b", (C.b_row ? n : k) % 8 == 0);
                    need("tile-n", whole_n);
                    need("vector-c", n % 8 == 0);

                    // Behind them come conditions of the model's own.
                    std::string got = not_met(entry, {m, n, k, k_batch});
                    for(const char* own :
                        {"stride-a", "stride-b", "stride-e", "pipeline-depth", "split-k"})
                    {
                        const std::size_t at = got.rfind(own);
                        if(at != std::string::npos && at >= wanted.size())
                        {
                            got.erase(at == 0 ? 0 : at - 1);
                        }
                    }
                    CHECK_MESSAGE(got == wanted,
                                  entry.name << " M" << m << " N" << n << " K" << k << " split "
                                             << k_batch);
                }
            }
        }
    }
    CHECK((f.vector_size_a == 8 && f.vector_size_b == 8));
}

TEST_CASE("sizes are supported as the table of layouts says")
{
    check_table<gemm_config{.tile{64, 64, 64}}>();
    check_table<gemm_config{.tile{64, 64, 64}, .b_row = true}>();
    check_table<gemm_config{.tile{64, 64, 64}, .a_row = false}>();
    check_table<gemm_config{.tile{64, 64, 64}, .a_row = false, .b_row = true}>();
    check_table<gemm_config{.tile{64, 64, 64}, .pad_m = true, .pad_n = true, .pad_k = true}>();
    check_table<gemm_config{.tile{64, 64, 64}, .a_row = false, .b_row = true, .pad_n = true}>();
}

TEST_CASE("conditions of the model's own come behind those of CK Tile")
{
    const gemm_entry padded =
        entry_of<half_t, gemm_config{.tile{64, 64, 64}, .pad_n = true, .pad_k = true}>();
    const index_t most = 2147483647;
    expect_not_met(padded, {64, 64, 64}, "");
    expect_not_met(padded, {0, 64, 64}, "problem ...");
    expect_not_met(padded, {64, -8, 64}, "problem ...");
    expect_not_met(padded, {64, 64, 0}, "problem ...");
    expect_not_met(padded, {64, 64, 64, 0}, "split-k ...");
    expect_not_met(padded, {64, 64, 64, -1}, "split-k ...");
    expect_not_met(padded, {65536, 64, 65536}, "index-range");
    expect_not_met(padded, {64, 64, most - 7}, "index-range index-range index-range");
    expect_not_met(padded, {64, 64, 64, 1, 56}, "stride-a");
    expect_not_met(padded, {64, 64, 64, 1, 68}, "stride-a");
    expect_not_met(padded, {64, 64, 64, 1, 72, 66, 65}, "stride-b stride-e");
    expect_not_met(padded, {63, 64, 64, 1, 72, 80, 88}, "");
    // Nine splits of a depth of four steps.
    expect_not_met(padded, {64, 64, 64, 9}, july_2025 ? "split-k ..." : "split-k split-k ...");

    // Sixteen-bit additions come in pairs.
    const gemm_entry odd =
        entry_of<half_t, gemm_config{.pad_n = true, .pad_k = true, .default_epilogue = true}>();
    expect_not_met(odd, {64, 61, 64}, "");
    expect_not_met(odd, {64, 64, 64, 2}, "split-k-atomics");
    const gemm_entry odd_float =
        entry_of<half_t,
                 gemm_config{.pad_n = true, .pad_k = true, .default_epilogue = true},
                 float>();
    expect_not_met(odd_float, {64, 61, 64, 2}, "");
}

TEST_CASE("the last part of K can be shorter than the loop that was chosen for all parts")
{
    const gemm_entry v3 =
        entry_of<half_t, gemm_config{.tile{64, 64, 32}, .pad_n = true, .pad_k = true}>();
    const std::string shorter = july_2025 ? "pipeline-depth" : "";
    // 72 = 2 x 48 - 24 with steps of 16: two blocks of 32, then one.
    expect_not_met(v3, {64, 64, 72, 2}, shorter);
    expect_not_met(v3, {64, 64, 128, 2}, "");
    // Four blocks and three both end in a hot loop.
    expect_not_met(v3, {64, 64, 200, 2}, "");
    const gemm_entry basic =
        entry_of<half_t,
                 gemm_config{
                     .tile{64, 64, 32}, .pipeline = kind::compv1, .pad_n = true, .pad_k = true}>();
    expect_not_met(basic, {64, 64, 72, 2}, "");
    const gemm_entry v4 =
        entry_of<half_t,
                 gemm_config{
                     .tile{64, 64, 32}, .pipeline = kind::compv4, .pad_n = true, .pad_k = true}>();
    expect_not_met(v4, {64, 64, 200, 2}, shorter);
}

TEST_CASE("blocks behind the end of K are zeros where K is padded or strided")
{
    constexpr kind v4           = kind::compv4;
    const std::string behind    = july_2025 ? "pipeline-depth" : "";
    const gemm_entry contiguous = entry_of<half_t, gemm_config{.pipeline = v4}>();
    for(const index_t loops : {1, 2, 3, 4, 5})
    {
        const std::string wanted = loops == 1 || loops == 3 ? behind : "";
        expect_not_met(contiguous, {64, 64, 32 * loops}, wanted);
        expect_not_met(contiguous, {64, 64, 64 * loops, 2}, wanted);
    }
    expect_not_met(
        entry_of<half_t, gemm_config{.pipeline = v4, .pad_k = true}>(), {64, 64, 32}, "");
    expect_not_met(
        entry_of<half_t, gemm_config{.pipeline = v4, .b_row = true}>(), {64, 64, 32}, "");
    expect_not_met(
        entry_of<half_t, gemm_config{.pipeline = v4, .a_row = false}>(), {64, 64, 32}, "");
    expect_not_met(entry_of<half_t, gemm_config{}>(), {64, 64, 32}, "");
}

TEST_CASE("after the first block the loop without a tail goes along an operand's fastest axis")
{
    constexpr kind basic     = kind::compv1;
    const std::string beyond = july_2025 ? "pipeline-depth" : "";
    for(const index_t loops : {1, 2})
    {
        const std::string wanted = loops == 1 ? "" : beyond;
        expect_not_met(
            entry_of<half_t, gemm_config{.pipeline = basic}>(), {64, 64, 32 * loops}, "");
        expect_not_met(entry_of<half_t, gemm_config{.pipeline = basic, .b_row = true}>(),
                       {64, 64, 32 * loops},
                       wanted);
        expect_not_met(entry_of<half_t, gemm_config{.pipeline = basic, .a_row = false}>(),
                       {64, 64, 32 * loops},
                       wanted);
    }
}

TEST_CASE("some devices turn an operand that is read transposed again in the last of two blocks")
{
    const gemm_entry rows       = entry_of<half_t, gemm_config{.b_row = true, .pad_n = true}>();
    const gemm_entry contiguous = entry_of<half_t, gemm_config{}>();
    for(const char* device : {"gfx942", "gfx950"})
    {
        CHECK(ck_tile::host_model::set_device(device));
        const bool wrong = july_2025 && std::string_view(device) == "gfx950";
        for(const index_t loops : {1, 2, 3, 4})
        {
            expect_not_met(rows, {64, 64, 32 * loops}, wrong && loops == 2 ? "pipeline-depth" : "");
            expect_not_met(contiguous, {64, 64, 32 * loops}, "");
        }
        // Two splits of two blocks each.
        expect_not_met(rows, {64, 64, 128, 2}, wrong ? "pipeline-depth" : "");
    }
}

TEST_CASE("the parts of a split K follow each other")
{
    using ck_tile::host_model::k_range;
    using ck_tile::host_model::split_k_reads;
    using ck_tile::host_model::split_k_steps;
    const auto same = [](const k_range& range, std::int64_t begin, std::int64_t end) {
        return range.begin == begin && range.end == end;
    };
    CHECK(same(split_k_reads(100, 2, 16, 0), 0, 64));
    CHECK(same(split_k_reads(100, 2, 16, 1), 64, 100));
    CHECK(same(split_k_steps(100, 2, 16, 0), 0, 48));
    CHECK(same(split_k_steps(100, 2, 16, 1), 48, 100));
    // Nothing is left for the last.
    CHECK(split_k_reads(64, 9, 16, 8).begin >= 64);
    for(std::int64_t depth = 16; depth <= 300; ++depth)
    {
        for(std::int64_t parts = 1; parts <= depth / 16; ++parts)
        {
            std::int64_t reads = 0, steps = 0;
            for(std::int64_t part = 0; part < parts; ++part)
            {
                REQUIRE(split_k_steps(depth, parts, 16, part).begin == steps);
                steps = split_k_steps(depth, parts, 16, part).end;
                REQUIRE(split_k_reads(depth, parts, 16, part).begin == reads);
                reads = split_k_reads(depth, parts, 16, part).end;
            }
            CHECK((steps == depth && reads == depth));
        }
    }
}

TEST_CASE("stages to prefetch and persistence are those of the headers")
{
    using mem = gemm_types<half_t,
                           half_t,
                           float,
                           half_t,
                           gemm_config{.tile{32, 16, 64}, .waves{2, 1, 1}, .pipeline = kind::mem}>;
    static_assert(mem::base::PrefetchStages == 3);
    using eight = gemm_types<fp8_t,
                             fp8_t,
                             float,
                             half_t,
                             gemm_config{.tile{16, 16, 32}, .pipeline = kind::mem}>;
    static_assert(eight::base::PrefetchStages == 8);
    using persistent = gemm_family<half_t,
                                   half_t,
                                   float,
                                   half_t,
                                   gemm_config{.pipeline = kind::compv4, .persistent = true}>;
    using persistent_3 =
        gemm_family<half_t, half_t, float, half_t, gemm_config{.persistent = true}>;
    // The flag was ignored by most pipelines.
    CHECK(persistent::kernel::PersistentKernel == !july_2025);
    CHECK(persistent_3::kernel::PersistentKernel);
}

// All codes against the definition, and rounding around every value.
template <typename Format>
void check_float8(int fraction_bits, int bias, double largest)
{
    using ck_tile::float8;
    std::vector<double> values; // of the codes from 0 on
    for(unsigned code = 0; code < 128; ++code)
    {
        float8<Format> value;
        value.bits          = static_cast<std::uint8_t>(code);
        const int exponent  = static_cast<int>(code) >> fraction_bits;
        const double one    = 1 << fraction_bits;
        const double place  = static_cast<double>(code % (1u << fraction_bits));
        const double wanted = exponent == 0 ? std::ldexp(place / one, 1 - bias)
                                            : std::ldexp(1 + place / one, exponent - bias);
        if(wanted > largest) { CHECK(!std::isfinite(static_cast<float>(value))); }
        else
        {
            CHECK(static_cast<double>(static_cast<float>(value)) == wanted);
            CHECK(float8<Format>(static_cast<float>(value)).bits == code);
            values.push_back(wanted);
        }
        float8<Format> negative;
        negative.bits = static_cast<std::uint8_t>(code | 0x80);
        if(wanted <= largest && code != 0)
        {
            CHECK(static_cast<double>(static_cast<float>(negative)) == -wanted);
            CHECK(float8<Format>(static_cast<float>(negative)).bits == (code | 0x80));
        }
    }
    CHECK(values.back() == largest);
    for(std::size_t i = 0; i + 1 < values.size(); ++i)
    {
        const auto middle = static_cast<float>((values[i] + values[i + 1]) / 2);
        CHECK(float8<Format>(middle).bits == (i % 2 == 0 ? i : i + 1));
        CHECK(float8<Format>(std::nextafter(middle, 0.0f)).bits == i);
        CHECK(float8<Format>(std::nextafter(middle, 1e9f)).bits == i + 1);
    }
    const auto last = static_cast<std::uint8_t>(values.size() - 1);
    CHECK((float8<Format>(1e9f).bits == last && float8<Format>(-1e9f).bits == (last | 0x80)));
    CHECK(float8<Format>(INFINITY).bits == last);
    CHECK(std::isnan(static_cast<float>(float8<Format>(std::nanf("")))));
}

TEST_CASE("numbers of eight bits convert as their formats define")
{
    check_float8<ck_tile::e4m3_fnuz>(3, 8, 240);
    check_float8<ck_tile::e5m2_fnuz>(2, 16, 57344);
    check_float8<ck_tile::e4m3_ocp>(3, 7, 448);
    check_float8<ck_tile::e5m2_ocp>(2, 15, 57344);
    // There is no minus zero where its code is the only NaN.
    CHECK(ck_tile::float8<ck_tile::e4m3_fnuz>(-0.0f).bits == 0);
    CHECK(ck_tile::float8<ck_tile::e4m3_ocp>(-0.0f).bits == 0x80);
    ck_tile::float8<ck_tile::e5m2_ocp> infinite;
    infinite.bits = 0xfc;
    CHECK(std::isinf(static_cast<float>(infinite)));
    ck_tile::float8<ck_tile::e5m2_fnuz> only;
    only.bits = 0x80;
    CHECK(std::isnan(static_cast<float>(only)));
    using gfx942 = std::is_same<fp8_t, ck_tile::float8<ck_tile::e4m3_fnuz>>;
    CHECK(gfx942::value);
}

} // namespace
