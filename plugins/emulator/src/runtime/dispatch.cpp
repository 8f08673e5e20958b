// SPDX-License-Identifier: MIT
#include "runtime/dispatch.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string_view>

#include "core/scratch.hpp"

namespace ckprof::emulator {
namespace {

// Bits of Kernel::properties, in the order in which scalar registers are handed out.
constexpr unsigned private_segment_buffer = 1 << 0, dispatch_packet = 1 << 1, queue = 1 << 2,
                   argument_segment = 1 << 3, dispatch_id = 1 << 4, flat_scratch_init = 1 << 5,
                   private_segment_size = 1 << 6;

// Bits of rsrc2.
constexpr uint32_t uses_scratch = 1, workgroup_id = 1 << 7, workgroup_info = 1 << 10;

constexpr uint64_t page_bytes   = 4096;
constexpr size_t queue_bytes    = 256;                      // amd_queue_t
constexpr size_t shared_base_at = 64, private_base_at = 68; // in it: upper halves of apertures
constexpr uint32_t register_grain = 8;
// HSA's segments of arguments are multiples of it, and compilers load whole dwords of the last one.
constexpr size_t argument_grain = 16;

// hsa_kernel_dispatch_packet_t
struct Packet
{
    uint16_t header, setup, block[3], reserved0;
    uint32_t grid[3], private_segment_bytes, group_segment_bytes;
    uint64_t descriptor, arguments, reserved1, completion_signal;
};
static_assert(sizeof(Packet) == 64);

constexpr uint16_t packet_of_a_kernel = 2;

uint32_t upper_half(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

// By the number of the last dimension that is larger than 1.
uint16_t dimensions(const LaunchShape& shape)
{
    for(uint16_t last = 2; last > 0; --last)
        if(shape.grid[last] > 1 || shape.block[last] > 1) return static_cast<uint16_t>(last + 1);
    return 1;
}

void fill_bytes(std::span<std::byte> bytes, uint32_t value)
{
    for(size_t at = 0; at + sizeof(value) <= bytes.size(); at += sizeof(value))
        std::memcpy(bytes.data() + at, &value, sizeof(value));
    if(const size_t rest = bytes.size() % 4; rest != 0)
        std::memcpy(bytes.data() + bytes.size() - rest, &value, rest);
}

void resize(std::vector<std::byte>& bytes, size_t count, uint32_t undefined)
{
    bytes.resize(count);
    fill_bytes(bytes, undefined);
}

} // namespace

struct Dispatch::Block
{
    Block(DeviceMemory& memory_, size_t argument_bytes)
        : memory(memory_),
          bytes((sizeof(Packet) + queue_bytes + argument_bytes + page_bytes - 1) / page_bytes *
                page_bytes),
          begin(static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes)))
    {
        if(begin == nullptr) throw std::bad_alloc();
        std::memset(begin, 0, bytes);
        memory.add(packet(), sizeof(Packet));
        memory.add(queue_address(), queue_bytes);
        if(argument_bytes != 0)
            memory.add(arguments(),
                       (argument_bytes + argument_grain - 1) / argument_grain * argument_grain);
    }
    ~Block()
    {
        for(const uint64_t address : {packet(), queue_address(), arguments()})
            memory.remove(address);
        std::free(begin);
    }
    Block(const Block&)            = delete;
    Block& operator=(const Block&) = delete;

    uint64_t packet() const { return reinterpret_cast<uint64_t>(begin); }
    uint64_t queue_address() const { return packet() + sizeof(Packet); }
    uint64_t arguments() const { return queue_address() + queue_bytes; }

    DeviceMemory& memory;
    size_t bytes;
    std::byte* begin;
};

