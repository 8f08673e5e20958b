// SPDX-License-Identifier: MIT
#pragma once

namespace ck_tile::cuda_model {

// What a block computes.
struct tile_place
{
    int first_row, first_column;
    int first_group, first_image;
    int k_begin, k_end;
    int remainder[3]; // backward data
    int first_tap;    // of those that the masks of rows are about
};

} // namespace ck_tile::cuda_model
