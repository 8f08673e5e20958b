// SPDX-License-Identifier: MIT
// Repeated runs of kernels that add partial results: the host model adds them in a fixed order, so
// every run gives the same bits, whatever the threads do. Real numbers, so that another order
// shows.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "check.hpp"
#include "kernel_family.hpp"
#include "reference.hpp"

namespace {

using namespace test;
using lengths = std::vector<ck_tile::long_index_t>;

constexpr int repeats = 20, workers = 7;

template <typename T>
std::vector<T> random_values(std::size_t count, unsigned seed)
{
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<T> values(count);
    for(T& value : values) { value = T(uniform(generator)); }
    return values;
}

// Backward weight, or backward data if Data.
template <typename Family, typename T, bool Data>
void check(const ck_tile::conv::ConvParam& param, index_t splits)
{
    const conv_shape shape = ck_tile::host_model::make_conv_shape(param);
    auto in                = random_values<T>(input_size(shape), 1);
    auto wei               = random_values<T>(weight_size(shape), 2);
    auto out               = random_values<T>(output_size(shape), 3);
    std::vector<T>& result = Data ? in : wei;
    std::vector<T> first;
    for(int i = 0; i < repeats; ++i)
    {
        std::fill(result.begin(), result.end(), T(std::nanf("")));
        Family::launch(param, in.data(), wei.data(), out.data(), splits);
        if(i == 0) { first = result; }
        CHECK_MESSAGE(std::memcmp(first.data(), result.data(), result.size() * sizeof(T)) == 0,
                      Family::kernel::GetInstanceString()
                          << ": run " << i << " differs from the first with " << splits
                          << " splits");
    }
}

template <typename T>
void check_type()
{
    ck_tile::host_model::set_worker_count(workers);
    constexpr kernel_config small{.tile{16, 16, 8}, .waves{1, 1, 1}, .vectors{1, 1, 2}};
    const lengths one{1, 1}, filter{3, 3}, image{13, 11};
    const ck_tile::conv::ConvParam param(2, 2, 4, 16, 6, filter, image, one, one, one, one);
    for(const index_t splits : {1, 3, 8, 32})
    {
        check<backward_weight_family<T, 2, small>, T, false>(param, splits);
        check<two_stage_family<T, 2, small>, T, false>(param, splits);
        check<backward_data_family<T, 2, small>, T, true>(param, splits);
        using enum ck_tile::StreamKReductionStrategy;
        check<stream_k_family<T, 2, small, Tree, false>, T, false>(param, 10 * splits);
        check<stream_k_family<T, 2, small, Linear, true>, T, false>(param, 10 * splits);
    }
}

TEST_CASE("fp32 kernels give the same bits every time") { check_type<float>(); }
TEST_CASE("fp16 kernels give the same bits every time") { check_type<ck_tile::half_t>(); }
TEST_CASE("bf16 kernels give the same bits every time") { check_type<ck_tile::bf16_t>(); }

TEST_CASE("a block that fails does not leave others waiting for their turn")
{
    ck_tile::host_model::set_worker_count(workers);
    const auto block = [](const void*, const ck_tile::host_model::block_position& position) {
        if(position.z == 1 && position.x == 2) { throw std::runtime_error("a block failed"); }
        const ck_tile::host_model::ordered_turn turn(position);
    };
    CHECK_THROWS_AS(ck_tile::host_model::run_grid(dim3(4, 2, 6), block, nullptr),
                    std::runtime_error);
}

} // namespace
