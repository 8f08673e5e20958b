// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "isa/instruction.hpp"

namespace ckprof::emulator {

// By LLVM's name, with or without features ("gfx942:sramecc+").
inline std::optional<Architecture> find_architecture(std::string_view name)
{
    const std::string_view base = name.substr(0, name.find(':'));
    if(base == "gfx90a") return Architecture::gfx90a;
    if(base == "gfx942") return Architecture::gfx942;
    if(base == "gfx950") return Architecture::gfx950;
    return std::nullopt;
}

} // namespace ckprof::emulator
