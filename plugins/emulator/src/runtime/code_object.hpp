// SPDX-License-Identifier: MIT
// A code object (ELF) in the device's memory: its code, its constants and variables, its kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_memory.hpp"
#include "isa/decoder.hpp"

namespace ckprof::emulator {

// One argument, given by the program or hidden, where it lies in the kernel's block of arguments.
struct KernelArgument
{
    std::string kind; // as metadata say it, e.g. by_value, hidden_block_count_x
    uint32_t offset = 0, bytes = 0;
    bool hidden() const { return kind.starts_with("hidden_"); }
};

struct Kernel
{
    std::string name;
    uint32_t lds_bytes = 0, scratch_lane_bytes = 0, argument_bytes = 0;
    uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0; // as the compiler wants the registers of the hardware
    uint16_t properties      = 0;             // which values scalar registers begin with
    uint16_t preload         = 0; // arguments in scalar registers: dwords 6:0, from dword 15:7
    uint64_t descriptor      = 0; // address
    const Instruction* entry = nullptr;
    uint32_t offset          = 0; // of its symbol from the program's first word on
    std::vector<KernelArgument> arguments;
    uint32_t threads_most = 1024; // of a workgroup
    // that a wave has; vector ones with those for accumulation
    uint32_t vector_registers = 0, scalar_registers = 0;
    // of the vector registers, those for accumulation; registers that the compiler has moved to
    // memory
    uint32_t accumulators = 0, vector_spills = 0, scalar_spills = 0;
};

struct PackedValue;

struct Variable
{ uint64_t address = 0, bytes = 0; };

class CodeObject
{
public:
    // Throws std::runtime_error for what is none, or needs what the emulator does not have.
    CodeObject(Architecture architecture, std::span<const std::byte> elf, DeviceMemory& memory);
    ~CodeObject();
    CodeObject(const CodeObject&)            = delete;
    CodeObject& operator=(const CodeObject&) = delete;

    const Program& program() const { return *program_; }
    // Of the program's first word, as the file counts.
    uint64_t code_address() const { return code_address_; }
    const Kernel* find(const std::string& name) const;
    // Takes the n-th (from 1) instruction of a name out of a kernel; false if it has fewer.
    bool omit(const Kernel& kernel, std::string_view instruction, unsigned n);
    // Takes all matrix instructions out.
    void omit_matrix();
    std::optional<Variable> variable(const std::string& name) const;

private:
    struct Freed
    { void operator()(std::byte* memory) const; };

    void load(std::span<const std::byte> elf);
    void relocate(std::span<const std::byte> elf);
    void read_symbols(std::span<const std::byte> elf);
    void read_kernels(std::span<const std::byte> elf);
    static void read_arguments(Kernel& kernel, const PackedValue& all);

    DeviceMemory& memory_;
    std::unique_ptr<std::byte, Freed> image_;
    size_t image_bytes_ = 0;
    std::vector<uint64_t> segments_; // addresses that kernels may read
    std::map<std::string, Variable> symbols_;
    std::unique_ptr<Program> program_;
    uint64_t code_address_ = 0;
    std::map<std::string, Kernel> kernels_;
};

} // namespace ckprof::emulator
