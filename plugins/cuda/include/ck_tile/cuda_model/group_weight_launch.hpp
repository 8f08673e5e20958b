// SPDX-License-Identifier: MIT
// Backward weight for groups of few channels; compiled once for all kernels of a library.
#pragma once

#include <cuda_runtime.h>

#include "ck_tile/host_model/backward_weight.hpp"

namespace ck_tile::cuda_model {

// Starts kernels that write all of the result, from as many parts as the call has, and returns
// true; false, and nothing is started, if the problem or its types are none of theirs.
bool launch_group_weight(cudaStream_t stream,
                         const host_model::backward_weight_call& call,
                         host_model::data_type operands,
                         host_model::data_type result);

} // namespace ck_tile::cuda_model
