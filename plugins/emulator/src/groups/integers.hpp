// SPDX-License-Identifier: MIT
// What the groups of vector integers have in common.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ckprof::emulator {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

template <typename T>
T median(T a, T b, T c)
{ return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

} // namespace ckprof::emulator
