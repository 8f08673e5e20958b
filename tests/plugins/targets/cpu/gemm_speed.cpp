// SPDX-License-Identifier: MIT
// Speed of plain GEMM kernels on 1024 x 1024 x 1024 as a fraction of the machine's measured fp32
// multiply-add peak. Usage: gemm_speed [threads]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "gemm_family.hpp"
#include "peak.hpp"

namespace {

using namespace test;

template <typename T, bool BRow>
std::vector<gemm_entry> entries()
{
    using acc = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;
    using result =
        std::conditional_t<sizeof(T) == 1,
                           std::conditional_t<std::is_integral_v<T>, acc, ck_tile::half_t>,
                           T>;
    return {
        make_gemm_entry<T, T, acc, result, gemm_config{.tile{256, 256, 32}, .b_row = BRow}>(),
        make_gemm_entry<T, T, acc, result, gemm_config{.tile{256, 128, 64}, .b_row = BRow}>(),
        make_gemm_entry<T, T, acc, result, gemm_config{.tile{128, 128, 64}, .b_row = BRow}>(),
        make_gemm_entry<T, T, acc, result, gemm_config{.tile{128, 128, 32}, .b_row = BRow}>(),
        make_gemm_entry<T, T, acc, result, gemm_config{.tile{64, 64, 64}, .b_row = BRow}>(),
        make_gemm_entry<
            T,
            T,
            acc,
            result,
            gemm_config{
                .tile{32, 16, 64}, .waves{2, 1, 1}, .pipeline = kind::mem, .b_row = BRow}>(),
    };
}

template <typename T, bool BRow>
void measure(const char* type, double peak)
{
    constexpr index_t size = 1024;
    std::vector<T> a(size * size, T(1)), b(size * size, T(1));
    std::vector<float> e(size * size); // at least as wide as any result
    ck_tile::stream_config timed;
    timed.time_kernel_ = true;
    timed.cold_niters_ = 1;
    timed.nrepeat_     = 3;
    double best        = 0;
    for(const gemm_entry& entry : entries<T, BRow>())
    {
        const ck_tile::GemmHostArgs args(
            a.data(), b.data(), e.data(), 1, size, size, size, size, size, size);
        double rate = 0;
        for(int i = 0; i < 3; ++i)
        {
            rate = std::max(rate, 2.0 * size * size * size * 1e-6 / entry.launch(args, timed));
        }
        std::printf("%-5s %s %7.1f GFLOP/s %5.1f%%  %s\n",
                    type,
                    BRow ? "rrr" : "rcr",
                    rate,
                    100 * rate / peak,
                    entry.name.c_str());
        best = std::max(best, rate);
    }
    std::printf("%s best %.1f GFLOP/s, %.1f%% of peak\n", type, best, 100 * best / peak);
}

} // namespace

int main(int argc, char** argv)
{
    if(argc > 1) { ck_tile::host_model::set_worker_count(std::atoi(argv[1])); }
    const int threads = ck_tile::host_model::worker_count();
    const double peak = peak_gflops(threads);
    std::printf("%d threads, fp32 multiply-add peak %.1f GFLOP/s\n", threads, peak);
    measure<float, false>("fp32", peak);
    measure<float, true>("fp32", peak);
    measure<ck_tile::half_t, false>("fp16", peak);
    measure<ck_tile::bf16_t, true>("bf16", peak);
    measure<ck_tile::fp8_t, false>("fp8", peak);
    measure<std::int8_t, false>("int8", peak);
}
