// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "ck_tile/host_model/rejection.hpp"

namespace ck_tile::host_model {

namespace impl {

struct rejection_record
{
    std::vector<rejection> unmet_requirements;
    bool collecting = false;
    bool all_tested = false;
};

inline rejection_record& rejections_of_this_thread()
{
    static thread_local rejection_record record;
    return record;
}

} // namespace impl

CK_TILE_HOST_MODEL_API bool reject(std::string condition, std::string reason)
{
    impl::rejection_record& record = impl::rejections_of_this_thread();
    record.unmet_requirements.push_back({std::move(condition), std::move(reason)});
    return record.collecting;
}

CK_TILE_HOST_MODEL_API bool reject(std::string reason)
{ return reject("support-test", std::move(reason)); }

CK_TILE_HOST_MODEL_API const std::vector<rejection>& unmet_requirements()
{ return impl::rejections_of_this_thread().unmet_requirements; }

CK_TILE_HOST_MODEL_API const std::string& last_rejection()
{
    static const std::string none;
    return unmet_requirements().empty() ? none : unmet_requirements().front().reason;
}

CK_TILE_HOST_MODEL_API void clear_rejection()
{
    impl::rejection_record& record = impl::rejections_of_this_thread();
    record.unmet_requirements.clear();
    record.all_tested = false;
}

CK_TILE_HOST_MODEL_API void all_conditions_tested()
{ impl::rejections_of_this_thread().all_tested = true; }

CK_TILE_HOST_MODEL_API bool were_all_conditions_tested()
{ return impl::rejections_of_this_thread().all_tested; }

CK_TILE_HOST_MODEL_API collect_rejections::collect_rejections()
{
    clear_rejection();
    impl::rejections_of_this_thread().collecting = true;
}

CK_TILE_HOST_MODEL_API collect_rejections::~collect_rejections()
{ impl::rejections_of_this_thread().collecting = false; }

} // namespace ck_tile::host_model
