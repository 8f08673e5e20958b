// SPDX-License-Identifier: MIT
// Copies of operands and results; compiled once for all kernels of a library.
#pragma once

#include <cstddef>

#include <cuda_runtime.h>

#include "ck_tile/cuda_model/operand_rearrangement.hpp"

namespace ck_tile::cuda_model {

// Return the copy, which lasts until the next one of its kind.

// `rows` rows of so many elements of 16 bits, `wide` a multiple of copied_vector. Two users at a
// time: the image, and the other operand.
const void* copy_widened(cudaStream_t stream,
                         const void* from,
                         std::int64_t rows,
                         std::int64_t width,
                         std::int64_t wide,
                         bool image);
// Windows of the problem's image as rows of `wide` elements.
const void* copy_columns(cudaStream_t stream,
                         const host_model::conv_shape& shape,
                         const void* image,
                         std::int64_t wide);
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
