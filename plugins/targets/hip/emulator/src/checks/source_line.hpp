// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ckprof::emulator {

// "file:line" of an address of a code object, as its line table says and llvm-symbolizer reads it;
// of an inlined function, the innermost. Empty without a table (-gline-tables-only makes one) or
// tool.
std::string source_line(std::span<const std::byte> code_object, uint64_t address);

} // namespace ckprof::emulator
