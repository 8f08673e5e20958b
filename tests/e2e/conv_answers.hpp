// SPDX-License-Identifier: MIT
// What convolution kernels say about themselves and about random problems. Generated headers come
// first.
#include <cstdio>
#include <iterator>
#include <random>

namespace answers {

inline int pick(std::mt19937& generator, std::initializer_list<int> values)
{ return values.begin()[generator() % values.size()]; }

template <int NDim>
ck_tile::conv::ConvParam random_problem(std::mt19937& generator)
{
    std::vector<ck_tile::index_t> filter, input, stride, dilation, left, right;
    const bool pointwise = generator() % 3 == 0;
    for(int axis = 0; axis < NDim; ++axis)
    {
        filter.push_back(pointwise ? 1 : pick(generator, {1, 2, 3, 3, 3, 5, 7}));
        stride.push_back(pick(generator, {1, 1, 2, 2, 3, 4, 6}));
        dilation.push_back(pick(generator, {1, 1, 1, 2, 3}));
        left.push_back(pointwise ? 0 : pick(generator, {0, 1, 1, 2, 3}));
        right.push_back(pointwise ? 0 : pick(generator, {0, 1, 1, 2}));
        // the dilated filter fits
        const int reach = (filter.back() - 1) * dilation.back() + 1;
        input.push_back(reach + pick(generator, {0, 1, 3, 7, 12, 14, 28}));
    }
    const int channels[] = {1, 2, 3, 4, 8, 12, 16, 24, 32, 40, 64, 72, 96, 128, 130, 192, 256, 512};
    const int G          = pick(generator, {1, 1, 2, 3, 4, 8, 32});
    const int N          = pick(generator, {1, 1, 2, 3, 8, 16});
    const int K          = channels[generator() % std::size(channels)];
    const int C          = channels[generator() % std::size(channels)];
    return {NDim, G, N, K, C, filter, input, stride, dilation, left, right};
}

// A line for the kernel: its name, width of its accesses, threads, and its own name. Then a line
// for each problem: what the kernel says, what its launcher says, the grid, the sizes of its
// product.
template <typename Launcher>
void print(const char* name, int problems)
{
    using kernel   = typename Launcher::Kernel;
    using pipeline = typename kernel::GemmPipeline;
    std::printf("%s widths %d %d %d threads %d name %s\n",
                name,
                static_cast<int>(pipeline::GetVectorSizeA()),
                static_cast<int>(pipeline::GetVectorSizeB()),
                static_cast<int>(kernel::EpiloguePipeline::GetVectorSizeC()),
                static_cast<int>(kernel::kBlockSize),
                kernel::GetName().c_str());
    std::mt19937 generator(2025);
    for(int i = 0; i < problems; ++i)
    {
        const auto param  = random_problem<Launcher::NDimSpatial>(generator);
        const int k_batch = pick(generator, {1, 1, 1, 2, 3, 4, 8, 130});
        const typename Launcher::HostArgs args(param, nullptr, nullptr, {}, nullptr, k_batch);
        const auto kargs = kernel::MakeKernelArgs(args);
        const dim3 grid  = kernel::GridSize(kargs);
        std::printf("%d%d %u %u %u",
                    Launcher::kernel_supports(param, k_batch),
                    Launcher::is_supported(param, k_batch),
                    grid.x,
                    grid.y,
                    grid.z);
        if constexpr(requires { kargs.GemmK; })
        {
            std::printf(" %d %d %d", kargs.GemmM, kargs.GemmN, kargs.GemmK);
        }
        std::printf(" %d\n", kargs.GemmBatch);
    }
}

} // namespace answers
