// SPDX-License-Identifier: MIT
// The number of parts of the reduction that backward weight has here where none is asked for.
#pragma once

#include "ck_tile/cuda_model/split_choice.hpp"
#include "ck_tile/host_model/backward_weight.hpp"

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API std::int64_t
automatic_k_batch(const kernel_facts& facts, const conv_shape& shape, const gemm_sizes& gemm)
{ return cuda_model::choose_parts(facts, shape, gemm); }

} // namespace ck_tile::host_model
