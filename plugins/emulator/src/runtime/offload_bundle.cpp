// SPDX-License-Identifier: MIT
#include "runtime/offload_bundle.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace ckprof::emulator {
namespace {

constexpr std::string_view magic      = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed = "CCOB";
constexpr std::string_view device     = "hip";
constexpr uint16_t machine_amdgpu     = 224;

// Bounds of what a bundle says: nothing says how long it is itself.
constexpr uint64_t entries_most = 1024, name_most = 4096, code_most = uint64_t{1} << 30;
constexpr size_t piece = size_t{1} << 20;

// What the flags of an ELF call architectures (EF_AMDGPU_MACH).
constexpr uint32_t machine_bits = 0xff;
struct MachineName
{
    uint32_t number;
    const char* arch;
};
constexpr MachineName machines[] = {{0x3f, "gfx90a"}, {0x4c, "gfx942"}, {0x4f, "gfx950"}};

// Memory of this process that may not be there: the system copies it, and says if it is not.
class Reader
{
public:
    // `what` it is, in messages.
    Reader(const void* at, const char* what, size_t bytes = SIZE_MAX)
        : at_(reinterpret_cast<uint64_t>(at)),
          end_(bytes < UINT64_MAX - at_ ? at_ + bytes : UINT64_MAX),
          what_(what),
          file_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC))
    {}
    ~Reader()
    {
        if(file_ >= 0) close(file_);
    }
    Reader(const Reader&)            = delete;
    Reader& operator=(const Reader&) = delete;

    uint64_t number()
    {
        uint64_t value;
        copy(&value, at_, sizeof(value));
        at_ += sizeof(value);
        return value;
    }

    std::string text(uint64_t bytes)
    {
        if(bytes > name_most)
            throw std::runtime_error("the " + what_ + " has a name of " + std::to_string(bytes) +
                                     " bytes");
        std::string value(bytes, '\0');
        copy(value.data(), at_, bytes);
        at_ += bytes;
        return value;
    }

    template <typename T>
    T record(uint64_t at) const
    {
        T value;
        copy(&value, at, sizeof(value));
        return value;
    }

    std::vector<std::byte> code(uint64_t at, uint64_t bytes) const
    {
        if(bytes > code_most)
            throw std::runtime_error("the " + what_ + " has device code of " +
                                     std::to_string(bytes) + " bytes");
        std::vector<std::byte> all;
        while(all.size() < bytes)
        {
            const size_t done = all.size();
            all.resize(std::min<size_t>(bytes, done + piece));
            copy(all.data() + done, at + done, all.size() - done);
        }
        return all;
    }

private:
    void copy(void* to, uint64_t from, size_t bytes) const
    {
        if(from > end_ || bytes > end_ - from)
            throw std::runtime_error("the " + what_ + " ends too early");
        if(file_ < 0)
        {
            std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
            return;
        }
        for(size_t done = 0; done < bytes;)
        {
            const ssize_t count = pread(file_,
                                        static_cast<std::byte*>(to) + done,
                                        bytes - done,
                                        static_cast<off_t>(from + done));
            if(count <= 0) throw std::runtime_error("the " + what_ + " ends too early");
            done += static_cast<size_t>(count);
        }
    }

    uint64_t at_, end_;
    std::string what_;
    int file_;
};

// Where an ELF ends: the last of its headers, segments and sections does.
uint64_t elf_bytes(const Reader& in, uint64_t begin, const Elf64_Ehdr& header)
{
    uint64_t end    = sizeof(header);
    const auto take = [&](uint64_t offset, uint64_t bytes) {
        if(offset > code_most || bytes > code_most)
            throw std::runtime_error("the code object says that it has more than " +
                                     std::to_string(code_most) + " bytes");
        end = std::max(end, offset + bytes);
    };
    take(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    take(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
    for(unsigned n = 0; n < header.e_phnum; ++n)
    {
        const auto segment = in.record<Elf64_Phdr>(begin + header.e_phoff + n * sizeof(Elf64_Phdr));
        take(segment.p_offset, segment.p_filesz);
    }
    for(unsigned n = 0; n < header.e_shnum; ++n)
    {
        const auto section = in.record<Elf64_Shdr>(begin + header.e_shoff + n * sizeof(Elf64_Shdr));
        if(section.sh_type != SHT_NOBITS) take(section.sh_offset, section.sh_size);
    }
    return end;
}

} // namespace

namespace {

std::vector<BundleEntry> entries_of(const void* bundle, size_t most_bytes)
{
    Reader in(bundle, "offload bundle", most_bytes);
    const std::string first = in.text(compressed.size());
    if(first == compressed)
        throw std::runtime_error(
            "the device code is compressed, which the emulated device does not "
            "read; compile without --offload-compress");
    if(first + in.text(magic.size() - compressed.size()) != magic)
        throw std::runtime_error("the device code is no offload bundle");
    const uint64_t count = in.number();
    if(count > entries_most)
        throw std::runtime_error("the offload bundle has " + std::to_string(count) + " entries");
    std::vector<BundleEntry> entries;
    for(uint64_t left = count; left > 0; --left)
    {
        const uint64_t offset = in.number(), bytes = in.number();
        const std::string name = in.text(in.number());
        if(!name.starts_with(device) || bytes == 0) continue;
        // hipv4-amdgcn-amd-amdhsa--gfx942:xnack-
        const size_t dashes = name.find("--");
        if(dashes == std::string::npos) continue;
        entries.push_back(
            {name.substr(dashes + 2), in.code(reinterpret_cast<uint64_t>(bundle) + offset, bytes)});
    }
    return entries;
}

} // namespace

std::vector<BundleEntry> read_bundle(const void* bundle) { return entries_of(bundle, SIZE_MAX); }

std::vector<BundleEntry> read_image(const void* image, size_t bytes)
{
    const Reader in(image, "code object", bytes);
    const auto begin = reinterpret_cast<uint64_t>(image);
    if(in.record<std::array<char, SELFMAG>>(begin) != std::array{'\x7f', 'E', 'L', 'F'})
        return entries_of(image, bytes);
    const auto header = in.record<Elf64_Ehdr>(begin);
    if(header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != machine_amdgpu)
        throw std::runtime_error("the ELF is no code object of an AMD GPU");
    const uint32_t number = header.e_flags & machine_bits;
    const auto* known     = std::ranges::find(machines, number, &MachineName::number);
    const std::string arch =
        known != std::end(machines) ? known->arch : "machine " + std::to_string(number);
    return {{arch, in.code(begin, elf_bytes(in, begin, header))}};
}

} // namespace ckprof::emulator
