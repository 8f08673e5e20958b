// SPDX-License-Identifier: MIT
#include "runtime/message_pack.hpp"

#include <algorithm>
#include <stdexcept>

namespace ckprof::emulator {
namespace {

class Reader
{
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    PackedValue value()
    {
        const Level level(depth_);
        const auto type = static_cast<unsigned>(number(1));
        PackedValue out;
        if(type < 0x80)
            out.number = type;
        else if(type < 0x90)
            fields(out, type & 15);
        else if(type < 0xa0)
            items(out, type & 15);
        else if(type < 0xc0)
            out.text = text(type & 31);
        else if(type >= 0xe0)
            out.number = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(type)));
        else
            longer(out, type);
        return out;
    }

private:
    // Of values in values; metadata of kernels have four.
    static constexpr unsigned depth_most = 32;

    struct Level
    {
        explicit Level(unsigned& depth) : depth_(depth)
        {
            if(depth == depth_most) throw std::runtime_error("metadata is nested too deeply");
            ++depth;
        }
        ~Level() { --depth_; }
        Level(const Level&)            = delete;
        Level& operator=(const Level&) = delete;

    private:
        unsigned& depth_;
    };

    void longer(PackedValue& out, unsigned type)
    {
        switch(type)
        {
        case 0xc0:
        case 0xc2: break;
        case 0xc3: out.number = 1; break;
        case 0xcc:
        case 0xcd:
        case 0xce:
        case 0xcf: out.number = number(1U << (type - 0xcc)); break;
        case 0xd0: out.number = static_cast<uint64_t>(static_cast<int8_t>(number(1))); break;
        case 0xd1: out.number = static_cast<uint64_t>(static_cast<int16_t>(number(2))); break;
        case 0xd2: out.number = static_cast<uint64_t>(static_cast<int32_t>(number(4))); break;
        case 0xd3: out.number = number(8); break;
        case 0xd9:
        case 0xda:
        case 0xdb: out.text = text(number(1U << (type - 0xd9))); break;
        case 0xdc:
        case 0xdd: items(out, number(2U << (type - 0xdc))); break;
        case 0xde:
        case 0xdf: fields(out, number(2U << (type - 0xde))); break;
        default: throw std::runtime_error("metadata of an unknown type");
        }
    }

    void items(PackedValue& out, uint64_t count)
    {
        for(; count > 0; --count) out.items.push_back(value());
    }

    void fields(PackedValue& out, uint64_t count)
    {
        for(; count > 0; --count)
        {
            out.names.push_back(value().text);
            out.items.push_back(value());
        }
    }

    uint64_t number(unsigned bytes)
    {
        uint64_t all = 0;
        for(const std::byte byte : take(bytes)) all = all << 8 | static_cast<uint64_t>(byte);
        return all;
    }

    std::string text(uint64_t bytes)
    {
        const auto from = take(bytes);
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }

    std::span<const std::byte> take(uint64_t bytes)
    {
        if(bytes > bytes_.size()) throw std::runtime_error("metadata ends too early");
        const auto taken = bytes_.first(bytes);
        bytes_           = bytes_.subspan(bytes);
        return taken;
    }

    std::span<const std::byte> bytes_;
    unsigned depth_ = 0;
};

} // namespace

const PackedValue& PackedValue::operator[](std::string_view name) const
{
    static const PackedValue none;
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? none : items[static_cast<size_t>(found - names.begin())];
}

PackedValue read_message_pack(std::span<const std::byte> bytes) { return Reader(bytes).value(); }

} // namespace ckprof::emulator
