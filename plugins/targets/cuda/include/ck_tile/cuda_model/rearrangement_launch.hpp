// SPDX-License-Identifier: MIT
// Copies of operands and results; compiled once for all kernels of a library.
#pragma once

#include <cstddef>

#include <cuda_runtime.h>

#include "ck_tile/cuda_model/operand_rearrangement.hpp"

namespace ck_tile::cuda_model {

// Rows of so many elements of 16 bits, `stride` apart, that become rows of `wide`, a multiple of
// copied_vector; none if there are no rows.
struct rows_to_widen
{
    const void* from    = nullptr;
    std::int64_t rows   = 0;
    std::int64_t width  = 0;
    std::int64_t stride = 0;
    std::int64_t wide   = 0;
};

struct widened_operands
{ const void *first, *second; };

// Copies last until the next ones of their kind.

// The copies; what is not copied is returned as it is.
widened_operands
copy_widened(cudaStream_t stream, const rows_to_widen& first, const rows_to_widen& second);
// Windows of the image that is read as rows of `wide` elements.
const void* copy_columns(cudaStream_t stream,
                         const host_model::conv_shape& shape,
                         bool backward_data,
                         const void* image,
                         std::int64_t wide);
// Weights of the problem for columns of output gradients.
const void* copy_flipped_weights(cudaStream_t stream,
                                 const host_model::conv_shape& shape,
                                 const operand_rearrangement& plan,
                                 const void* weights);
// Weights of the problem for the shape that a plan of phases has.
const void* copy_weight_phases(cudaStream_t stream,
                               const host_model::conv_shape& shape,
                               const operand_rearrangement& plan,
                               const void* weights);
// Memory for the result of that shape.
void* phases_of_result(const operand_rearrangement& plan);
// That result, where the image wants it.
void copy_image_phases(cudaStream_t stream,
                       const host_model::conv_shape& shape,
                       const operand_rearrangement& plan,
                       const void* phases,
                       void* image);

} // namespace ck_tile::cuda_model
