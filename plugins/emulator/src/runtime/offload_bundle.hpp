// SPDX-License-Identifier: MIT
// Device code in memory: fat binaries as compilers embed them in host code, with a code object
// per architecture, and code objects alone.
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

// The same of an image that a program hands over: of a bundle, or of a code object (ELF), whose
// headers say for which architecture it is and where it ends: at most after `bytes`.
std::vector<BundleEntry> read_image(const void* image, size_t bytes);

} // namespace ckprof::emulator
