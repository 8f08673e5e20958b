// SPDX-License-Identifier: MIT
// Instructions as messages show them.
#include <cstdio>

#include "isa/decoder.hpp"

namespace ckprof::emulator {

std::string text_of(const Instruction& instruction)
{
    if(instruction.info == nullptr) return "no known instruction";
    const auto operand = [](const Operand& o) -> std::string {
        switch(o.kind)
        {
        case Operand::Kind::none: return "";
        case Operand::Kind::constant:
        {
            char text[24];
            std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(o.value));
            return text;
        }
        case Operand::Kind::scc: return "scc";
        case Operand::Kind::vccz: return "vccz";
        case Operand::Kind::execz: return "execz";
        case Operand::Kind::lds_direct: return "lds_direct";
        case Operand::Kind::aperture: return "aperture";
        default: break;
        }
        const bool vector   = o.kind == Operand::Kind::vector;
        const char kind     = !vector ? 's' : o.number >= 256 ? 'a' : 'v';
        const unsigned from = vector ? o.number % 256 : o.number;
        if(!vector && from == scalar::vcc) return "vcc";
        if(!vector && from == scalar::exec) return "exec";
        if(!vector && from == scalar::m0) return "m0";
        if(o.dwords <= 1) return kind + std::to_string(from);
        return std::string(1, kind) + "[" + std::to_string(from) + ":" +
               std::to_string(from + o.dwords - 1) + "]";
    };
    std::string text  = instruction.info->name;
    const char* comma = " ";
    for(const Operand* o : {&instruction.destination,
                            &instruction.scalar_destination,
                            &instruction.source[0],
                            &instruction.source[1],
                            &instruction.source[2],
                            &instruction.resource,
                            &instruction.scalar_offset})
        if(o->kind != Operand::Kind::none)
        {
            text += comma + operand(*o);
            comma = ", ";
        }
    return text;
}

} // namespace ckprof::emulator
