// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ckprof::emulator {

// "file:line" of each address of a code object, as its line table says and llvm-symbolizer reads
// it; of an inlined function, the innermost. No entries without a table (-gline-tables-only makes
// one) or tool; an empty one where the table says nothing.
std::vector<std::string> source_lines(std::span<const std::byte> code_object,
                                      std::span<const uint64_t> addresses);

} // namespace ckprof::emulator
