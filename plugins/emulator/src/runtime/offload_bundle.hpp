// SPDX-License-Identifier: MIT
// The fat binaries that compilers embed in host code: one code object per architecture.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ckprof::emulator {

struct BundleEntry
{
    std::string arch; // with features: gfx942:sramecc+:xnack-
    std::vector<std::byte> code_object;
};

// Device code of a bundle, in its order; entries of the host are left out. Throws
// std::runtime_error for what is no bundle, ends in memory that is not there, or is compressed.
std::vector<BundleEntry> read_bundle(const void* bundle);

} // namespace ckprof::emulator
