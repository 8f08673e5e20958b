// SPDX-License-Identifier: MIT
// Copies of operands into the form that engine W takes, and of results out of it.
#include "ck_tile/cuda_model/rearranged_operands.hpp"

#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/rearrangement_launch.hpp"
#include "ck_tile/cuda_model/workspace.hpp"

namespace ck_tile::cuda_model {

namespace {

struct image_copy;
struct other_copy;
struct result_phases;

unsigned blocks_of(std::int64_t threads)
{ return static_cast<unsigned>((threads + rearranging_threads - 1) / rearranging_threads); }

// Memory for so many elements of 16 bits.
template <typename User>
void* room_for(std::int64_t elements)
{
    return elements == 0 ? nullptr
                         : impl::workspace_of<User>(static_cast<std::size_t>(elements) * 2);
}

template <typename Params>
void start_copy(cudaStream_t stream, void (*kernel)(Params), std::int64_t threads, const Params& p)
{
    if(threads == 0) { return; }
    kernel<<<blocks_of(threads), rearranging_threads, 0, stream>>>(p);
    hip_check_error(cudaGetLastError());
}

} // namespace

widened_operands
copy_widened(cudaStream_t stream, const rows_to_widen& first, const rows_to_widen& second)
{
    two_widenings both{};
    both.first                = make_row_widening(first, room_for<image_copy>(first.elements()));
    both.second               = make_row_widening(second, room_for<other_copy>(second.elements()));
    both.first_blocks         = blocks_of(both.first.pieces);
    const std::int64_t blocks = both.first_blocks + blocks_of(both.second.pieces);
    start_copy(stream, &widen_rows, blocks * rearranging_threads, both);
    return {first.rows > 0 ? both.first.to : first.from,
            second.rows > 0 ? both.second.to : second.from};
}

const void* copy_columns(cudaStream_t stream,
                         const host_model::conv_shape& shape,
                         bool backward_data,
                         const void* image,
                         std::int64_t wide)
{
    void* to                 = room_for<image_copy>(column_elements(shape, backward_data, wide));
    const column_gathering p = make_column_gathering(shape, backward_data, image, to, wide);
    const bool flat          = shape.filter[0] == 1 && shape.input[0] == 1 && shape.output[0] == 1;
    const bool runs          = p.run.divisor >= copied_vector;
    const auto kernel        = flat ? (runs ? gather_columns<2, true> : gather_columns<2, false>)
                                    : (runs ? gather_columns<3, true> : gather_columns<3, false>);
    start_copy(stream, kernel, p.pieces, p);
    return to;
}

const void* copy_flipped_weights(cudaStream_t stream,
                                 const host_model::conv_shape& shape,
                                 const operand_rearrangement& plan,
                                 const void* weights)
{
    void* to            = room_for<other_copy>(plan.shape.K * plan.other_channels);
    const weight_flip p = make_weight_flip(shape, plan, weights, to);
    start_copy(stream, &flip_weights, p.elements, p);
    return to;
}

const void* copy_weight_phases(cudaStream_t stream,
                               const host_model::conv_shape& shape,
                               const operand_rearrangement& plan,
                               const void* weights)
{
    void* to =
        room_for<other_copy>(shape.K * host_model::volume(plan.shape.filter) * plan.other_channels);
    const weight_phases p = make_weight_phases(shape, plan, weights, to);
    start_copy(stream, &gather_weight_phases, p.elements, p);
    return to;
}

void* phases_of_result(const operand_rearrangement& plan)
{
    const host_model::conv_shape& s = plan.shape;
    return room_for<result_phases>(s.N * host_model::volume(s.input) * s.C);
}

void copy_image_phases(cudaStream_t stream,
                       const host_model::conv_shape& shape,
                       const operand_rearrangement& plan,
                       const void* phases,
                       void* image)
{
    const image_phases p = make_image_phases(shape, plan, phases, image);
    start_copy(stream, &spread_image_phases, p.elements, p);
}

} // namespace ck_tile::cuda_model
