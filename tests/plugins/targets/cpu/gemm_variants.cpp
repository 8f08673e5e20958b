// SPDX-License-Identifier: MIT
// Products with D tensors and batches of products on random problems against the definition.
//
// Data are small integers, so all sums are exact. What lies between rows and between matrices is
// NaN in operands and must stay as it was in the result.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "gemm_family.hpp"
#include "gemm_matrix.hpp"

namespace {

using namespace test;
using ck_tile::half_t;
using ck_tile::host_model::unmet_requirements;
using row = ck_tile::tensor_layout::gemm::RowMajor;

std::mt19937 generator(2026);

index_t between(index_t least, index_t most)
{ return std::uniform_int_distribution<index_t>(least, most)(generator); }

// Of the kernel's own: headers of July 2025 bring none.
struct own_sum
{
    template <typename E, typename C, typename... Ds>
    constexpr void operator()(E& e, const C& c, const Ds&... ds) const
    {
        e = ck_tile::type_convert<E>(
            (ck_tile::type_convert<float>(c) + ... + ck_tile::type_convert<float>(ds)));
    }
};

struct own_product
{
    template <typename E, typename C, typename... Ds>
    constexpr void operator()(E& e, const C& c, const Ds&... ds) const
    {
        e = ck_tile::type_convert<E>(
            (ck_tile::type_convert<float>(c) * ... * ck_tile::type_convert<float>(ds)));
    }
};

template <typename T>
void fill(matrix<T>& matrix, index_t rows, index_t columns, int most)
{
    for(index_t i = 0; i < rows; ++i)
    {
        for(index_t j = 0; j < columns; ++j)
        {
            matrix.at(i, j) = converted<T>(between(-most, most));
        }
    }
}

template <typename A, typename B>
double product_at(matrix<A>& a, matrix<B>& b, index_t i, index_t j, index_t depth)
{
    double sum = 0;
    for(index_t k = 0; k < depth; ++k) { sum += as_double(a.at(i, k)) * as_double(b.at(k, j)); }
    return sum;
}

template <typename Kernel, typename Args>
void run(const Args& kargs, dim3 grid)
{
    REQUIRE(Kernel::IsSupportedArgument(kargs));
    ck_tile::launch_kernel(ck_tile::stream_config{},
                           ck_tile::make_kernel<1>(Kernel{}, grid, Kernel::BlockSize(), 0, kargs));
}

// E = A * B combined with a D tensor of E's type and one in float.
template <typename T, typename Operation, gemm_config C>
void check_d(bool adds)
{
    using types    = gemm_types<T, T, float, T, C>;
    using epilogue = typename types::
        template shuffle<Operation, ck_tile::tuple<T, float>, ck_tile::tuple<row, row>>;
    using kernel = ck_tile::
        GemmKernelMultiD<typename types::partitioner, typename types::some_pipeline, epilogue>;
    for(int round = 0; round < rounds(4); ++round)
    {
        const index_t m = C.a_row ? between(1, 90) : 8 * between(1, 11), n = 8 * between(1, 12);
        const index_t k = 8 * between(2, 9);
        const auto gap  = [] { return 8 * between(0, 2); };
        const T nan     = converted<T>(std::nan(""));
        matrix<T> a(m, k, C.a_row, (C.a_row ? k : m) + gap(), nan);
        matrix<T> b(k, n, C.b_row, (C.b_row ? n : k) + gap(), nan);
        matrix<T> d0(m, n, true, n + gap(), nan), e(m, n, true, n + gap(), converted<T>(77));
        matrix<float> d1(m, n, true, n + gap(), std::nanf(""));
        fill(a, m, k, 1);
        fill(b, k, n, 1);
        fill(d0, m, n, 2);
        fill(d1, m, n, 2);
        const auto arguments = [&](index_t k_batch, index_t stride_d) {
            return kernel::MakeKernelArgs({a.data.data(),
                                           b.data.data(),
                                           {d0.data.data(), d1.data.data()},
                                           e.data.data(),
                                           k_batch,
                                           m,
                                           n,
                                           k,
                                           a.stride,
                                           b.stride,
                                           {stride_d, d1.stride},
                                           e.stride});
        };
        if(k >= 32)
        {
            CHECK(!kernel::IsSupportedArgument(arguments(2, d0.stride)));
            CHECK(unmet_requirements().front().condition == "split-k");
        }
        for(const index_t wrong : {n - 8, d0.stride + 1})
        {
            CHECK(!kernel::IsSupportedArgument(arguments(1, wrong)));
            CHECK(unmet_requirements().front().condition == "stride-d");
        }
        run<kernel>(arguments(1, d0.stride), kernel::GridSize(m, n, 1));
        for(index_t i = 0; i < m; ++i)
        {
            for(index_t j = 0; j < n; ++j)
            {
                const double c = product_at(a, b, i, j, k);
                const double x = as_double(d0.at(i, j)), y = as_double(d1.at(i, j));
                REQUIRE(as_double(e.at(i, j)) == (adds ? c + x + y : c * x * y));
            }
        }
        for(std::size_t at = 0; at < e.data.size(); ++at)
        {
            if(static_cast<index_t>(at % static_cast<std::size_t>(e.stride)) >= n)
            {
                REQUIRE(as_double(e.data[at]) == 77.0);
            }
        }
    }
}

// Where a matrix of a batch lies, in memory of all of them.
template <typename T>
struct batch
{
    batch(index_t count, index_t rows, index_t columns, bool row_major, index_t stride, T gap)
        : one(rows, columns, row_major, stride, gap),
          distance(static_cast<index_t>(one.data.size()) + (8 - one.run % 8) % 8 +
                   8 * between(0, 4)),
          gap_value(gap)
    {
        // A distance is a multiple of what a thread stores at once.
        distance += (8 - distance % 8) % 8;
        data.assign(static_cast<std::size_t>(count - 1) * static_cast<std::size_t>(distance) +
                        one.data.size(),
                    gap);
    }

