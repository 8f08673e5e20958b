// SPDX-License-Identifier: MIT
// What matrix-product kernels say about random problems: the kernel's own support test, and the
// launcher's. Generated headers come first; KERNELS lists their launchers.
#include <cstdio>
#include <random>
#include <type_traits>

namespace answers {

template <typename Launcher>
bool kernel_says(const ck_tile::GemmHostArgs& args, int k_batch)
{
    using kernel = typename Launcher::Kernel;
    return kernel::IsSupportedArgument(
        kernel::MakeKernelArgs(Launcher::with_k_batch(args, k_batch)));
}

struct kernel
{
    const char* name;
    bool (*says)(const ck_tile::GemmHostArgs&, int);
    bool (*launches)(const ck_tile::GemmHostArgs&, int);
    bool a_row, b_row;
};

template <typename Launcher>
kernel describe()
{
    using row = ck_tile::tensor_layout::gemm::RowMajor;
    return {Launcher::Name,
            &kernel_says<Launcher>,
            &Launcher::is_supported,
            std::is_same_v<typename Launcher::ALayout, row>,
            std::is_same_v<typename Launcher::BLayout, row>};
}

// One line per kernel: its name, then two digits per problem. The same problems for each.
inline void print(const kernel& one, int problems)
{
    constexpr int sizes[]  = {1,   2,   4,   8,   12,  16,   24,   32,  36,  48,
                              64,  72,  80,  96,  100, 128,  144,  160, 192, 224,
                              256, 264, 320, 384, 512, 1000, 1024, 2048};
    constexpr int splits[] = {1, 1, 2, 3, 4, 8};
    std::mt19937 generator(2025);
    const auto pick = [&] { return sizes[generator() % std::size(sizes)]; };
    std::printf("%s", one.name);
    for(int i = 0; i < problems; ++i)
    {
        const int m = pick(), n = pick(), k = pick();
        const int k_batch = splits[generator() % std::size(splits)];
        const ck_tile::GemmHostArgs args(
            nullptr, nullptr, nullptr, k_batch, m, n, k, one.a_row ? k : m, one.b_row ? n : k, n);
        std::printf(" %d%d", one.says(args, k_batch), one.launches(args, k_batch));
    }
    std::printf("\n");
}

} // namespace answers

#define ANSWER(LAUNCHER) answers::print(answers::describe<LAUNCHER>(), 500);
