// SPDX-License-Identifier: MIT
// CPU time of the host model's kernels on one problem, in one thread.
//
// Usage: cpu_kernels DIRECTION TYPE N C K SIZE FILTER STRIDE
// Then, for every line of the standard input, each kernel of the direction runs once, and the best
// rate since the start is printed in GFLOP/s. Tiles are those of the shipped lists.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel_family.hpp"

namespace {

using namespace test;
using ck_tile::conv::ConvParam;

using launch_function = void (*)(const ConvParam&, void*, void*, void*);

template <typename T, kernel_config C>
void forward(const ConvParam& param, void* in, void* wei, void* out)
{
    using family = forward_family<T, 2, C>;
    family::launch(ck_tile::GroupedConvFwdHostArgs<>(param, in, wei, {}, out, 1),
                   ck_tile::stream_config{});
}

template <typename T, kernel_config C>
void backward_data(const ConvParam& param, void* in, void* wei, void* out)
{ backward_data_family<T, 2, C>::launch(param, in, wei, out, 1); }

template <typename T, kernel_config C>
void backward_weight(const ConvParam& param, void* in, void* wei, void* out)
{ backward_weight_family<T, 2, C>::launch(param, in, wei, out, 1); }

template <typename T>
std::vector<launch_function> kernels(const std::string& direction)
{
    constexpr index_t deep = sizeof(T) == 2 ? 64 : 32;
    if(direction == "fwd")
    {
        return {&forward<T, kernel_config{.tile{128, 128, 16}}>,
                &forward<T, kernel_config{.tile{256, 128, 32}}>,
                &forward<T, kernel_config{.tile{128, 64, deep}}>};
    }
    if(direction == "bwd_data")
    {
        return {&backward_data<T, kernel_config{.tile{128, 128, 32}}>,
                &backward_data<T, kernel_config{.tile{64, 128, 32}}>,
                &backward_data<T, kernel_config{.tile{128, 64, deep}}>};
    }
    if(direction == "bwd_weight")
    {
        return {&backward_weight<T, kernel_config{.tile{128, 128, 16}}>,
                &backward_weight<T, kernel_config{.tile{64, 64, 32}}>,
                &backward_weight<T, kernel_config{.tile{128, 256, deep}}>};
    }
    throw std::runtime_error("no such direction: " + direction);
}

double thread_seconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename T>
void measure(const std::string& direction, const ConvParam& param)
{
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto tensor = [&](std::size_t bytes) {
        std::vector<T> values(bytes / sizeof(T));
        for(T& value : values) { value = T(uniform(generator)); }
        return values;
    };
    auto in  = tensor(param.GetInputByte<T>());
    auto wei = tensor(param.GetWeightByte<T>());
    auto out = tensor(param.GetOutputByte<T>());

    const auto functions = kernels<T>(direction);
    std::vector<double> best(functions.size(), 1e30);
    std::string line;
    while(std::getline(std::cin, line))
    {
        for(std::size_t i = 0; i < functions.size(); ++i)
        {
            const double start = thread_seconds();
            functions[i](param, in.data(), wei.data(), out.data());
            best[i] = std::min(best[i], thread_seconds() - start);
        }
        const double least = *std::min_element(best.begin(), best.end());
        std::printf("%.3f\n", static_cast<double>(param.GetFlops()) * 1e-9 / least);
        std::fflush(stdout);
        if(std::getenv("CPU_KERNELS_EACH") != nullptr)
        {
            for(const double time : best)
            {
                std::fprintf(stderr, " %.1f", static_cast<double>(param.GetFlops()) * 1e-9 / time);
            }
            std::fprintf(stderr, "\n");
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    if(argc != 9)
    {
        std::fprintf(stderr, "usage: cpu_kernels DIRECTION TYPE N C K SIZE FILTER STRIDE\n");
        return 2;
    }
    using lengths     = std::vector<ck_tile::long_index_t>;
    const auto number = [&](int index) {
        return static_cast<ck_tile::long_index_t>(std::atoll(argv[index]));
    };
    const auto size = number(6), filter = number(7), stride = number(8), pad = filter / 2;
    const ConvParam param(2,
                          1,
                          number(3),
                          number(5),
                          number(4),
                          lengths{filter, filter},
                          lengths{size, size},
                          lengths{stride, stride},
                          lengths{1, 1},
                          lengths{pad, pad},
                          lengths{pad, pad});
    ck_tile::host_model::set_worker_count(1);
    if(std::strcmp(argv[2], "fp32") == 0) { measure<float>(argv[1], param); }
    else if(std::strcmp(argv[2], "bf16") == 0) { measure<ck_tile::bf16_t>(argv[1], param); }
    else
    {
        std::fprintf(stderr, "no such type: %s\n", argv[2]);
        return 2;
    }
}
