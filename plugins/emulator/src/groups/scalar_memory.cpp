// SPDX-License-Identifier: MIT
// Loads and stores of one value per wave, and clocks.
#include <chrono>

#include "groups/buffer_resource.hpp"
#include "groups/memory.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

uint64_t offset_of(Wave& wave, const Instruction& i)
{
    const bool has_register = i.scalar_offset.kind != Operand::Kind::none;
    return static_cast<uint64_t>(int64_t{i.immediate}) +
           (has_register ? wave.read32(i.scalar_offset) : 0);
}

void observe_scalar(Wave& wave,
                    const Instruction& i,
                    Access access,
                    uint64_t address,
                    unsigned bytes,
                    unsigned first_byte = 0)
{
    if(wave.observer == nullptr) return;
    const uint64_t lanes[lane_count] = {address};
    wave.observe(i, {Space::global, access, 1, lanes, bytes, i.destination.number, first_byte});
}

// Registers to be written once all scalar loads are waited for.
void load_results(Wave& wave, const Instruction& i, const uint32_t* values, unsigned dwords)
{
    PendingOperation& operation = wave.issue(wave.scalar_memory, i, dwords);
    for(unsigned d = 0; d < dwords; ++d)
    {
        PendingRegister& to = wave.scalar_memory.at(operation, d);
        to.kind             = PendingRegister::Kind::scalar;
        to.number           = static_cast<uint16_t>(i.destination.number + d);
        to.value.lane[0]    = values[d];
    }
}

template <unsigned dwords>
void load(Wave& wave, const Instruction& i)
{
    // the two lowest bits of addresses are ignored
    const uint64_t address =
        (wave.scalar64(i.source[0].number) + offset_of(wave, i)) & ~uint64_t{3};
    wave.check_global(i, address, 4 * dwords, false);
    observe_scalar(wave, i, Access::read, address, 4 * dwords);
    uint32_t values[dwords];
    std::memcpy(values, reinterpret_cast<const void*>(address), sizeof(values));
    load_results(wave, i, values, dwords);
}

template <unsigned dwords>
void store(Wave& wave, const Instruction& i)
{
    const uint64_t address =
        (wave.scalar64(i.source[0].number) + offset_of(wave, i)) & ~uint64_t{3};
    wave.check_global(i, address, 4 * dwords, true);
    observe_scalar(wave, i, Access::write, address, 4 * dwords);
    std::memcpy(
        reinterpret_cast<void*>(address), wave.scalar.data() + i.destination.number, 4 * dwords);
    wave.issue(wave.scalar_memory, i, 0);
}

// The dwords of a buffer that lie within it, each by itself: visit(dword, address).
template <unsigned dwords, typename Visit>
void for_dwords_within(Wave& wave, const Instruction& i, Visit&& visit)
{
    const BufferResource buffer(wave, i.source[0]);
    const uint64_t size   = uint64_t{buffer.records} * (buffer.stride == 0 ? 1 : buffer.stride);
    const uint64_t offset = offset_of(wave, i) & ~uint64_t{3};
    for(unsigned d = 0; d < dwords; ++d)
        if(offset + 4 * d + 4 <= size) visit(d, (buffer.base & ~uint64_t{3}) + offset + 4 * d);
}

template <unsigned dwords>
void buffer_load(Wave& wave, const Instruction& i)
{
    uint32_t values[dwords] = {};
    for_dwords_within<dwords>(wave, i, [&](unsigned d, uint64_t address) {
        wave.check_global(i, address, 4, false);
        observe_scalar(wave, i, Access::read, address, 4, 4 * d);
        std::memcpy(values + d, reinterpret_cast<const void*>(address), 4);
    });
    load_results(wave, i, values, dwords);
}

template <unsigned dwords>
void buffer_store(Wave& wave, const Instruction& i)
{
    for_dwords_within<dwords>(wave, i, [&](unsigned d, uint64_t address) {
        wave.check_global(i, address, 4, true);
        observe_scalar(wave, i, Access::write, address, 4, 4 * d);
        std::memcpy(
            reinterpret_cast<void*>(address), wave.scalar.data() + i.destination.number + d, 4);
    });
    wave.issue(wave.scalar_memory, i, 0);
}

// Ticks of `rate` per second.
template <uint64_t rate>
void clock(Wave& wave, const Instruction& i)
{
    const auto now         = std::chrono::steady_clock::now().time_since_epoch();
    const uint64_t ns      = static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
    const uint64_t ticks   = ns / (1'000'000'000 / rate);
    const uint32_t words[] = {static_cast<uint32_t>(ticks), static_cast<uint32_t>(ticks >> 32)};
    load_results(wave, i, words, 2);
}

// Nothing is cached here.
void cache_control(Wave&, const Instruction&) {}

constexpr NamedHandler handlers[] = {
    {"s_load_dword", &load<1>},
    {"s_load_dwordx2", &load<2>},
    {"s_load_dwordx4", &load<4>},
    {"s_load_dwordx8", &load<8>},
    {"s_load_dwordx16", &load<16>},
    {"s_store_dword", &store<1>},
    {"s_store_dwordx2", &store<2>},
    {"s_store_dwordx4", &store<4>},
    {"s_buffer_load_dword", &buffer_load<1>},
    {"s_buffer_load_dwordx2", &buffer_load<2>},
    {"s_buffer_load_dwordx4", &buffer_load<4>},
    {"s_buffer_load_dwordx8", &buffer_load<8>},
    {"s_buffer_load_dwordx16", &buffer_load<16>},
    {"s_buffer_store_dword", &buffer_store<1>},
    {"s_buffer_store_dwordx2", &buffer_store<2>},
    {"s_buffer_store_dwordx4", &buffer_store<4>},
    {"s_memtime", &clock<1'000'000'000>},
    {"s_memrealtime", &clock<100'000'000>},
    {"s_dcache_inv", &cache_control},
    {"s_dcache_wb", &cache_control},
    {"s_dcache_inv_vol", &cache_control},
    {"s_dcache_wb_vol", &cache_control},
    {"s_dcache_discard", &cache_control},
    {"s_dcache_discard_x2", &cache_control},
    {"s_atc_probe", &cache_control},
    {"s_atc_probe_buffer", &cache_control},
};

} // namespace

HandlerTable scalar_memory_handlers() { return handlers; }

} // namespace ckprof::emulator
