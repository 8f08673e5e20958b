// SPDX-License-Identifier: MIT
// Copies of operands and results; compiled once for all kernels of a library.
#pragma once

#include <cuda_runtime.h>

#include "ck_tile/cuda_model/rearrangement_params.hpp"

namespace ck_tile::cuda_model {

struct widened_operands
{ const void *first, *second; };

// Copies last until the next ones of their kind. What is not copied is returned as it is.
widened_operands
copy_widened(cudaStream_t stream, const rows_to_widen& first, const rows_to_widen& second);
const void* copy_columns(cudaStream_t stream,
                         const host_model::conv_shape& shape,
                         bool backward_data,
                         const void* image,
                         std::int64_t wide);
const void* copy_flipped_weights(cudaStream_t stream,
                                 const host_model::conv_shape& shape,
                                 const operand_rearrangement& plan,
                                 const void* weights);
const void* copy_weight_phases(cudaStream_t stream,
                               const host_model::conv_shape& shape,
                               const operand_rearrangement& plan,
                               const void* weights);
// Memory for the result of a plan of phases, and the copy of it to the image.
void* phases_of_result(const operand_rearrangement& plan);
void copy_image_phases(cudaStream_t stream,
                       const host_model::conv_shape& shape,
                       const operand_rearrangement& plan,
                       const void* phases,
                       void* image);

} // namespace ck_tile::cuda_model
