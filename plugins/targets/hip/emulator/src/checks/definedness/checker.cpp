// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "checks/checkers.hpp"
#include "checks/definedness/propagate.hpp"
#include "checks/definedness/rules.hpp"
#include "checks/definedness/shadow.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

class DefinednessChecker : public Observer
{
public:
    explicit DefinednessChecker(const CheckContext& context) : context_(context) {}

    void workgroup_begins(Workgroup& group) override
    {
        learn(*group.launch->program);
        waves_.resize(std::max(waves_.size(), group.waves.size()));
        for(const Wave& wave : group.waves) begin(wave, waves_[wave.number]);
        lds_.assign(group.lds.size(), 0xff);
    }

    void before(Wave& wave, const Instruction& i) override
    {
        const DefinednessRule& rule = rules_[static_cast<size_t>(&i - first_)];
        WaveShadow& shadow          = waves_[wave.number];
        switch(rule.rule)
        {
        case Rule::none: return;
        case Rule::branch_scc:
            if(shadow.scc)
                report("a branch depends on scc, which comes from undefined values", wave, i);
            shadow.scc = false;
            return;
        case Rule::branch_vcc:
            if((shadow.scalar[scalar::vcc] | shadow.scalar[scalar::vcc + 1]) != 0)
                report("a branch depends on vcc, which has bits of undefined values", wave, i);
            shadow.scalar[scalar::vcc] = shadow.scalar[scalar::vcc + 1] = 0;
            return;
        case Rule::matrix: return matrix(wave, i, shadow);
        case Rule::load:
        case Rule::store:
        case Rule::lane_exchange: return memory(wave, i, rule, shadow);
        default: propagate(wave, i, rule, shadow); break;
        }
        for(const unsigned number : {scalar::exec, scalar::exec + 1})
            if(shadow.scalar[number] != 0)
            {
                report("the execution mask gets bits of undefined values", wave, i);
                shadow.scalar[number] = 0;
            }
    }

    void accesses(Wave& wave, const Instruction& i, const MemoryAccess& access) override
    {
        if(access.first_register < 0 || i.info->encoding == Encoding::smem) return;
        WaveShadow& shadow = waves_[wave.number];
        const bool high = std::string_view(i.info->name).find("_d16_hi") != std::string_view::npos;
        for(int lane = 0; lane < lane_count; ++lane)
        {
            if((access.lanes >> lane & 1) == 0) continue;
            for(unsigned byte = 0; byte < access.bytes; ++byte)
            {
                const unsigned at = byte + (high ? 2 : 0);
                uint32_t& bits =
                    shadow.vector[(static_cast<unsigned>(access.first_register) + at / 4) % 512]
                        .lane[lane];
                const unsigned shift  = 8 * (at % 4);
                const auto undefined  = static_cast<uint8_t>(bits >> shift);
                const uint64_t memory = access.address[lane] + byte;
                if(access.access == Access::read)
                {
                    const uint32_t loaded = undefined_at(access.space, memory, shadow);
                    bits                  = (bits & ~(0xffU << shift)) | loaded << shift;
                }
                else if(undefined != 0 && access.space == Space::global)
                {
                    report("undefined bits are stored in global memory", wave, i);
                    bits = 0; // said once
                }
                else if(access.access == Access::write)
                    define(access.space, memory, undefined, shadow);
            }
        }
    }

private:
    void learn(const Program& program)
    {
        if(first_ == program.instructions().data()) return;
        first_ = program.instructions().data();
        rules_.clear();
        for(const Instruction& i : program.instructions()) rules_.push_back(definedness_rule(i));
        rules_.emplace_back(); // what reports the end of the code
    }

    // What the dispatcher has not set has a pattern that values do not have by chance.
    static void begin(const Wave& wave, WaveShadow& shadow)
    {
        for(size_t r = 0; r < shadow.scalar.size(); ++r)
            shadow.scalar[r] = wave.scalar[r] == Wave::undefined_value ? ~0U : 0;
        for(size_t r = 0; r < shadow.vector.size(); ++r)
            for(int lane = 0; lane < lane_count; ++lane)
                shadow.vector[r].lane[lane] =
                    wave.vector[r].lane[lane] == Wave::undefined_value ? ~0U : 0;
        shadow.scc = false;
        shadow.scratch.clear();
    }

