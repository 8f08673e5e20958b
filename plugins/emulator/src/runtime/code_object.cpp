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

// More than any device has, or any compiler makes.
constexpr uint64_t image_most                   = uint64_t{1} << 30;
constexpr uint64_t arguments_most               = uint64_t{1} << 20; // bytes
constexpr uint64_t scratch_lane_most            = uint64_t{1} << 17; // bytes
constexpr uint64_t threads_most                 = 1024;
constexpr uint64_t registers_most               = 1024;
constexpr unsigned preloaded_most               = 32; // dwords
constexpr std::string_view kinds_of_arguments[] = {
    "by_value", "global_buffer", "dynamic_shared_pointer", "sampler", "image", "pipe", "queue"};

// A name for messages: files may say anything.
std::string shown(std::string_view name)
{
    constexpr size_t most = 200;
    std::string text(name.substr(0, most));
    std::ranges::replace_if(text, [](char one) { return one < ' ' || one > '~'; }, '?');
    return name.size() <= most ? text : text + "...";
}

uint32_t limited(uint64_t value, uint64_t most, const char* what, const std::string& kernel)
{
    if(value > most)
        throw std::runtime_error("the kernel " + shown(kernel) + " says " + std::to_string(value) +
                                 " " + what + ", more than " + std::to_string(most));
    return static_cast<uint32_t>(value);
}

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

// What lies in memory, in the order of addresses.
std::vector<Elf64_Phdr> loadable(std::span<const std::byte> elf)
{
    std::vector<Elf64_Phdr> all;
    uint64_t end = 0;
    for(const Elf64_Phdr& segment : segments(elf))
    {
        if(segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
        if(segment.p_vaddr > image_most || segment.p_memsz > image_most - segment.p_vaddr)
            throw std::runtime_error("a segment of the code object lies above " +
                                     std::to_string(image_most) + " bytes");
        if(segment.p_filesz > segment.p_memsz)
            throw std::runtime_error("a segment of the code object does not fit into its memory");
        if(segment.p_vaddr < end) throw std::runtime_error("segments of the code object overlap");
        end = segment.p_vaddr + segment.p_memsz;
        all.push_back(segment);
    }
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
    if(header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
       (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr)) ||
       (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr)))
        throw std::runtime_error("the code object has headers of another size or byte order");
    load(elf);
    read_symbols(elf);
    relocate(elf);
    for(const Elf64_Phdr& segment : loadable(elf))
        if((segment.p_flags & PF_X) != 0 && program_ == nullptr)
        {
            if(segment.p_vaddr % sizeof(uint32_t) != 0)
                throw std::runtime_error("the code of the code object is not aligned");
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
    for(const Elf64_Phdr& segment : loadable(elf))
    {
        segments_.push_back(reinterpret_cast<uint64_t>(image_.get()) + segment.p_vaddr);
        memory_.add(segments_.back(), segment.p_memsz);
    }
}

CodeObject::~CodeObject()
{
    for(const uint64_t segment : segments_) memory_.remove(segment);
}

