// SPDX-License-Identifier: MIT
#include <cstdio>
#include <string>

#include "checks/checkers.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

class BoundsChecker : public Observer
{
public:
    explicit BoundsChecker(const CheckContext& context) : context_(context) {}

    void accesses(Wave& wave, const Instruction& instruction, const MemoryAccess& access) override
    {
        for(int lane = 0; lane < lane_count; ++lane)
            if((access.lanes >> lane & 1) != 0)
            {
                const uint64_t address = access.address[lane];
                const bool inside =
                    access.space == Space::global ? in_memory(wave, address, access.bytes)
                    : access.space == Space::lds  ? address + access.bytes <= wave.group->lds.size()
                                                  : true;
                if(!inside) return report(wave, instruction, access, lane);
            }
    }

private:
    bool in_memory(const Wave& wave, uint64_t address, unsigned bytes)
    {
        if(recent_.contains(address, bytes)) return true;
        const auto found = wave.group->launch->memory->exact(address);
        if(!found || !found->contains(address, bytes)) return false;
        recent_ = *found;
        return true;
    }

    void report(Wave& wave, const Instruction& instruction, const MemoryAccess& access, int lane)
    {
        const uint64_t address = access.address[lane];
        const char* what       = access.access == Access::read ? "reads" : "writes";
        char text[200];
        if(access.space == Space::lds)
            std::snprintf(text,
                          sizeof(text),
                          "lane %d %s %u bytes at %llu of LDS, which has %zu",
                          lane,
                          what,
                          access.bytes,
                          static_cast<unsigned long long>(address),
                          wave.group->lds.size());
        else
        {
            const auto found = wave.group->launch->memory->exact(address);
            std::snprintf(text,
                          sizeof(text),
                          "lane %d %s %u bytes at 0x%llx, %s",
                          lane,
                          what,
                          access.bytes,
                          static_cast<unsigned long long>(address),
                          found ? "the last of them past the end of an allocation"
                                : "which no allocation holds");
        }
        context_.log.add("bounds", text, wave, instruction);
    }

    CheckContext context_;
    Allocation recent_;
};

} // namespace

std::unique_ptr<Observer> make_bounds_checker(const CheckContext& context)
{ return std::make_unique<BoundsChecker>(context); }

} // namespace ckprof::emulator
