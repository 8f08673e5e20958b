// SPDX-License-Identifier: MIT
#include <array>
#include <bitset>
#include <string>

#include "checks/checkers.hpp"
#include "checks/per_workgroup.hpp"
#include "core/errors.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

// Results on their way to the registers of a wave.
struct Awaited
{
    std::array<const Instruction*, 512> vector{};
    std::array<const Instruction*, 128> scalar{};
    uint32_t seen = 0; // operations of the wave that were looked at
};

class WaitChecker : public Observer
{
public:
    explicit WaitChecker(const CheckContext& context) : context_(context) {}

    void workgroup_begins(Workgroup& group) override
    { groups_.of(&group).assign(group.waves.size(), Awaited{}); }

    void before(Wave& wave, const Instruction& instruction) override
    {
        Awaited& awaited = of(wave);
        for(const RegisterUse& use : context_.uses.of(instruction))
            for(unsigned dword = 0; dword < use.dwords; ++dword)
            {
                const unsigned number   = use.number + dword;
                const Instruction* load = use.scalar
                                              ? (number < 128 ? awaited.scalar[number] : nullptr)
                                              : awaited.vector[number % 512];
                if(load == nullptr || load == &instruction) continue;
                // results of one queue arrive in the order of their loads
                if(!use.read && in_order(*load, instruction)) continue;
                context_.log.add(
                    "waits",
                    name(use.scalar, number) + (use.read ? " is read" : " is overwritten") +
                        " before s_waitcnt covers its load (" + instruction_at(wave, *load) + ")",
                    wave,
                    instruction,
                    load);
                break;
            }
    }

    void after(Wave& wave, const Instruction&) override
    {
        Awaited& awaited = of(wave);
        if(awaited.seen == wave.issued) return;
        for(PendingQueue* queue : {&wave.vector_memory, &wave.local_memory, &wave.scalar_memory})
            for(size_t n = queue->operations().size(); n-- > queue->next();)
            {
                const PendingOperation& operation = queue->operations()[n];
                if(operation.sequence < awaited.seen) break;
                mark(*queue, operation, awaited, operation.instruction);
            }
        awaited.seen = wave.issued;
    }

    void delivers(Wave& wave, const PendingOperation& operation) override
    {
        Awaited& awaited = of(wave);
        for(PendingQueue* queue : {&wave.vector_memory, &wave.local_memory, &wave.scalar_memory})
            if(queue->size() != 0 && &queue->oldest() == &operation)
                mark(*queue, operation, awaited, nullptr);
    }

private:
    Awaited& of(const Wave& wave) { return groups_.of(wave.group)[wave.number]; }

    static void mark(PendingQueue& queue,
                     const PendingOperation& operation,
                     Awaited& awaited,
                     const Instruction* load)
    {
        for(size_t r = 0; r < operation.registers; ++r)
        {
            const PendingRegister& result = queue.at(operation, r);
            if(result.kind == PendingRegister::Kind::lds) continue;
            auto& place = result.kind == PendingRegister::Kind::scalar
                              ? awaited.scalar[result.number % 128]
                              : awaited.vector[result.number];
            // a later load to the same register is still on its way
            if(load != nullptr || place == operation.instruction) place = load;
        }
    }

    static bool in_order(const Instruction& first, const Instruction& second)
    {
        const auto local  = [](const Instruction& i) { return i.info->encoding == Encoding::ds; };
        const auto vector = [](const Instruction& i) {
            switch(i.info->encoding)
            {
            case Encoding::mubuf:
            case Encoding::mtbuf:
            case Encoding::global:
            case Encoding::scratch: return true;
            default: return false;
            }
        };
        return (local(first) && local(second)) || (vector(first) && vector(second));
    }

    static std::string name(bool scalar, unsigned number)
    {
        if(scalar) return "s" + std::to_string(number);
        return (number >= 256 ? "a" : "v") + std::to_string(number % 256);
    }

    CheckContext context_;
    PerWorkgroup<std::vector<Awaited>> groups_; // of the waves
};

} // namespace

std::unique_ptr<Observer> make_wait_checker(const CheckContext& context)
{ return std::make_unique<WaitChecker>(context); }

} // namespace ckprof::emulator
