// SPDX-License-Identifier: MIT
// Every group of instructions has one table of names and functions; the decoder looks them up.
#pragma once

#include <span>
#include <string_view>

#include "isa/instruction.hpp"

namespace ckprof::emulator {

struct NamedHandler
{
    std::string_view name; // as in instructions.def
    Handler execute;
};

using HandlerTable = std::span<const NamedHandler>;

#define GROUP(name) HandlerTable name##_handlers();
#include "isa/groups.def"
#undef GROUP

// Null for an instruction that no table has.
Handler find_handler(std::string_view name);

} // namespace ckprof::emulator
