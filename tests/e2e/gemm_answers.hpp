// SPDX-License-Identifier: MIT
// What matrix-product kernels say about random problems: the kernel's own support test, and the
// launcher's. Generated headers and ckprof_gemm_entry.hpp come first.
#include <cstdio>
#include <iterator>
#include <random>

namespace answers {

template <typename Args>
Args host_args(Args (*)(Args, int));

inline int pick(std::mt19937& generator)
{
    constexpr int sizes[] = {1,   2,   4,   8,   12,  16,   24,   32,  36,  48,
                             64,  72,  80,  96,  100, 128,  144,  160, 192, 224,
                             256, 264, 320, 384, 512, 1000, 1024, 2048};
    return sizes[generator() % std::size(sizes)];
}

// One line per kernel: its name, then two digits per problem. The same problems for each, but for
// what only kernels with D tensors and batched ones have.
template <typename Launcher>
void print(int problems)
{
    using kernel           = typename Launcher::Kernel;
    using args             = decltype(host_args(&Launcher::with_k_batch));
    using operation        = ckprof::entry::gemm<Launcher, args>;
    constexpr int splits[] = {1, 1, 2, 3, 4, 8};
    std::mt19937 generator(2025);
    std::printf("%s", Launcher::Name);
    for(int i = 0; i < problems; ++i)
    {
        ckprof_problem problem = {};
        auto& values           = problem.values;
        values[0] = pick(generator), values[1] = pick(generator), values[2] = pick(generator);
        problem.split_k = splits[generator() % std::size(splits)];
        values[6]       = 1;
        std::mt19937 further(i);
        if constexpr(ckprof::entry::batched_gemm_args<args>)
        {
            values[6] = 1 + further() % 3;
            // matrices one behind the other, or with an odd, an even or a whole gap between them
            const std::int64_t gaps[]     = {0, 0, 1, 2, 64};
            const std::int64_t elements[] = {
                values[0] * values[2], values[2] * values[1], values[0] * values[1]};
            for(int matrix = 0; matrix < 3; ++matrix)
            {
                values[7 + matrix] = elements[matrix] + gaps[further() % std::size(gaps)];
            }
            // an index that is too large, and more products than a launch has blocks
            if(i % 50 == 0) { values[7 + i / 50 % 3] = 2'000'000'000; }
            if(i % 70 == 0) { values[6] = 70'000; }
        }
        if constexpr(ckprof::entry::multi_d_gemm_args<args>)
        {
            const std::int64_t gaps[] = {0, 0, 1, 8};
            for(std::size_t d = 0; d < operation::d_count; ++d)
            {
                values[12 + d] = values[1] + gaps[further() % std::size(gaps)];
            }
        }
        const args given = operation::make_param(problem);
        std::printf(" %d%d",
                    kernel::IsSupportedArgument(kernel::MakeKernelArgs(given)),
                    Launcher::is_supported(given, problem.split_k));
    }
    std::printf("\n");
}

} // namespace answers

#define ANSWER(LAUNCHER) answers::print<LAUNCHER>(500);
