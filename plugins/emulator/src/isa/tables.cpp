// SPDX-License-Identifier: MIT
// What instructions.def and the groups have, by encoding and opcode, and by name.
#include <array>
#include <map>

#include "isa/decoder.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

constexpr InstructionInfo table[] = {
#define INSTRUCTION(encoding, opcode, name, architectures, d, a, b, c)                             \
    {Encoding::encoding, opcode, #name, architectures, {d, a, b, c}},
#include "isa/instructions.def"
#undef INSTRUCTION
};

} // namespace

std::span<const InstructionInfo> instruction_table() { return table; }

const InstructionInfo*
find_instruction(Architecture architecture, Encoding encoding, unsigned opcode)
{
    // one list per architecture: encoding and opcode are the index
    static const auto index = [] {
        std::map<std::array<unsigned, 3>, const InstructionInfo*> all;
        for(const InstructionInfo& info : table)
            for(const unsigned bit : {1U, 2U, 4U})
                if((info.architectures & bit) != 0)
                    all[{bit, static_cast<unsigned>(info.encoding), info.opcode}] = &info;
        return all;
    }();
    const auto found =
        index.find({static_cast<unsigned>(architecture), static_cast<unsigned>(encoding), opcode});
    return found == index.end() ? nullptr : found->second;
}

Handler find_handler(std::string_view name)
{
    static const auto index = [] {
        std::map<std::string_view, Handler> all;
        for(const HandlerTable handlers : {
#define GROUP(name) name##_handlers(),
#include "isa/groups.def"
#undef GROUP
            })
            for(const NamedHandler& handler : handlers) all.emplace(handler.name, handler.execute);
        return all;
    }();
    const auto found = index.find(name);
    return found == index.end() ? nullptr : found->second;
}

} // namespace ckprof::emulator
