// SPDX-License-Identifier: MIT
#include "runtime/offload_bundle.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace ckprof::emulator {
namespace {

constexpr std::string_view magic      = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed = "CCOB";
constexpr std::string_view device     = "hip";

class Reader
{
public:
    explicit Reader(const std::byte* at) : at_(at) {}
    uint64_t number()
    {
        uint64_t value;
        std::memcpy(&value, at_, sizeof(value));
        at_ += sizeof(value);
        return value;
    }
    std::string_view text(size_t bytes)
    {
        const std::string_view value(reinterpret_cast<const char*>(at_), bytes);
        at_ += bytes;
        return value;
    }

private:
    const std::byte* at_;
};

} // namespace

std::vector<BundleEntry> read_bundle(const void* bundle)
{
    const auto* begin = static_cast<const std::byte*>(bundle);
    if(std::memcmp(begin, compressed.data(), compressed.size()) == 0)
        throw std::runtime_error(
            "the device code is compressed, which the emulated device does not "
            "read; compile without --offload-compress");
    Reader in(begin);
    if(std::memcmp(begin, magic.data(), magic.size()) != 0)
        throw std::runtime_error("the device code is no offload bundle");
    in.text(magic.size());
    std::vector<BundleEntry> entries;
    for(uint64_t left = in.number(); left > 0; --left)
    {
        const uint64_t offset = in.number(), bytes = in.number();
        const std::string_view name = in.text(in.number());
        if(!name.starts_with(device) || bytes == 0) continue;
        // hipv4-amdgcn-amd-amdhsa--gfx942:xnack-
        const size_t dashes = name.find("--");
        if(dashes == std::string_view::npos) continue;
        entries.push_back({std::string(name.substr(dashes + 2)), {begin + offset, bytes}});
    }
    return entries;
}

} // namespace ckprof::emulator
