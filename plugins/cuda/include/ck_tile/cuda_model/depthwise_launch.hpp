// SPDX-License-Identifier: MIT
// Convolutions of groups with one channel; compiled once for all kernels of a library.
#pragma once

#include <cuda_runtime.h>

#include "ck_tile/host_model/backward_data.hpp"
#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/forward.hpp"

namespace ck_tile::cuda_model {

// Starts kernels that write all of the result, and returns true; false, and nothing is started, if
// the problem, its types or the device are none of theirs.
bool launch_depthwise_kernels(cudaStream_t stream,
                              const host_model::forward_call& call,
                              host_model::data_type operands,
                              host_model::data_type result);
bool launch_depthwise_kernels(cudaStream_t stream,
                              const host_model::backward_data_call& call,
                              host_model::data_type operands,
                              host_model::data_type result);
bool launch_depthwise_kernels(cudaStream_t stream,
                              const host_model::backward_weight_call& call,
                              host_model::data_type operands,
                              host_model::data_type result);

} // namespace ck_tile::cuda_model