    matrix<T> get(index_t number) const
    {
        matrix<T> found = one;
        const auto from = data.begin() + static_cast<std::ptrdiff_t>(number) * distance;
        found.data.assign(from, from + static_cast<std::ptrdiff_t>(one.data.size()));
        return found;
    }

    void put(index_t number, const matrix<T>& values)
    {
        std::copy(values.data.begin(),
                  values.data.end(),
                  data.begin() + static_cast<std::ptrdiff_t>(number) * distance);
    }

    matrix<T> one;
    index_t distance;
    T gap_value;
    std::vector<T> data;
};

template <typename T, typename E, bool Adds, gemm_config C>
void check_batch()
{
    using acc        = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;
    using types      = gemm_types<T, T, acc, E, C>;
    using kernel     = ck_tile::BatchedGemmKernel<typename types::partitioner,
                                                  typename types::some_pipeline,
                                                  typename types::template some_epilogue<Adds>>;
    const double nan = std::is_integral_v<T> ? 99.0 : std::nan("");
    for(int round = 0; round < rounds(4); ++round)
    {
        const index_t parts = Adds ? 2 : 1, count = between(1, 5);
        const index_t m = C.a_row ? between(1, 90) : 16 * between(1, 5), n = 16 * between(1, 6);
        const index_t k = C.tile.k * parts * between(1, 3);
        const auto gap  = [] { return 16 * between(0, 2); };
        batch<T> a(count, m, k, C.a_row, (C.a_row ? k : m) + gap(), converted<T>(nan));
        batch<T> b(count, k, n, C.b_row, (C.b_row ? n : k) + gap(), converted<T>(nan));
        // Splits are added to what is there.
        batch<E> e(count, m, n, true, n + gap(), converted<E>(77));
        for(index_t number = 0; number < count; ++number)
        {
            matrix<T> one = a.get(number), two = b.get(number);
            matrix<E> zero = e.get(number);
            fill(one, m, k, 1);
            fill(two, k, n, 1);
            if(Adds) { fill(zero, m, n, 0); }
            a.put(number, one);
            b.put(number, two);
            e.put(number, zero);
        }
        const auto arguments = [&](index_t distance_e, index_t products) {
            return kernel::MakeKernelArgs(ck_tile::BatchedGemmHostArgs(a.data.data(),
                                                                       b.data.data(),
                                                                       e.data.data(),
                                                                       parts,
                                                                       m,
                                                                       n,
                                                                       k,
                                                                       a.one.stride,
                                                                       b.one.stride,
                                                                       e.one.stride,
                                                                       a.distance,
                                                                       b.distance,
                                                                       distance_e,
                                                                       products));
        };
        const auto refused = [&](const auto& kargs, const char* condition) {
            CHECK(!kernel::IsSupportedArgument(kargs));
            CHECK(unmet_requirements().front().condition == condition);
        };
        const auto extent = static_cast<index_t>(e.one.data.size());
        if(count > 1)
        {
            refused(arguments(extent - extent % 8 - 8, count), "stride-e");
            refused(arguments(e.distance + 1, count), "stride-e");
        }
        refused(arguments(e.distance, 0), "problem");
        refused(arguments(e.distance, 65536), "index-range");
        run<kernel>(arguments(e.distance, count), kernel::GridSize(m, n, parts, count));
        for(index_t number = 0; number < count; ++number)
        {
            matrix<T> one = a.get(number), two = b.get(number);
            matrix<E> found = e.get(number);
            for(index_t i = 0; i < m; ++i)
            {
                for(index_t j = 0; j < n; ++j)
                {
                    REQUIRE(as_double(found.at(i, j)) == product_at(one, two, i, j, k));
                    found.at(i, j) = e.gap_value;
                }
            }
            e.put(number, found);
        }
        // With the elements gone, nothing but what was there is left.
        for(const E value : e.data) { REQUIRE(as_double(value) == 77.0); }
    }
}

constexpr gemm_config rcr{.pad_m = true, .pad_n = true, .pad_k = true};
constexpr gemm_config crr{
    .a_row = false, .b_row = true, .pad_m = true, .pad_n = true, .pad_k = true};

TEST_CASE("D tensors are added to products")
{
    check_d<half_t, own_sum, rcr>(true);
    check_d<float, ck_tile::element_wise::MultiDAdd, crr>(true);
}

TEST_CASE("D tensors are multiplied with products")
{
    check_d<half_t, own_product, crr>(false);
    check_d<float, ck_tile::element_wise::MultiDMultiply, rcr>(false);
}

TEST_CASE("each product of a batch is written to its own matrix")
{
    check_batch<half_t, half_t, false, rcr>();
    check_batch<float, float, false, crr>();
}

TEST_CASE("the parts of each product of a batch are added to what is there")
{
    check_batch<half_t, half_t, true, crr>();
    check_batch<std::int8_t,
                std::int32_t,
                true,
                gemm_config{.pipeline = kind::mem, .pad_n = true, .pad_k = true}>();
}

} // namespace
