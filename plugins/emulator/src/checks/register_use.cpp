// SPDX-License-Identifier: MIT
#include "checks/register_use.hpp"

#include <algorithm>
#include <string_view>

namespace ckprof::emulator {
namespace {

bool contains(std::string_view text, std::string_view part)
{ return text.find(part) != std::string_view::npos; }

// Destination of an instruction that also reads it.
bool accumulates(std::string_view name)
{
    for(const std::string_view part : {"v_mac_",
                                       "v_fmac_",
                                       "v_dot2c_",
                                       "v_dot4c_",
                                       "v_dot8c_",
                                       "v_pk_fmac_",
                                       "v_smfmac_",
                                       "v_writelane",
                                       "s_cmovk",
                                       "s_cmov_",
                                       "s_addk_",
                                       "s_mulk_",
                                       "s_bitset",
                                       "s_cmpk_",
                                       "v_cvt_pk_fp8_",
                                       "v_cvt_pk_bf8_",
                                       "v_cvt_sr_",
                                       "_swap_b32"})
        if(contains(name, part)) return true;
    return false;
}

// The one field of data that buffer and scalar memory instructions have.
void use_memory_data(std::string_view name, const Instruction& instruction, RegisterUse& use)
{
    const bool atomic = contains(name, "_atomic_"),
               store  = contains(name, "_store_") || contains(name, "_write");
    use.read          = atomic || store || contains(name, "_d16");
    use.written       = atomic ? instruction.sc0 : !store;
}

std::vector<RegisterUse> uses_of(const Instruction& i)
{
    std::vector<RegisterUse> uses;
    if(i.info == nullptr) return uses;
    const std::string_view name = i.info->name;
    const Encoding encoding     = i.info->encoding;
    const auto add = [&](const Operand& operand, bool read, bool written, bool address = false) {
        const bool scalar = operand.kind == Operand::Kind::scalar;
        if(!scalar && operand.kind != Operand::Kind::vector) return;
        const auto dwords = static_cast<uint8_t>(std::max<int>(operand.dwords, 1));
        uses.push_back({operand.number, dwords, scalar, read, written, address});
    };
    const bool buffer = encoding == Encoding::mubuf || encoding == Encoding::mtbuf;
    const bool memory = buffer || encoding == Encoding::smem || encoding == Encoding::ds ||
                        encoding == Encoding::flat || encoding == Encoding::scratch ||
                        encoding == Encoding::global;
    if(encoding == Encoding::sopp) return uses;
    if(buffer || encoding == Encoding::smem)
    {
        RegisterUse data;
        use_memory_data(name, i, data);
        if(i.info->widths[0] != 0) add(i.destination, data.read, data.written);
    }
    else if(i.destination.dwords != 0)
    {
        const bool compares = encoding == Encoding::sopk && contains(name, "s_cmpk");
        const bool sets     = contains(name, "s_setreg");
        const bool keeps    = i.sub_dword && i.sdwa.rest == 2;
        const bool halves   = memory && contains(name, "_d16");
        add(i.destination,
            accumulates(name) || compares || sets || keeps || halves || i.cross_lane,
            !compares && !sets);
    }
    add(i.scalar_destination, false, true);
    for(unsigned s = 0; s < 3; ++s) add(i.source[s], true, false, memory && s == 0);
    add(i.resource, true, false, true);
    add(i.scalar_offset, true, false, true);
    return uses;
}

} // namespace

RegisterUses::RegisterUses(const Program& program) : first_(program.instructions().data())
{
    for(const Instruction& instruction : program.instructions())
    {
        begin_.push_back(all_.size());
        const auto uses = uses_of(instruction);
        all_.insert(all_.end(), uses.begin(), uses.end());
    }
    // the instruction after the last one has no operands
    begin_.push_back(all_.size());
    begin_.push_back(all_.size());
}

} // namespace ckprof::emulator