Dispatch::Dispatch(const Kernel& kernel,
                   const LaunchShape& shape,
                   void** arguments,
                   Architecture architecture,
                   DeviceMemory& memory,
                   uint32_t undefined)
    : kernel_(kernel),
      shape_(shape),
      architecture_(architecture),
      undefined_(undefined),
      threads_(shape.block[0] * shape.block[1] * shape.block[2]),
      block_(std::make_unique<Block>(memory, kernel.argument_bytes))
{
    write_arguments(arguments);
    write_packet();
}

Dispatch::~Dispatch() = default;

void Dispatch::write_arguments(void** arguments)
{
    std::byte* begin = block_->begin + (block_->arguments() - block_->packet());
    const std::map<std::string_view, uint64_t> hidden{
        {"hidden_block_count_x", shape_.grid[0]},
        {"hidden_block_count_y", shape_.grid[1]},
        {"hidden_block_count_z", shape_.grid[2]},
        {"hidden_group_size_x", shape_.block[0]},
        {"hidden_group_size_y", shape_.block[1]},
        {"hidden_group_size_z", shape_.block[2]},
        {"hidden_grid_dims", dimensions(shape_)},
        {"hidden_dynamic_lds_size", shape_.dynamic_lds_bytes},
        {"hidden_private_base", upper_half(Workgroup::private_base)},
        {"hidden_shared_base", upper_half(Workgroup::shared_base)},
        {"hidden_queue_ptr", block_->queue_address()},
        // remainders, global offsets, buffers for what the host would have to do: 0
    };
    size_t next = 0;
    for(const KernelArgument& argument : kernel_.arguments)
    {
        if(!argument.hidden())
            std::memcpy(begin + argument.offset, arguments[next++], argument.bytes);
        else if(const auto value = hidden.find(argument.kind); value != hidden.end())
            std::memcpy(begin + argument.offset, &value->second, argument.bytes);
    }
}

void Dispatch::write_packet()
{
    Packet packet{};
    packet.header = packet_of_a_kernel;
    packet.setup  = dimensions(shape_);
    for(size_t d = 0; d < 3; ++d)
    {
        packet.block[d] = static_cast<uint16_t>(shape_.block[d]);
        packet.grid[d]  = shape_.grid[d] * shape_.block[d];
    }
    packet.private_segment_bytes = kernel_.scratch_lane_bytes;
    packet.group_segment_bytes   = kernel_.lds_bytes + shape_.dynamic_lds_bytes;
    packet.descriptor            = kernel_.descriptor;
    packet.arguments             = block_->arguments();
    std::memcpy(block_->begin, &packet, sizeof(packet));
    std::byte* const queue_begin = block_->begin + sizeof(packet);
    const uint32_t shared        = upper_half(Workgroup::shared_base),
                   privately     = upper_half(Workgroup::private_base);
    std::memcpy(queue_begin + shared_base_at, &shared, sizeof(shared));
    std::memcpy(queue_begin + private_base_at, &privately, sizeof(privately));
}

void Dispatch::prepare(Workgroup& group, uint64_t index, const Launch& launch) const
{
    group.launch = &launch;
    group.id     = {static_cast<uint32_t>(index % shape_.grid[0]),
                    static_cast<uint32_t>(index / shape_.grid[0] % shape_.grid[1]),
                    static_cast<uint32_t>(index / shape_.grid[0] / shape_.grid[1])};
    group.waves.resize((threads_ + lane_count - 1) / lane_count);
    resize(group.lds, kernel_.lds_bytes + shape_.dynamic_lds_bytes, undefined_);
    unsigned number = 0;
    for(Wave& wave : group.waves)
    {
        wave.state    = WaveState::running;
        wave.group    = &group;
        wave.program  = launch.program;
        wave.pc       = kernel_.entry;
        wave.observer = group.observer;
        wave.number   = number++;
        wave.executed = 0;
        wave.issued   = 0;
        wave.recent   = {};
        wave.vector_memory.clear();
        wave.local_memory.clear();
        wave.scalar_memory.clear();
        // round and denormals 7:0, dx10_clamp 8, ieee 9
        wave.mode = Mode::from_bits((kernel_.rsrc1 >> 12 & 0xff) | (kernel_.rsrc1 >> 21 & 1) << 8 |
                                    (kernel_.rsrc1 >> 23 & 1) << 9);
        wave.scc  = (undefined_ & 1) != 0;
        wave.scratch_lane_bytes = kernel_.scratch_lane_bytes;
        resize(wave.scratch, scratch_bytes(kernel_.scratch_lane_bytes), undefined_);
        set_lanes(wave);
        set_scalars(wave, group);
    }
}

