// SPDX-License-Identifier: MIT
#pragma once

#include "ck_tile/core/utility/hip_types.hpp"

namespace ck_tile {

// How a launch is executed and timed. flush_cache_ and rotating_count_ are carried for the caller;
// the launch functions do not read them.
struct stream_config
{
    hipStream_t stream_id_ = nullptr;
    bool time_kernel_      = false;
    int log_level_         = 0;
    int cold_niters_       = 3;
    int nrepeat_           = 10;
    bool is_gpu_timer_     = true;
    bool flush_cache_      = false;
    int rotating_count_    = 1;
};

} // namespace ck_tile
