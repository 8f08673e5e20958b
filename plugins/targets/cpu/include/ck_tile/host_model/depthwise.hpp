// SPDX-License-Identifier: MIT
// Depthwise forward convolution: one channel per group, no GEMM.
#pragma once

#include <cstdint>
#include <string>

#include "ck_tile/core/config.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::host_model {

// Pairs are (height, width).
struct depthwise_facts
{
    int num_dim_spatial;
    data_type in_type, wei_type, out_type;
    bf16_rounding_mode rounding;
    int block_size;
    int tile[2], filter[2], stride[2], dilation[2], pad[2];
    int batch; // images per block
    int sub_tile[2];
    int in_vector, out_vector;

    constexpr int lds_rows() const { return tile[0] * stride[0] + 2 * pad[0]; }
    constexpr int lds_columns() const { return tile[1] * stride[1] + 2 * pad[1]; }
    // Tiles that a block computes at once, each with the threads of its sub-tiles.
    constexpr int tiles_at_once() const
    {
        return block_size / (((tile[0] + sub_tile[0] - 1) / sub_tile[0]) *
                             ((tile[1] + sub_tile[1] - 1) / sub_tile[1]));
    }
    // Local memory of the staged input tiles, in bytes.
    constexpr int smem_bytes() const
    {
        const auto round_up = [this](int value) {
            return (value + in_vector - 1) / in_vector * in_vector;
        };
        const int aligned = round_up(lds_columns());
        const int needed  = lds_columns() + pad[1];
        const int row     = aligned >= needed ? aligned : round_up(needed);
        return lds_rows() * row * tiles_at_once() * size_of(in_type);
    }
};

struct depthwise_call
{
    conv_shape shape;
    const void* in;  // N(G,C=1)HW
    const void* wei; // G(K=1)(C=1)YX
    void* out;       // N(G,K=1)HW
};

CK_TILE_HOST_MODEL_API bool supports_depthwise(const depthwise_facts& facts,
                                               const conv_shape& shape);

// Block (group, batch): all output tiles of facts.batch images of one channel.
CK_TILE_HOST_MODEL_API void run_depthwise_block(const depthwise_facts& facts,
                                                const depthwise_call& call,
                                                const block_position& block);

CK_TILE_HOST_MODEL_API std::string instance_string(const depthwise_facts& facts);
CK_TILE_HOST_MODEL_API std::string kernel_name(const depthwise_facts& facts);

} // namespace ck_tile::host_model
