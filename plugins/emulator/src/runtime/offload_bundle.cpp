// SPDX-License-Identifier: MIT
#include "runtime/offload_bundle.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace ckprof::emulator {
namespace {

constexpr std::string_view magic      = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed = "CCOB";
constexpr std::string_view device     = "hip";

// Bounds of what a bundle says: nothing says how long it is itself.
constexpr uint64_t entries_most = 1024, name_most = 4096, code_most = uint64_t{1} << 30;
constexpr size_t piece = size_t{1} << 20;

// Memory of this process that may not be there: the system copies it, and says if it is not.
class Reader
{
public:
    explicit Reader(const void* at)
        : at_(reinterpret_cast<uint64_t>(at)),
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
            throw std::runtime_error("the offload bundle has a name of " + std::to_string(bytes) +
                                     " bytes");
        std::string value(bytes, '\0');
        copy(value.data(), at_, bytes);
        at_ += bytes;
        return value;
    }

    std::vector<std::byte> code(uint64_t at, uint64_t bytes) const
    {
        if(bytes > code_most)
            throw std::runtime_error("the offload bundle has device code of " +
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
            if(count <= 0) throw std::runtime_error("the offload bundle ends too early");
            done += static_cast<size_t>(count);
        }
    }

    uint64_t at_;
    int file_;
};

} // namespace

std::vector<BundleEntry> read_bundle(const void* bundle)
{
    Reader in(bundle);
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

} // namespace ckprof::emulator
