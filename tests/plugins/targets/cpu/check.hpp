// SPDX-License-Identifier: MIT
// What the C++ test programs are written with: doctest, and how much of what is random they try.
#pragma once

#include <cstdlib>

#define DOCTEST_CONFIG_SUPER_FAST_ASSERTS // they take less time to compile
#include <doctest/doctest.h>

namespace test {

// CKPROF_TEST_ROUNDS or what is usual.
inline int rounds(int usual)
{
    const char* asked = std::getenv("CKPROF_TEST_ROUNDS");
    return asked == nullptr ? usual : std::atoi(asked);
}

} // namespace test
