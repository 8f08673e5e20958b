// SPDX-License-Identifier: MIT
//
// Stands in the place of ckprof_workspace.hpp: a workspace of exactly the size that a launcher asks
// for, poisoned before each launch, with a guard behind it that the next launch looks at. The
// poison of one launch is NaN in every floating-point type and an index that no tensor has; that of
// the next is words of 1, as flags of an earlier launch are, which say that sums are ready.
#ifndef CKPROF_WORKSPACE_HPP
#define CKPROF_WORKSPACE_HPP

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "ck_tile/host/device_memory.hpp"

namespace ckprof {

inline ck_tile::DeviceMem& workspace(std::size_t bytes)
{
    constexpr std::size_t guard_bytes  = 65536;
    constexpr unsigned char guard_byte = 0xff;
    // Never destroyed: the device may be gone by then.
    static ck_tile::DeviceMem& memory = *new ck_tile::DeviceMem;
    static std::size_t asked          = 0;
    static bool flags                 = true;
    std::vector<unsigned char> content(memory.GetBufferSize());
    if(!content.empty())
    {
        memory.FromDevice(content.data());
        const auto guard = content.begin() + static_cast<std::ptrdiff_t>(asked);
        const auto other = [](unsigned char byte) { return byte != guard_byte; };
        if(const auto wrong = std::count_if(guard, content.end(), other); wrong != 0)
        {
            memory.Realloc(0);
            throw std::runtime_error("the launch before wrote " + std::to_string(wrong) +
                                     " bytes behind its workspace of " + std::to_string(asked));
        }
    }
    asked = bytes;
    content.assign(bytes + guard_bytes, guard_byte);
    flags = !flags;
    for(std::size_t at = 0; flags && at < bytes; ++at) { content[at] = at % 4 == 0 ? 1 : 0; }
    memory.Realloc(content.size());
    memory.ToDevice(content.data());
    return memory;
}

} // namespace ckprof

#endif
