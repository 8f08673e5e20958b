// SPDX-License-Identifier: MIT
#include "runtime/code_object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "runtime/message_pack.hpp"

namespace ckprof::emulator {
namespace {

constexpr uint64_t page_bytes          = 4096;
constexpr uint16_t machine_amdgpu      = 224;
constexpr uint32_t note_metadata       = 32;
constexpr uint32_t relocation_absolute = 3, relocation_relative = 13; // of 64 bits
constexpr size_t descriptor_bytes         = 64;
constexpr uint64_t preload_prologue_bytes = 256;

template <typename T>
T read(std::span<const std::byte> bytes, uint64_t offset)
{
    if(offset > bytes.size() || sizeof(T) > bytes.size() - offset)
        throw std::runtime_error("the code object ends too early");
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::span<const std::byte> part(std::span<const std::byte> bytes, uint64_t offset, uint64_t count)
{
    if(offset > bytes.size() || count > bytes.size() - offset)
        throw std::runtime_error("the code object ends too early");
    return bytes.subspan(offset, count);
}

std::vector<Elf64_Phdr> segments(std::span<const std::byte> elf)
{
    const auto header = read<Elf64_Ehdr>(elf, 0);
    std::vector<Elf64_Phdr> all;
    for(unsigned n = 0; n < header.e_phnum; ++n)
        all.push_back(read<Elf64_Phdr>(elf, header.e_phoff + n * sizeof(Elf64_Phdr)));
    return all;
}

std::vector<Elf64_Shdr> sections(std::span<const std::byte> elf, uint32_t type)
{
    const auto header = read<Elf64_Ehdr>(elf, 0);
    std::vector<Elf64_Shdr> all;
    for(unsigned n = 0; n < header.e_shnum; ++n)
    {
        const auto section = read<Elf64_Shdr>(elf, header.e_shoff + n * sizeof(Elf64_Shdr));
        if(section.sh_type == type) all.push_back(section);
    }
    return all;
}

PackedValue metadata(std::span<const std::byte> elf)
{
    const auto aligned = [](uint64_t bytes) { return (bytes + 3) / 4 * 4; };
    for(const Elf64_Phdr& segment : segments(elf))
    {
        if(segment.p_type != PT_NOTE) continue;
        const auto notes = part(elf, segment.p_offset, segment.p_filesz);
        for(uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();)
        {
            const auto note     = read<Elf64_Nhdr>(notes, at);
            const uint64_t text = at + sizeof(note) + aligned(note.n_namesz);
            if(note.n_type == note_metadata)
                return read_message_pack(part(notes, text, note.n_descsz));
            at = text + aligned(note.n_descsz);
        }
    }
    throw std::runtime_error("the code object has no metadata; it is older than version 3");
}

} // namespace

void CodeObject::Freed::operator()(std::byte* memory) const { std::free(memory); }

CodeObject::CodeObject(Architecture architecture,
                       std::span<const std::byte> elf,
                       DeviceMemory& memory)
    : memory_(memory)
{
    const auto header = read<Elf64_Ehdr>(elf, 0);
    if(std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != machine_amdgpu)
        throw std::runtime_error("the device code is no code object of an AMD GPU");
    load(elf);
    read_symbols(elf);
    relocate(elf);
    for(const Elf64_Phdr& segment : segments(elf))
        if(segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && program_ == nullptr)
        {
            code_address_         = segment.p_vaddr;
            const std::byte* code = image_.get() + segment.p_vaddr;
            program_              = std::make_unique<Program>(
                architecture,
                std::span(reinterpret_cast<const uint32_t*>(code), segment.p_filesz / 4),
                reinterpret_cast<uint64_t>(code));
        }
    if(program_ == nullptr) throw std::runtime_error("the code object has no code");
    read_kernels(elf);
    // kernels read code, constants and variables; what lies between segments is no one's
    for(const Elf64_Phdr& segment : segments(elf))
        if(segment.p_type == PT_LOAD)
            memory_.add(reinterpret_cast<uint64_t>(image_.get()) + segment.p_vaddr,
                        segment.p_memsz);
}

CodeObject::~CodeObject() = default;

void CodeObject::load(std::span<const std::byte> elf)
{
    for(const Elf64_Phdr& segment : segments(elf))
        if(segment.p_type == PT_LOAD)
            image_bytes_ = std::max(image_bytes_, segment.p_vaddr + segment.p_memsz);
    image_bytes_ = (image_bytes_ / page_bytes + 1) * page_bytes;
    image_.reset(static_cast<std::byte*>(std::aligned_alloc(page_bytes, image_bytes_)));
    if(image_ == nullptr) throw std::bad_alloc();
    std::memset(image_.get(), 0, image_bytes_);
    for(const Elf64_Phdr& segment : segments(elf))
        if(segment.p_type == PT_LOAD)
            std::ranges::copy(part(elf, segment.p_offset, segment.p_filesz),
                              image_.get() + segment.p_vaddr);
}

void CodeObject::read_symbols(std::span<const std::byte> elf)
{
    for(const Elf64_Shdr& table : sections(elf, SHT_DYNSYM))
    {
        const auto header = read<Elf64_Ehdr>(elf, 0);
        const auto names =
            read<Elf64_Shdr>(elf, header.e_shoff + uint64_t{table.sh_link} * sizeof(Elf64_Shdr));
        const auto text = part(elf, names.sh_offset, names.sh_size);
        for(uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym))
        {
            const auto symbol = read<Elf64_Sym>(elf, table.sh_offset + at);
            if(symbol.st_shndx == SHN_UNDEF || symbol.st_name >= text.size()) continue;
            const char* name = reinterpret_cast<const char*>(text.data()) + symbol.st_name;
            symbols_[name]   = {reinterpret_cast<uint64_t>(image_.get()) + symbol.st_value,
                                symbol.st_size};
        }
    }
}

void CodeObject::relocate(std::span<const std::byte> elf)
{
    const auto base = reinterpret_cast<uint64_t>(image_.get());
    for(const Elf64_Shdr& table : sections(elf, SHT_RELA))
        for(uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela))
        {
            const auto entry    = read<Elf64_Rela>(elf, table.sh_offset + at);
            const uint64_t type = ELF64_R_TYPE(entry.r_info);
            uint64_t value      = base + static_cast<uint64_t>(entry.r_addend);
            if(type == relocation_absolute)
            {
                const auto symbols = sections(elf, SHT_DYNSYM);
                const auto symbol  = read<Elf64_Sym>(
                    elf, symbols.at(0).sh_offset + ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym));
                value += symbol.st_value;
            }
            else if(type != relocation_relative)
                throw std::runtime_error("the code object has relocations of type " +
                                         std::to_string(type) + ", which are not emulated");
            if(entry.r_offset > image_bytes_ - sizeof(value))
                throw std::runtime_error("the code object has a relocation outside its memory");
            std::memcpy(image_.get() + entry.r_offset, &value, sizeof(value));
        }
}

