// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "ck_tile/host_model/refusal.hpp"

namespace ck_tile::host_model {

namespace impl {

inline std::string& refusal_of_this_thread()
{
    static thread_local std::string reason;
    return reason;
}

} // namespace impl

CK_TILE_HOST_MODEL_API bool refuse(std::string reason)
{
    impl::refusal_of_this_thread() = std::move(reason);
    return false;
}

CK_TILE_HOST_MODEL_API const std::string& last_refusal() { return impl::refusal_of_this_thread(); }

CK_TILE_HOST_MODEL_API void clear_refusal() { impl::refusal_of_this_thread().clear(); }

} // namespace ck_tile::host_model