void CodeObject::load(std::span<const std::byte> elf)
{
    const std::vector<Elf64_Phdr> all = loadable(elf);
    if(!all.empty()) image_bytes_ = all.back().p_vaddr + all.back().p_memsz;
    image_bytes_ = (image_bytes_ / page_bytes + 1) * page_bytes;
    image_.reset(static_cast<std::byte*>(std::aligned_alloc(page_bytes, image_bytes_)));
    if(image_ == nullptr) throw std::bad_alloc();
    std::memset(image_.get(), 0, image_bytes_);
    for(const Elf64_Phdr& segment : all)
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
            if(symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
            const auto rest = part(text,
                                   symbol.st_name,
                                   text.size() - std::min<uint64_t>(symbol.st_name, text.size()));
            const auto end  = std::ranges::find(rest, std::byte{0});
            if(end == rest.end())
                throw std::runtime_error("the code object has a name without an end");
            std::string name(reinterpret_cast<const char*>(rest.data()),
                             static_cast<size_t>(end - rest.begin()));
            if(symbol.st_value > image_bytes_ || symbol.st_size > image_bytes_ - symbol.st_value)
                throw std::runtime_error("the symbol " + shown(name) +
                                         " lies outside of the code object's memory");
            symbols_[std::move(name)] = {reinterpret_cast<uint64_t>(image_.get()) + symbol.st_value,
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
                if(symbols.empty())
                    throw std::runtime_error("the code object has relocations and no symbols");
                const auto symbol = read<Elf64_Sym>(
                    elf, symbols[0].sh_offset + ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym));
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
            throw std::runtime_error("the kernel " + shown(kernel.name) + " has no descriptor");
        kernel.descriptor = found->second.address;
        const std::span descriptor(reinterpret_cast<const std::byte*>(kernel.descriptor),
                                   descriptor_bytes);
        kernel.lds_bytes          = read<uint32_t>(descriptor, 0);
        kernel.scratch_lane_bytes = limited(read<uint32_t>(descriptor, 4),
                                            scratch_lane_most,
                                            "bytes of scratch per work-item",
                                            kernel.name);
        kernel.argument_bytes = limited(std::max<uint64_t>(read<uint32_t>(descriptor, 8),
                                                           entry[".kernarg_segment_size"].number),
                                        arguments_most,
                                        "bytes of arguments",
                                        kernel.name);
        kernel.rsrc3          = read<uint32_t>(descriptor, 44);
        kernel.rsrc1          = read<uint32_t>(descriptor, 48);
        kernel.rsrc2          = read<uint32_t>(descriptor, 52);
        kernel.properties     = read<uint16_t>(descriptor, 56);
        kernel.preload        = read<uint16_t>(descriptor, 58);
        // who preloads arguments skips the code that would load them, or stop those who do not
        const uint64_t skipped = (kernel.preload & 0x7f) != 0 ? preload_prologue_bytes : 0;
        kernel.entry = program_->at(kernel.descriptor + read<uint64_t>(descriptor, 16) + skipped);
        if(kernel.entry == nullptr)
            throw std::runtime_error("the kernel " + shown(kernel.name) +
                                     " begins outside of the code");
        if(const uint64_t most = entry[".max_flat_workgroup_size"].number; most != 0)
            kernel.threads_most = limited(most, threads_most, "work-items", kernel.name);
        kernel.vector_registers =
            limited(entry[".vgpr_count"].number, registers_most, "vector registers", kernel.name);
        kernel.scalar_registers =
            limited(entry[".sgpr_count"].number, registers_most, "scalar registers", kernel.name);
        kernel.accumulators  = static_cast<uint32_t>(entry[".agpr_count"].number);
        kernel.vector_spills = static_cast<uint32_t>(entry[".vgpr_spill_count"].number);
        kernel.scalar_spills = static_cast<uint32_t>(entry[".sgpr_spill_count"].number);
        read_arguments(kernel, entry[".args"]);
        const auto code  = symbols_.find(kernel.name);
        const bool named = code != symbols_.end() && program_->at(code->second.address) != nullptr;
        kernel.offset    = static_cast<uint32_t>(
            (named ? code->second.address : program_->address_of(*kernel.entry)) -
            program_->base());
        std::string name = kernel.name;
        kernels_.emplace(std::move(name), std::move(kernel));
    }
}

void CodeObject::read_arguments(Kernel& kernel, const PackedValue& all)
{
    uint64_t end = 0;
    for(const PackedValue& argument : all.items)
    {
        KernelArgument read{argument[".value_kind"].text, 0, 0};
        const uint64_t offset = argument[".offset"].number, bytes = argument[".size"].number;
        if(!read.hidden() &&
           std::ranges::find(kinds_of_arguments, read.kind) == std::ranges::end(kinds_of_arguments))
            throw std::runtime_error("the kernel " + shown(kernel.name) +
                                     " has an argument of the unknown kind '" + shown(read.kind) +
                                     "'");
        if(offset < end || offset > kernel.argument_bytes ||
           bytes > kernel.argument_bytes - offset || (read.hidden() && bytes > sizeof(uint64_t)))
            throw std::runtime_error("an argument of kernel " + shown(kernel.name) +
                                     " overlaps another one, or does not fit into the block of "
                                     "arguments");
        end         = offset + bytes;
        read.offset = static_cast<uint32_t>(offset);
        read.bytes  = static_cast<uint32_t>(bytes);
        kernel.arguments.push_back(std::move(read));
    }
    const uint64_t preloaded = kernel.preload & 0x7f, first = kernel.preload >> 7;
    if(preloaded > preloaded_most || (first + preloaded) * 4 > (kernel.argument_bytes + 3) / 4 * 4)
        throw std::runtime_error("the kernel " + shown(kernel.name) + " preloads " +
                                 std::to_string(preloaded) + " dwords of arguments from " +
                                 std::to_string(first) + " on, which it does not have");
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