    uint8_t undefined_at(Space space, uint64_t address, const WaveShadow& shadow) const
    {
        if(space == Space::lds) return address < lds_.size() ? lds_[address] : 0;
        if(space == Space::global) return 0;
        const auto found = shadow.scratch.find(address);
        return found == shadow.scratch.end() ? 0xff : found->second;
    }

    void define(Space space, uint64_t address, uint8_t undefined, WaveShadow& shadow)
    {
        if(space == Space::lds)
        {
            if(address < lds_.size()) lds_[address] = undefined;
        }
        else if(space == Space::scratch)
            shadow.scratch[address] = undefined;
    }

    // All lanes take part, whatever the execution mask says.
    void matrix(Wave& wave, const Instruction& i, WaveShadow& shadow)
    {
        const char* names[] = {"first operand", "second operand", "accumulator"};
        for(unsigned s = 0; s < 3; ++s)
        {
            const Operand& source = i.source[s];
            if(source.kind != Operand::Kind::vector) continue;
            uint32_t undefined = 0;
            for(unsigned dword = 0; dword < source.dwords; ++dword)
                for(const uint32_t bits : shadow.vector[source.number + dword].lane)
                    undefined |= bits;
            if(undefined != 0)
                report(std::string("the ") + names[s] + " of a matrix product has undefined bits",
                       wave,
                       i);
        }
        for(unsigned dword = 0; dword < i.destination.dwords; ++dword)
            fill(shadow.vector[i.destination.number + dword], 0);
    }

    void memory(Wave& wave, const Instruction& i, const DefinednessRule& rule, WaveShadow& shadow)
    {
        const LaneMask exec = wave.exec();
        for(const RegisterUse& use : context_.uses.of(i))
        {
            if(!use.address) continue;
            uint32_t undefined = 0;
            for(unsigned dword = 0; dword < use.dwords; ++dword)
                if(use.scalar)
                    undefined |= shadow.scalar[(use.number + dword) % 128];
                else
                    for(int lane = 0; lane < lane_count; ++lane)
                        if((exec >> lane & 1) != 0)
                            undefined |= shadow.vector[use.number + dword].lane[lane];
            if(undefined != 0 && (exec != 0 || i.info->encoding == Encoding::smem))
                report("an address comes from undefined values", wave, i);
        }
        if(rule.rule == Rule::lane_exchange) return exchange(wave, i, shadow);
        // what is loaded says the access; lanes out of bounds get zeros
        for(const RegisterUse& use : context_.uses.of(i))
            if(use.written)
                for(unsigned dword = 0; dword < use.dwords; ++dword)
                    if(use.scalar)
                        shadow.scalar[(use.number + dword) % 128] = 0;
                    else if(std::string_view(i.info->name).find("_d16") == std::string_view::npos)
                        merge(shadow.vector[use.number + dword], defined_, exec);
    }

    void exchange(Wave& wave, const Instruction& i, WaveShadow& shadow)
    {
        const bool swizzle         = i.source[1].kind == Operand::Kind::none;
        const VectorRegister& data = shadow.vector[i.source[swizzle ? 0 : 1].number];
        uint32_t undefined         = 0;
        for(int lane = 0; lane < lane_count; ++lane)
            if((wave.exec() >> lane & 1) != 0) undefined |= data.lane[lane];
        VectorRegister result;
        fill(result, undefined);
        merge(shadow.vector[i.destination.number], result, wave.exec());
    }

    void report(const std::string& what, const Wave& wave, const Instruction& i)
    { context_.log.add("uninitialised", what, wave, i); }

    CheckContext context_;
    const Instruction* first_ = nullptr;
    std::vector<DefinednessRule> rules_;
    std::vector<WaveShadow> waves_;
    std::vector<uint8_t> lds_;
    VectorRegister defined_{};
};

} // namespace

std::unique_ptr<Observer> make_definedness_checker(const CheckContext& context)
{ return std::make_unique<DefinednessChecker>(context); }

} // namespace ckprof::emulator
