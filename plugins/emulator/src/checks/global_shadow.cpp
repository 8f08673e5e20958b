// SPDX-License-Identifier: MIT
#include "checks/global_shadow.hpp"

#include <algorithm>
#include <cstdio>

#include "core/errors.hpp"

namespace ckprof::emulator {
namespace {

std::string text_of(const char* what, const Actor& other, const Actor& actor)
{
    char text[96];
    if(other.group == actor.group)
        std::snprintf(text,
                      sizeof(text),
                      "%s by wave %u at %s without a barrier between",
                      what,
                      other.wave,
                      offset_text(other.address).c_str());
    else
        std::snprintf(text,
                      sizeof(text),
                      "%s by workgroup number %u at %s",
                      what,
                      other.group,
                      offset_text(other.address).c_str());
    return text;
}

} // namespace

GlobalShadow::Page& GlobalShadow::page(uint64_t number)
{
    const std::lock_guard lock(pages_mutex_);
    auto& found = pages_[number];
    if(!found) found = std::make_unique<Page>();
    return *found;
}

bool GlobalShadow::ordered(const Actor& earlier, const Actor& later) const
{
    if(earlier.group == later.group)
        return earlier.wave == later.wave || earlier.phase != later.phase;
    const std::lock_guard lock(order_mutex_);
    const auto found = acquired_.find(later.group);
    return found != acquired_.end() && found->second.contains(earlier.group);
}

void GlobalShadow::acquire(const Actor& from, const Actor& by)
{
    if(from.group == by.group) return;
    const std::lock_guard lock(order_mutex_);
    auto& known = acquired_[by.group];
    if(!known.insert(from.group).second) return;
    if(const auto before = acquired_.find(from.group); before != acquired_.end())
    {
        const auto others = before->second; // a copy: both may be one set
        acquired_[by.group].insert(others.begin(), others.end());
    }
}

std::string
GlobalShadow::note(uint64_t address, unsigned bytes, const Actor& actor, bool write, bool atomic)
{
    std::string race;
    for(uint64_t at = address; at < address + bytes;)
    {
        Page& here          = page(at / page_bytes);
        const uint64_t last = std::min(address + bytes, (at / page_bytes + 1) * page_bytes);
        const std::lock_guard lock(here.mutex);
        for(; at < last; ++at)
        {
            Byte& byte = here.bytes[at % page_bytes];
            if(byte.written)
            {
                if(byte.atomically && (atomic || !write))
                    acquire(byte.writer, actor);
                else if(race.empty() && !ordered(byte.writer, actor))
                    race = text_of("written", byte.writer, actor);
            }
            if(write && byte.read && race.empty() && !atomic &&
               (!ordered(byte.reader, actor) ||
                (byte.many_readers && byte.reader.group == actor.group)))
                race = byte.many_readers && ordered(byte.reader, actor)
                           ? "read by several workgroups"
                           : text_of("read", byte.reader, actor);
            if(write)
            {
                byte.writer     = actor;
                byte.written    = true;
                byte.atomically = atomic;
            }
            else
            {
                byte.many_readers =
                    byte.many_readers || (byte.read && byte.reader.group != actor.group);
                byte.reader = actor;
                byte.read   = true;
            }
        }
    }
    return race;
}

} // namespace ckprof::emulator
