// SPDX-License-Identifier: MIT
// What a forward kernel computes for a problem.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ck_tile/host_model/forward.hpp"
#include "ck_tile/host_model/impl/support.hpp"
#include "ck_tile/host_model/split_n.hpp"

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API forward_call make_forward_call(const kernel_facts& facts,
                                                      const conv_shape& shape,
                                                      std::int64_t k_batch)
{
    using namespace impl;
    forward_call call{};
    call.shape            = shape;
    call.k_batch          = k_batch;
    call.images_per_split = shape.N >= 1 ? images_per_split(shape) : 1;
    call.image_splits     = (shape.N + call.images_per_split - 1) / call.images_per_split;

    const std::int64_t merged = facts.groups_to_merge;
    const auto size           = [](std::int64_t value) { return std::max<std::int64_t>(value, 0); };
    const auto lengths        = [&](const std::int64_t (&l)[3]) {
        return saturated_product(size(l[0]), size(l[1]), size(l[2]));
    };
    call.gemm.m     = saturated_product(call.images_per_split, lengths(shape.output), merged);
    call.gemm.n     = saturated_product(size(shape.K), merged);
    call.gemm.k     = saturated_product(lengths(shape.filter), size(shape.C));
    call.gemm.batch = size(shape.G) / merged + (size(shape.G) % merged != 0);
    return call;
}

} // namespace ck_tile::host_model
