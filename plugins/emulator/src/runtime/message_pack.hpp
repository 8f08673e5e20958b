// SPDX-License-Identifier: MIT
// MessagePack, as far as the metadata of code objects uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ckprof::emulator {

struct PackedValue
{
    uint64_t number = 0; // also of booleans
    std::string text;
    std::vector<PackedValue> items; // of an array; of a map, what its names stand for
    std::vector<std::string> names;

    // An empty value where a map has no such name.
    const PackedValue& operator[](std::string_view name) const;
};

// Throws std::runtime_error if the bytes end too early or have a type that metadata does not use.
PackedValue read_message_pack(std::span<const std::byte> bytes);

} // namespace ckprof::emulator
