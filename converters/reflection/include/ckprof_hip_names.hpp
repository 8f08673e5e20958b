// SPDX-License-Identifier: MIT
//
// Names that the tree expects of HIP's headers and older ones do not have.
#ifndef CKPROF_HIP_NAMES_HPP
#define CKPROF_HIP_NAMES_HPP

#include <type_traits>

#if defined(CKPROF_OLD_HIP)
namespace __hip_internal {
template <typename First, typename Second>
struct is_same : std::is_same<First, Second>
{};
} // namespace __hip_internal
#endif

#if !defined(__hip_assert)
#define __hip_assert(condition)
#endif

#endif
