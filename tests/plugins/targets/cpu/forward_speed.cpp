// SPDX-License-Identifier: MIT
// Speed of forward kernels as a fraction of the machine's measured fp32 multiply-add peak.
// Usage: forward_speed [threads]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernel_family.hpp"
#include "peak.hpp"

namespace {

using namespace test;
using ck_tile::bf16_t;
using ck_tile::half_t;
using enum ck_tile::GemmPipeline;

template <typename T>
void measure(const char* type, const std::vector<forward_entry>& entries, double peak)
{
    using lengths = std::vector<ck_tile::long_index_t>;
    const ck_tile::conv::ConvParam param(2,
                                         1,
                                         8,
                                         128,
                                         128,
                                         lengths{3, 3},
                                         lengths{28, 28},
                                         lengths{1, 1},
                                         lengths{1, 1},
                                         lengths{1, 1},
                                         lengths{1, 1});
    std::vector<T> in(param.GetInputByte<T>() / sizeof(T), T(1.0f));
    std::vector<T> wei(param.GetWeightByte<T>() / sizeof(T), T(1.0f));
    std::vector<T> out(param.GetOutputByte<T>() / sizeof(T));
    const ck_tile::GroupedConvFwdHostArgs<> args(param, in.data(), wei.data(), {}, out.data(), 1);
    ck_tile::stream_config timed;
    timed.time_kernel_ = true;
    timed.cold_niters_ = 2;
    timed.nrepeat_     = 5;
    double best        = 0;
    for(const forward_entry& entry : entries)
    {
        double rate = 0;
        for(int i = 0; i < 3; ++i)
        {
            rate = std::max(
                rate, static_cast<double>(param.GetFlops()) * 1e-6 / entry.launch(args, timed));
        }
        const std::string& name = entry.instance_string;
        std::printf("%s %7.1f GFLOP/s %5.1f%%  %s\n",
                    type,
                    rate,
                    100 * rate / peak,
                    name.substr(name.find(",0,0,") + 5, 12).c_str());
        best = std::max(best, rate);
    }
    std::printf("%s best %.1f GFLOP/s, %.1f%% of peak\n", type, best, 100 * best / peak);
}

template <typename T>
std::vector<forward_entry> entries()
{
    return {
        make_entry<T, 2, kernel_config{.tile{256, 128, 64}}>(),
        make_entry<T, 2, kernel_config{.tile{256, 128, 32}}>(),
        make_entry<T, 2, kernel_config{.tile{128, 128, 64}}>(),
        make_entry<T, 2, kernel_config{.tile{128, 128, 32}}>(),
        make_entry<T, 2, kernel_config{.tile{64, 128, 64}}>(),
        make_entry<T, 2, kernel_config{.tile{64, 64, 64}}>(),
        make_entry<T, 2, kernel_config{.tile{64, 64, 32}}>(),
        make_entry<T, 2, kernel_config{.tile{256, 224, 64}}>(),
        make_entry<T, 2, kernel_config{.tile{32, 64, 128}}>(),
        make_entry<T, 2, kernel_config{.tile{16, 16, 128}, .waves{1, 1, 1}, .pipeline = MEMORY}>(),
        make_entry<T, 2, kernel_config{.tile{64, 16, 16}, .waves{1, 1, 1}, .pipeline = BASIC_V1}>(),
    };
}

} // namespace

int main(int argc, char** argv)
{
    if(argc > 1) { ck_tile::host_model::set_worker_count(std::atoi(argv[1])); }
    const int threads = ck_tile::host_model::worker_count();
    const double peak = peak_gflops(threads);
    std::printf("%d threads, fp32 multiply-add peak %.1f GFLOP/s\n", threads, peak);
    measure<float>("fp32", entries<float>(), peak);
    measure<half_t>("fp16", entries<half_t>(), peak);
    measure<bf16_t>("bf16", entries<bf16_t>(), peak);
}