void CodeObject::read_kernels(std::span<const std::byte> elf)
{
    const PackedValue all = metadata(elf);
    for(const PackedValue& entry : all["amdhsa.kernels"].items)
    {
        Kernel kernel;
        kernel.name      = entry[".name"].text;
        const auto found = symbols_.find(entry[".symbol"].text);
        if(found == symbols_.end() || found->second.bytes != descriptor_bytes)
            throw std::runtime_error("the kernel " + kernel.name + " has no descriptor");
        kernel.descriptor = found->second.address;
        const std::span descriptor(reinterpret_cast<const std::byte*>(kernel.descriptor),
                                   descriptor_bytes);
        kernel.lds_bytes          = read<uint32_t>(descriptor, 0);
        kernel.scratch_lane_bytes = read<uint32_t>(descriptor, 4);
        kernel.argument_bytes =
            std::max(read<uint32_t>(descriptor, 8),
                     static_cast<uint32_t>(entry[".kernarg_segment_size"].number));
        kernel.rsrc3      = read<uint32_t>(descriptor, 44);
        kernel.rsrc1      = read<uint32_t>(descriptor, 48);
        kernel.rsrc2      = read<uint32_t>(descriptor, 52);
        kernel.properties = read<uint16_t>(descriptor, 56);
        kernel.preload    = read<uint16_t>(descriptor, 58);
        // who preloads arguments skips the code that would load them, or stop those who do not
        const uint64_t skipped = (kernel.preload & 0x7f) != 0 ? preload_prologue_bytes : 0;
        kernel.entry = program_->at(kernel.descriptor + read<uint64_t>(descriptor, 16) + skipped);
        if(kernel.entry == nullptr)
            throw std::runtime_error("the kernel " + kernel.name + " begins outside of the code");
        if(const uint64_t most = entry[".max_flat_workgroup_size"].number; most != 0)
            kernel.threads_most = static_cast<uint32_t>(most);
        kernel.vector_registers = static_cast<uint32_t>(entry[".vgpr_count"].number);
        kernel.scalar_registers = static_cast<uint32_t>(entry[".sgpr_count"].number);
        for(const PackedValue& argument : entry[".args"].items)
            kernel.arguments.push_back({argument[".value_kind"].text,
                                        static_cast<uint32_t>(argument[".offset"].number),
                                        static_cast<uint32_t>(argument[".size"].number)});
        std::string name = kernel.name;
        kernels_.emplace(std::move(name), std::move(kernel));
    }
}

const Kernel* CodeObject::find(const std::string& name) const
{
    const auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : &found->second;
}

bool CodeObject::omit(const Kernel& kernel, std::string_view instruction, unsigned n)
{
    const auto code = symbols_.find(kernel.name);
    if(code == symbols_.end()) return false;
    for(const Instruction& i : program_->instructions())
    {
        const uint64_t address = program_->address_of(i);
        const bool inside      = address - code->second.address < code->second.bytes;
        if(!inside || i.info == nullptr || i.info->name != instruction || --n != 0) continue;
        program_->omit(i);
        return true;
    }
    return false;
}

void CodeObject::omit_matrix()
{
    for(const Instruction& i : program_->instructions())
        if(i.info != nullptr && (std::string_view(i.info->name).starts_with("v_mfma") ||
                                 std::string_view(i.info->name).starts_with("v_smfmac")))
            program_->omit(i);
}

std::optional<Variable> CodeObject::variable(const std::string& name) const
{
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace ckprof::emulator
