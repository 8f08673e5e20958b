// SPDX-License-Identifier: MIT
// Instructions as messages show them.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "isa/decoder.hpp"

namespace ckprof::emulator {

namespace {

// What instructions without operands do with their immediate.
std::string immediate_of(const Instruction& instruction, uint32_t origin)
{
    const std::string_view name = instruction.info->name;
    const auto bits             = static_cast<uint16_t>(instruction.immediate);
    if(name == "s_waitcnt")
    {
        std::string text;
        const auto add = [&](const char* counter, unsigned limit, unsigned all) {
            if(limit != all) text += std::string(" ") + counter + "(" + std::to_string(limit) + ")";
        };
        add("vmcnt", (bits & 15U) | bits >> 14U << 4U, 63);
        add("expcnt", bits >> 4U & 7U, 7);
        add("lgkmcnt", bits >> 8U & 15U, 15);
        return text;
    }
    if(name == "s_nop") return " " + std::to_string(bits);
    if(name.starts_with("s_cbranch") || name == "s_branch")
    {
        char text[24];
        const int64_t target = int64_t{instruction.address} + instruction.bytes +
                               int64_t{static_cast<int16_t>(bits)} * 4 - origin;
        std::snprintf(text,
                      sizeof(text),
                      target < 0 ? " -0x%llx" : " 0x%llx",
                      static_cast<unsigned long long>(std::abs(target)));
        return text;
    }
    return {};
}

} // namespace

std::string text_of(const Instruction& instruction, uint32_t origin)
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
    if(instruction.info->encoding == Encoding::sopp) text += immediate_of(instruction, origin);
    return text;
}

} // namespace ckprof::emulator
