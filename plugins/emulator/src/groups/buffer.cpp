// SPDX-License-Identifier: MIT
// Loads and stores through buffers. What lies outside of a buffer is read as 0 and not written.
#include "groups/buffer_resource.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// A single register of a longer element: buffers check these one by one.
template <Element e>
constexpr Element part{e.bytes < 4 ? e.bytes : 4, e.sign, e.half};

// Calls access(begin, lanes, element) for lanes that are wholly within the buffer and, if some are
// with a part of their registers, for these registers one by one.
template <Element e, typename Whole, typename Part>
void visit(const BufferAccess& access, Whole&& whole, Part&& one)
{
    const LaneMask complete = access.lanes(e.bytes);
    const bool split =
        e.registers() > 1 && (!access.contiguous() || access.lanes(part<e>.bytes) != complete);
    if(!split)
    {
        whole(complete);
        return;
    }
    for(unsigned d = 0; d < e.registers(); ++d) one(access.lanes(part<e>.bytes, 4 * d), d);
}

template <Element e>
void load(Wave& wave, const Instruction& i)
{
    BufferAccess access(wave, i);
    const LoadResult result = i.to_lds
                                  ? issue_load_to_lds<e>(wave, wave.vector_memory, i, wave.exec())
                                  : issue_load<e>(wave, wave.vector_memory, i, wave.exec(), false);
    const auto read         = [&]<Element piece>(LaneMask lanes, unsigned d) {
        const LaneAddresses& addresses = access.addresses(i, lanes, piece.bytes, false, 4 * d);
        if(lanes != 0)
            wave.observe(i,
                         access_of(access.space(),
                                   Access::read,
                                   addresses,
                                   lanes,
                                   piece.bytes,
                                   i.destination,
                                   4 * d));
        read_lanes_or_zero<piece>(addresses, lanes, result.to + d);
    };
    visit<e>(
        access,
        [&](LaneMask lanes) { read.template operator()<e>(lanes, 0); },
        [&](LaneMask lanes, unsigned d) { read.template operator()<part<e>>(lanes, d); });
}

template <Element e>
void store(Wave& wave, const Instruction& i)
{
    BufferAccess access(wave, i);
    wave.issue(wave.vector_memory, i, 0);
    const auto write = [&]<Element piece>(LaneMask lanes, unsigned d) {
        if(lanes == 0) return;
        const LaneAddresses& addresses = access.addresses(i, lanes, piece.bytes, true, 4 * d);
        wave.observe(i,
                     access_of(access.space(),
                               Access::write,
                               addresses,
                               lanes,
                               piece.bytes,
                               i.destination,
                               4 * d));
        write_lanes<piece>(addresses, lanes, &wave.vector[i.destination.number + d]);
    };
    visit<e>(
        access,
        [&](LaneMask lanes) { write.template operator()<e>(lanes, 0); },
        [&](LaneMask lanes, unsigned d) { write.template operator()<part<e>>(lanes, d); });
}

// Nothing is cached here; no counter counts these.
void cache_control(Wave&, const Instruction&) {}

constexpr bool extend  = true;
constexpr unsigned low = 1, high = 2;

constexpr NamedHandler handlers[] = {
    {"buffer_load_ubyte", &load<Element{1}>},
    {"buffer_load_sbyte", &load<Element{1, extend}>},
    {"buffer_load_ushort", &load<Element{2}>},
    {"buffer_load_sshort", &load<Element{2, extend}>},
    {"buffer_load_dword", &load<Element{4}>},
    {"buffer_load_dwordx2", &load<Element{8}>},
    {"buffer_load_dwordx3", &load<Element{12}>},
    {"buffer_load_dwordx4", &load<Element{16}>},
    {"buffer_load_ubyte_d16", &load<Element{1, false, low}>},
    {"buffer_load_ubyte_d16_hi", &load<Element{1, false, high}>},
    {"buffer_load_sbyte_d16", &load<Element{1, extend, low}>},
    {"buffer_load_sbyte_d16_hi", &load<Element{1, extend, high}>},
    {"buffer_load_short_d16", &load<Element{2, false, low}>},
    {"buffer_load_short_d16_hi", &load<Element{2, false, high}>},
    {"buffer_store_byte", &store<Element{1}>},
    {"buffer_store_byte_d16_hi", &store<Element{1, false, high}>},
    {"buffer_store_short", &store<Element{2}>},
    {"buffer_store_short_d16_hi", &store<Element{2, false, high}>},
    {"buffer_store_dword", &store<Element{4}>},
    {"buffer_store_dwordx2", &store<Element{8}>},
    {"buffer_store_dwordx3", &store<Element{12}>},
    {"buffer_store_dwordx4", &store<Element{16}>},
    {"buffer_wbl2", &cache_control},
    {"buffer_invl2", &cache_control},
    {"buffer_inv", &cache_control},
    {"buffer_wbinvl1", &cache_control},
    {"buffer_wbinvl1_vol", &cache_control},
};

} // namespace

HandlerTable buffer_handlers() { return handlers; }

} // namespace ckprof::emulator
