// SPDX-License-Identifier: MIT
// Plain GEMM kernels on random problems against the definition, computed in double precision.
//
// Data are small integers, so all sums are exact and results must agree to the last bit; float
// kernels are also run on real numbers with a tolerance. Matrices are exactly as large as their
// strides say, and what lies between the rows is NaN in operands and must stay as it was in the
// result.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"
#include "gemm_family.hpp"
#include "gemm_matrix.hpp"

namespace {

using namespace test;
using ck_tile::bf16_t;
using ck_tile::bf8_t;
using ck_tile::fp8_t;
using ck_tile::half_t;

std::mt19937 generator(2025);

index_t between(index_t least, index_t most)
{ return std::uniform_int_distribution<index_t>(least, most)(generator); }

struct problem
{
    index_t m, n, k, k_batch;
    index_t stride_a, stride_b, stride_e;
};

template <typename A, typename B, typename Acc, typename E>
void compare(const gemm_entry& entry, const problem& p, bool exact)
{
    const auto& facts         = *entry.facts;
    constexpr bool is_integer = std::is_integral_v<A>;
    const double nan          = is_integer ? 99.0 : std::nan("");
    matrix<A> a(p.m, p.k, facts.a_row_major, p.stride_a, converted<A>(nan));
    matrix<B> b(p.k, p.n, facts.b_row_major, p.stride_b, converted<B>(nan));
    const E fence = converted<E>(77);
    matrix<E> e(p.m, p.n, facts.e_row_major, p.stride_e, fence);

    std::uniform_real_distribution<double> real(-1, 1);
    const int most  = is_integer ? 127 : 1;
    const auto next = [&] {
        return exact ? static_cast<double>(between(-most - (is_integer ? 1 : 0), most))
                     : real(generator);
    };
    for(index_t i = 0; i < p.m; ++i)
    {
        for(index_t k = 0; k < p.k; ++k) { a.at(i, k) = converted<A>(next()); }
    }
    for(index_t k = 0; k < p.k; ++k)
    {
        for(index_t j = 0; j < p.n; ++j) { b.at(k, j) = converted<B>(next()); }
    }
    const ck_tile::GemmHostArgs args(a.data.data(),
                                     b.data.data(),
                                     e.data.data(),
                                     p.k_batch,
                                     p.m,
                                     p.n,
                                     p.k,
                                     p.stride_a,
                                     p.stride_b,
                                     p.stride_e);
    entry.launch(args, ck_tile::stream_config{});

    int wrong = 0;
    for(index_t i = 0; i < p.m; ++i)
    {
        for(index_t j = 0; j < p.n; ++j)
        {
            double sum = 0;
            for(index_t k = 0; k < p.k; ++k)
            {
                sum += as_double(a.at(i, k)) * as_double(b.at(k, j));
            }
            const double wanted = as_double(converted<E>(sum));
            const double got    = as_double(e.at(i, j));
            const bool good =
                exact ? got == wanted : std::abs(got - sum) <= 2e-5 + 1e-5 * std::abs(sum);
            if(!good && wrong++ == 0)
            {
                FAIL_CHECK(entry.name << " M" << p.m << " N" << p.n << " K" << p.k << " split "
                                      << p.k_batch << " element " << i << "," << j << ": got "
                                      << got << ", expected " << sum);
            }
        }
    }
    for(std::size_t at = 0; at < e.data.size(); ++at)
    {
        if(static_cast<index_t>(at % static_cast<std::size_t>(p.stride_e)) >= e.run)
        {
            REQUIRE_MESSAGE(as_double(e.data[at]) == 77.0, entry.name << ": a fence was written");
        }
    }
}

// Sizes that the kernel supports: what is not padded is rounded up to the tile.
problem random_problem(const ck_tile::host_model::plain_gemm_facts& f, index_t k_batch)
{
    const auto round = [](index_t value, index_t unit) { return (value + unit - 1) / unit * unit; };
    problem p{};
    p.k_batch = k_batch;
    p.m       = between(1, 140) | 1;
    p.n       = round(between(1, 140), f.vector_size_c);
    // whole tiles only: deep enough for the loops of every pipeline
    p.k = between(f.k_mma * k_batch, f.pad_k ? 200 : 6 * f.k_per_block);
    if(!f.a_row_major) { p.m = round(p.m, f.pad_m ? f.vector_size_a : f.m_per_block); }
    if(!f.e_row_major)
    {
        p.m = round(p.m, f.vector_size_c);
        if(!f.pad_m) { p.m = round(p.m, f.m_per_block); }
    }
    if(f.b_row_major) { p.n = round(p.n, f.vector_size_b); }
    if((f.e_row_major || f.b_row_major) && !f.pad_n) { p.n = round(p.n, f.n_per_block); }
    if(f.a_row_major) { p.k = round(p.k, f.pad_k ? f.vector_size_a : f.k_per_block * k_batch); }
    if(!f.b_row_major) { p.k = round(p.k, f.pad_k ? f.vector_size_b : f.k_per_block * k_batch); }

    const auto stride = [&](index_t contiguous, index_t vector) {
        return between(0, 1) == 0 ? round(contiguous, vector)
                                  : round(contiguous, vector) + vector * between(1, 3);
    };
    p.stride_a = stride(f.a_row_major ? p.k : p.m, f.vector_size_a);
    p.stride_b = stride(f.b_row_major ? p.n : p.k, f.vector_size_b);
    p.stride_e = stride(f.e_row_major ? p.n : p.m, f.vector_size_c);
    return p;
}

template <typename A, typename B, typename Acc, typename E, gemm_config C>
void check()
{
    const int wanted       = rounds(10);
    const gemm_entry entry = make_gemm_entry<A, B, Acc, E, C>();
    int supported          = 0;
    for(int round = 0; round < wanted; ++round)
    {
        for(const index_t k_batch : {1, 2, 4})
        {
            const problem p = random_problem(*entry.facts, k_batch);
            const ck_tile::GemmHostArgs args(nullptr,
                                             nullptr,
                                             nullptr,
                                             p.k_batch,
                                             p.m,
                                             p.n,
                                             p.k,
                                             p.stride_a,
                                             p.stride_b,
                                             p.stride_e);
            if(!entry.is_supported(args)) { continue; }
            ++supported;
            compare<A, B, Acc, E>(entry, p, true);
            if constexpr(std::is_same_v<E, float> && std::is_same_v<A, float>)
            {
                compare<A, B, Acc, E>(entry, p, false);
            }
        }
    }
    CHECK_MESSAGE(supported >= wanted, entry.name << ": too few problems were supported");
}

// One type in the four layouts, with and without padding.
template <typename T, gemm_config C, typename E = T>
void check_layouts()
{
    constexpr auto with = [](bool a_row, bool b_row, bool pad) {
        gemm_config config = C;
        config.a_row       = a_row;
        config.b_row       = b_row;
        config.pad_m = config.pad_n = config.pad_k = pad;
        return config;
    };
    using acc = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;
    check<T, T, acc, E, with(true, true, true)>();
    check<T, T, acc, E, with(false, false, true)>();
#if !defined(CKPROF_TEST_FEW_KERNELS)
    check<T, T, acc, E, with(true, false, true)>();
    check<T, T, acc, E, with(false, true, true)>();
    check<T, T, acc, E, with(true, false, false)>();
    check<T, T, acc, E, with(false, true, false)>();
#endif
}

// The launcher clears the elements of the result, the parts add up in a fixed order.
TEST_CASE("parts of a split product add up to the same bits every time")
{
    constexpr gemm_config config{.pad_n = true, .pad_k = true};
    const gemm_entry entry = make_gemm_entry<half_t, half_t, float, half_t, config>();
    const index_t m = 61, n = 72, k = 192, stride = 80;
    std::uniform_real_distribution<float> real(-1, 1);
    std::vector<half_t> a(m * k), b(n * k), e(m * stride, half_t(77));
    for(half_t& value : a) { value = half_t(real(generator)); }
    for(half_t& value : b) { value = half_t(real(generator)); }
    const ck_tile::GemmHostArgs args(a.data(), b.data(), e.data(), 4, m, n, k, k, k, stride);
    std::vector<half_t> first;
    ck_tile::host_model::set_worker_count(5);
    for(int run = 0; run < 10; ++run)
    {
        entry.launch(args, ck_tile::stream_config{});
        if(run == 0) { first = e; }
        for(std::size_t i = 0; i < e.size(); ++i) { REQUIRE(first[i].bits == e[i].bits); }
    }
    ck_tile::host_model::set_worker_count(0);
    for(std::size_t i = 0; i < e.size(); ++i)
    {
        if(i % stride >= static_cast<std::size_t>(n)) { CHECK(as_double(e[i]) == 77.0); }
    }
}

// All that is not said is as it is in most kernels.
template <typename T, gemm_config C, typename E = T, typename B = T>
void check_one()
{ check<T, B, float, E, C>(); }

TEST_CASE("products of fp32 agree with the definition")
{
    check_layouts<float, gemm_config{}>();
#if !defined(CKPROF_TEST_FEW_KERNELS)
    check_one<float, gemm_config{.pad_n = true, .pad_k = true, .default_epilogue = true}>();
    check_one<float,
              gemm_config{.pad_m            = true,
                          .pad_n            = true,
                          .pad_k            = true,
                          .default_epilogue = true,
                          .e_row            = false}>();
#endif
}

TEST_CASE("products of fp16 agree with the definition")
{
    check_layouts<half_t, gemm_config{.tile{128, 64, 64}, .pipeline = kind::compv4}>();
#if !defined(CKPROF_TEST_FEW_KERNELS)
    check_layouts<half_t, gemm_config{.pipeline = kind::compv1}>();
    check_one<half_t, gemm_config{.pad_n = true, .pad_k = true}, float>();
    check_one<half_t,
              gemm_config{.waves{1, 1, 2},
                          .pipeline    = kind::compv5,
                          .pad_n       = true,
                          .pad_k       = true,
                          .wave_groups = 2}>();
    check_one<half_t, gemm_config{.pad_n = true, .pad_k = true, .persistent = true}>();
#endif
}

TEST_CASE("products of int8 agree with the definition")
{
    check_layouts<std::int8_t,
                  gemm_config{.tile{32, 32, 32}, .waves{1, 1, 1}, .pipeline = kind::mem},
                  std::int32_t>();
}

#if !defined(CKPROF_TEST_FEW_KERNELS)
TEST_CASE("products of bf16 agree with the definition")
{ check_layouts<bf16_t, gemm_config{.tile{16, 64, 32}, .waves{1, 1, 1}, .pipeline = kind::mem}>(); }

TEST_CASE("products of fp8 and bf8 agree with the definition")
{
    check_layouts<fp8_t, gemm_config{.pipeline = kind::compv3}, half_t>();
    check_one<fp8_t, gemm_config{.pad_n = true, .pad_k = true}, half_t, bf8_t>();
}
#endif

} // namespace
