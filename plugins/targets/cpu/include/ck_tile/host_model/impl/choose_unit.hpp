// SPDX-License-Identifier: MIT
// The operands of each kind of kernel, for the choice of what multiplies them.
#pragma once

#include <cstdint>

#include "ck_tile/host_model/backward_data.hpp"
#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/forward.hpp"
#include "ck_tile/host_model/impl/operand_scan.hpp"
#include "ck_tile/host_model/plain_gemm.hpp"

namespace ck_tile::host_model::impl {

// Tensors of convolutions have no gaps.
inline operand_lines whole_tensor(const void* data, std::int64_t size)
{ return {data, 1, size, size, 1, 0}; }

inline operand_lines input_operand(const conv_shape& s, const void* data)
{ return whole_tensor(data, s.N * volume(s.input) * s.G * s.C); }

inline operand_lines weight_operand(const conv_shape& s, const void* data)
{ return whole_tensor(data, s.G * s.K * volume(s.filter) * s.C); }

inline operand_lines output_operand(const conv_shape& s, const void* data)
{ return whole_tensor(data, s.N * volume(s.output) * s.G * s.K); }

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API product_unit choose_unit(const kernel_facts& facts, const forward_call& call)
{
    return choose_product_unit(facts.a_type,
                               facts.b_type,
                               impl::input_operand(call.shape, call.in),
                               impl::weight_operand(call.shape, call.wei),
                               call.gemm.k);
}

CK_TILE_HOST_MODEL_API product_unit choose_unit(const kernel_facts& facts,
                                                const backward_data_call& call)
{
    return choose_product_unit(facts.a_type,
                               facts.b_type,
                               impl::output_operand(call.shape, call.out),
                               impl::weight_operand(call.shape, call.wei),
                               call.gemm.k);
}

CK_TILE_HOST_MODEL_API product_unit choose_unit(const kernel_facts& facts,
                                                const backward_weight_call& call)
{
    return choose_product_unit(facts.a_type,
                               facts.b_type,
                               impl::output_operand(call.shape, call.out),
                               impl::input_operand(call.shape, call.in),
                               call.gemm.k);
}

CK_TILE_HOST_MODEL_API product_unit choose_unit(const plain_gemm_facts& facts,
                                                const plain_gemm_call& call)
{
    const auto operand = [&](const void* data,
                             std::int64_t lines,
                             std::int64_t length,
                             std::int64_t stride,
                             std::int64_t batch_stride) {
        return operand_lines{data, lines, length, stride, call.batch, batch_stride};
    };
    const bool a_row = facts.a_row_major, b_row = facts.b_row_major;
    return choose_product_unit(facts.a_type,
                               facts.b_type,
                               operand(call.a,
                                       a_row ? call.m : call.k,
                                       a_row ? call.k : call.m,
                                       call.stride_a,
                                       call.batch_stride_a),
                               operand(call.b,
                                       b_row ? call.k : call.n,
                                       b_row ? call.n : call.k,
                                       call.stride_b,
                                       call.batch_stride_b),
                               call.k);
}

} // namespace ck_tile::host_model