void Dispatch::set_lanes(Wave& wave) const
{
    const uint32_t all   = ((kernel_.rsrc1 & 0x3f) + 1) * register_grain;
    const uint32_t plain = ((kernel_.rsrc3 & 0x3f) + 1) * 4;
    // Where plain registers leave more of them, the rest has no number.
    const uint32_t accumulation = all > plain ? std::min(all - plain, 256u) : 0;
    for(uint32_t v = 0; v < std::min(all, plain); ++v) fill(wave.vector[v], undefined_);
    for(uint32_t v = 0; v < accumulation; ++v) fill(wave.vector[256 + v], undefined_);
    const uint32_t first = wave.number * lane_count;
    for(uint32_t lane = 0; lane < lane_count; ++lane)
    {
        const uint32_t thread = first + lane, row = thread / shape_.block[0];
        wave.vector[0].lane[lane] =
            thread % shape_.block[0] | row % shape_.block[1] << 10 | row / shape_.block[1] << 20;
    }
    const uint32_t lanes = std::min<uint32_t>(threads_ - first, lane_count);
    wave.set_exec(lanes == lane_count ? all_lanes : (LaneMask{1} << lanes) - 1);
}

void Dispatch::set_scalars(Wave& wave, const Workgroup& group) const
{
    const LaneMask exec = wave.exec();
    wave.scalar.fill(undefined_);
    wave.set_exec(exec);
    unsigned next    = 0;
    const auto add   = [&](uint32_t value) { wave.scalar[next++] = value; };
    const auto add64 = [&](uint64_t value) {
        add(static_cast<uint32_t>(value));
        add(upper_half(value));
    };
    const auto scratch = reinterpret_cast<uint64_t>(wave.scratch.data());
    const auto has     = [&](unsigned bit) { return (kernel_.properties & bit) != 0; };
    if(has(private_segment_buffer))
        for(const uint32_t dword : scratch_descriptor(wave)) add(dword);
    if(has(dispatch_packet)) add64(block_->packet());
    if(has(queue)) add64(block_->queue_address());
    if(has(argument_segment)) add64(block_->arguments());
    if(has(dispatch_id)) add64(0);
    if(has(flat_scratch_init)) add64(scratch);
    if(has(private_segment_size)) add(kernel_.scratch_lane_bytes);
    const unsigned preloaded = kernel_.preload & 0x7f, from = kernel_.preload >> 7;
    const auto* arguments = reinterpret_cast<const std::byte*>(block_->arguments());
    for(unsigned dword = from; dword < from + preloaded; ++dword)
    {
        uint32_t value;
        std::memcpy(&value, arguments + size_t{dword} * 4, sizeof(value));
        add(value);
    }
    next = kernel_.rsrc2 >> 1 & 0x1f;
    for(unsigned d = 0; d < 3; ++d)
        if((kernel_.rsrc2 & workgroup_id << d) != 0) add(group.id[d]);
    if((kernel_.rsrc2 & workgroup_info) != 0) add(wave.number);
    if(architecture_ == Architecture::gfx90a)
    {
        // each wave has scratch of its own, so that none lies behind another's
        if((kernel_.rsrc2 & uses_scratch) != 0) add(0);
    }
    else
        wave.set_scalar64(scalar::flat_scratch, scratch);
}

} // namespace ckprof::emulator
