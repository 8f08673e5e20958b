// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checks/checkers.hpp"
#include "checks/definedness/memory.hpp"
#include "checks/definedness/propagate.hpp"
#include "checks/definedness/rules.hpp"
#include "checks/definedness/shadow.hpp"
#include "core/errors.hpp"
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
        GroupShadow& shadow = groups_[&group];
        shadow.waves.resize(group.waves.size());
        for(const Wave& wave : group.waves) begin(wave, shadow.waves[wave.number]);
        shadow.lds.assign(group.lds.size(), 0xff);
    }

    void before(Wave& wave, const Instruction& i) override
    {
        const DefinednessRule& rule = rule_of(i);
        WaveShadow& shadow          = of(wave);
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
        GroupShadow& group = groups_[wave.group];
        const std::string wrong =
            memory_.follow(wave, i, access, rule_of(i), group.waves[wave.number], group.lds);
        if(!wrong.empty()) report(wrong, wave, i);
    }

    // What a load brings to LDS is written there in all active lanes, as zeros where it lies
    // outside of a buffer.
    void after(Wave& wave, const Instruction& i) override
    {
        if(!i.to_lds) return;
        GroupShadow& group                = groups_[wave.group];
        WaveShadow& shadow                = group.waves[wave.number];
        const PendingOperation& operation = wave.vector_memory.operations().back();
        for(size_t r = 0; r < operation.registers; ++r)
        {
            const PendingRegister& to = wave.vector_memory.at(operation, r);
            for(int lane = 0; lane < lane_count; ++lane)
            {
                const size_t at = to.lds_offset + size_t{to.lds_step} * static_cast<size_t>(lane);
                if((to.lanes >> lane & 1) != 0 && at + 4 <= group.lds.size())
                    std::memcpy(group.lds.data() + at, shadow.to_lds[r].lane + lane, 4);
            }
            fill(shadow.to_lds[r], 0);
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

    const DefinednessRule& rule_of(const Instruction& i) const
    { return rules_[static_cast<size_t>(&i - first_)]; }

    WaveShadow& of(const Wave& wave) { return groups_[wave.group].waves[wave.number]; }

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
        shadow.unwritten_load = nullptr;
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
        {
            if(!use.written) continue;
            for(unsigned dword = 0; dword < use.dwords; ++dword)
                if(use.scalar)
                    shadow.scalar[(use.number + dword) % 128] = 0;
                else if(!is_data(use, i))
                    merge(shadow.vector[use.number + dword], defined_, exec);
        }
    }

    // Whether the instruction reads the registers, too: loads of halves, atomics.
    bool is_data(const RegisterUse& written, const Instruction& i) const
    {
        return std::ranges::any_of(context_.uses.of(i), [&](const RegisterUse& use) {
            return use.read && !use.address && !use.scalar &&
                   use.number < written.number + written.dwords &&
                   written.number < use.number + use.dwords;
        });
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
    {
        const WaveShadow& shadow = of(wave);
        std::string text         = what;
        if(shadow.unwritten_load != nullptr)
        {
            char where[120];
            std::snprintf(where,
                          sizeof(where),
                          "; bytes of global memory at 0x%llx, which nothing had written, were "
                          "loaded at ",
                          static_cast<unsigned long long>(shadow.unwritten_address));
            text += where + offset_text(offset_in_kernel(wave, *shadow.unwritten_load));
        }
        context_.log.add("uninitialised", text, wave, i);
    }

    CheckContext context_;
    const Instruction* first_ = nullptr;
    std::vector<DefinednessRule> rules_;
    // workgroups whose storage this thread uses: several take turns while they wait
    std::unordered_map<const Workgroup*, GroupShadow> groups_;
    MemoryDefinedness memory_;
    VectorRegister defined_{};
};

} // namespace

std::unique_ptr<Observer> make_definedness_checker(const CheckContext& context)
{ return std::make_unique<DefinednessChecker>(context); }

} // namespace ckprof::emulator
