// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "ck_tile/host_model/refusal.hpp"

namespace ck_tile::host_model {

namespace impl {

struct refusal_record
{
    std::vector<refusal> refusals;
    bool collecting = false;
};

inline refusal_record& refusals_of_this_thread()
{
    static thread_local refusal_record record;
    return record;
}

} // namespace impl

CK_TILE_HOST_MODEL_API bool refuse(std::string condition, std::string reason)
{
    impl::refusal_record& record = impl::refusals_of_this_thread();
    record.refusals.push_back({std::move(condition), std::move(reason)});
    return record.collecting;
}

CK_TILE_HOST_MODEL_API bool refuse(std::string reason)
{ return refuse("support-test", std::move(reason)); }

CK_TILE_HOST_MODEL_API const std::vector<refusal>& refusals()
{ return impl::refusals_of_this_thread().refusals; }

CK_TILE_HOST_MODEL_API const std::string& last_refusal()
{
    static const std::string none;
    return refusals().empty() ? none : refusals().front().reason;
}

CK_TILE_HOST_MODEL_API void clear_refusal() { impl::refusals_of_this_thread().refusals.clear(); }

CK_TILE_HOST_MODEL_API collect_refusals::collect_refusals()
{
    clear_refusal();
    impl::refusals_of_this_thread().collecting = true;
}

CK_TILE_HOST_MODEL_API collect_refusals::~collect_refusals()
{ impl::refusals_of_this_thread().collecting = false; }

} // namespace ck_tile::host_model
