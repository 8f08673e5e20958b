// SPDX-License-Identifier: MIT
// Minimal checks for the C++ test programs: failures are printed and counted, the exit code tells.
#pragma once

#include <cstdio>
#include <string>

namespace test {

inline int failures = 0;

inline void expect(bool condition, const char* file, int line, const std::string& message)
{
    if(condition) { return; }
    ++failures;
    if(failures <= 20) { std::fprintf(stderr, "%s:%d: %s\n", file, line, message.c_str()); }
}

inline int finish(const char* what)
{
    std::printf("%s: %s, %d failures\n", what, failures == 0 ? "ok" : "FAILED", failures);
    return failures == 0 ? 0 : 1;
}

} // namespace test

#define EXPECT(condition) ::test::expect((condition), __FILE__, __LINE__, #condition)
#define EXPECT_MSG(condition, message) ::test::expect((condition), __FILE__, __LINE__, (message))
