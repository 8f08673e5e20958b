// SPDX-License-Identifier: MIT
// From the template arguments of a plain GEMM kernel to plain_gemm_facts.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "ck_tile/core/numeric/integral_constant.hpp"
#include "ck_tile/host_model/gemm_level.hpp"
#include "ck_tile/host_model/plain_gemm_facts.hpp"
#include "ck_tile/ops/common/tensor_layout.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"

namespace ck_tile::host_model {

template <typename Layout>
inline constexpr bool is_row_major = std::is_same_v<Layout, tensor_layout::gemm::RowMajor>;

// Found out by calling it: headers of July 2025 bring no such operation, kernels define their own.
template <typename Operation, std::size_t... I>
constexpr d_operation d_operation_of(std::index_sequence<I...>)
{
    if constexpr(sizeof...(I) > 0)
    {
        float result = 0;
        Operation{}(result, 3.0f, static_cast<float>(I + 5)...);
        if(result == (3.0f + ... + static_cast<float>(I + 5))) { return d_operation::add; }
        if(result == (3.0f * ... * static_cast<float>(I + 5))) { return d_operation::multiply; }
    }
    return d_operation::none;
}

template <typename Epilogue, std::size_t... I>
constexpr void describe_d_tensors(plain_gemm_facts& facts, std::index_sequence<I...>)
{
    using types   = typename Epilogue::DsDataType::base;
    using layouts = typename Epilogue::DsLayout::base;
    ((facts.d_types[I]       = data_type_of<std::tuple_element_t<I, types>>::value,
      facts.d_row_major[I]   = is_row_major<std::tuple_element_t<I, layouts>>,
      facts.vector_size_d[I] = Epilogue::GetVectorSizeD(number<static_cast<index_t>(I)>{})),
     ...);
}

template <typename Pipeline>
constexpr loop_end loop_end_of(index_t num_loop)
{ return {Pipeline::BlockHasHotloop(num_loop), Pipeline::GetBlockLoopTailNum(num_loop)}; }

template <typename TilePartitioner, typename Pipeline, typename Epilogue>
constexpr plain_gemm_facts make_plain_gemm_facts()
{
    using shape = typename Pipeline::BlockGemmShape;
    static_assert(TilePartitioner::MPerBlock == shape::kM &&
                      TilePartitioner::NPerBlock == shape::kN &&
                      TilePartitioner::KPerBlock == shape::kK,
                  "the partitioner and the pipeline have different block tiles");
    constexpr auto d_count = static_cast<int>(Epilogue::DsDataType::size());
    static_assert(d_count <= most_d_tensors, "too many D tensors");
    constexpr d_operation operation = d_operation_of<typename Epilogue::CDElementwise>(
        std::make_index_sequence<std::size_t{d_count}>{});
    static_assert(operation != d_operation::none ||
                      (d_count == 0 &&
                       std::is_same_v<typename Epilogue::CDElementwise, element_wise::PassThrough>),
                  "only PassThrough without D tensors, sums and products with them are modelled");
    static_assert(is_row_major<typename Epilogue::ELayout> ==
                      is_row_major<typename Pipeline::CLayout>,
                  "the epilogue and the pipeline have different layouts of the result");

    plain_gemm_facts facts{};
    facts.m_per_block = shape::kM;
    facts.n_per_block = shape::kN;
    facts.k_per_block = shape::kK;
    facts.m_waves     = shape::BlockWarps::at(0);
    facts.n_waves     = shape::BlockWarps::at(1);
    facts.k_waves     = shape::BlockWarps::at(2);
    facts.m_mma       = shape::WarpTile::at(0);
    facts.n_mma       = shape::WarpTile::at(1);
    facts.k_mma       = shape::WarpTile::at(2);
    facts.block_size  = Pipeline::BlockSize;

    facts.a_row_major = is_row_major<typename Pipeline::ALayout>;
    facts.b_row_major = is_row_major<typename Pipeline::BLayout>;
    facts.e_row_major = is_row_major<typename Epilogue::ELayout>;
    facts.pad_m       = Pipeline::kPadM;
    facts.pad_n       = Pipeline::kPadN;
    facts.pad_k       = Pipeline::kPadK;

    facts.a_type           = data_type_of<typename Pipeline::ADataType>::value;
    facts.b_type           = data_type_of<typename Pipeline::BDataType>::value;
    facts.accumulator_type = data_type_of<typename Epilogue::AccDataType>::value;
    facts.e_type           = data_type_of<typename Epilogue::ODataType>::value;
    static_assert(is_integer(data_type_of<typename Epilogue::AccDataType>::value) ==
                          is_integer(data_type_of<typename Pipeline::ADataType>::value) &&
                      is_integer(data_type_of<typename Epilogue::AccDataType>::value) ==
                          is_integer(data_type_of<typename Pipeline::BDataType>::value) &&
                      is_integer(data_type_of<typename Epilogue::AccDataType>::value) ==
                          is_integer(data_type_of<typename Epilogue::ODataType>::value),
                  "integers and floating point do not mix");
    facts.rounding = default_bf16_rounding_mode;

    facts.vector_size_a = Pipeline::GetVectorSizeA();
    facts.vector_size_b = Pipeline::GetVectorSizeB();
    facts.vector_size_c = Epilogue::GetVectorSizeC();

    facts.d_count   = d_count;
    facts.operation = operation;
    describe_d_tensors<Epilogue>(facts, std::make_index_sequence<std::size_t{d_count}>{});

    facts.pipeline_class      = Pipeline::facts.class_name;
    facts.scheduler           = scheduler_name(Pipeline::Scheduler);
    facts.epilogue            = Epilogue::name;
    facts.accumulators        = Pipeline::facts.accumulators;
    facts.min_loops_per_split = Pipeline::facts.min_loops_per_split;
    facts.persistent  = Pipeline::UsePersistentKernel && gemm_level::can_be_persistent<Pipeline>;
    facts.deals_steps = gemm_level::deals_steps;
    facts.overruns    = gemm_level::overruns<Pipeline>;

    const bool turned       = !facts.a_row_major || facts.b_row_major;
    facts.first_block_only  = gemm_level::first_block_only_of_turned<Pipeline> && turned;
    facts.turns_last_of_two = gemm_level::turns_last_of_two<Pipeline> && turned;
    facts.store             = gemm_level::store<Epilogue>;
    // The basic pipeline has no tail.
    if(gemm_level::fixed_tails && !Pipeline::facts.basic)
    {
        facts.fixed_tail = &loop_end_of<Pipeline>;
    }
    return facts;
}

} // namespace ck_tile::host_model
