// SPDX-License-Identifier: MIT
#include "k.hpp"
#include <cstdio>
using kernel   = ns_k::Kernel;
using launcher = ns_k::Launcher;
static void report(void*, const char* id, const char* why) { std::printf("%s: %s\n", id, why); }
int main()
{
    using lengths  = std::vector<ck_tile::long_index_t>;
    const auto ask = [](int c, int splits) {
        const ck_tile::conv::ConvParam p(2,
                                         3,
                                         5,
                                         7,
                                         c,
                                         lengths{2, 3},
                                         lengths{9, 8},
                                         lengths{2, 1},
                                         lengths{1, 1},
                                         lengths{0, 1},
                                         lengths{1, 1});
        const bool rejected = launcher::rejects(p, splits, &report, nullptr);
        std::printf("%d %d\n", launcher::is_supported(p, splits), !rejected);
        return launcher::operation::sizes_of(p, splits);
    };
    ask(12, 1);
    ask(240, 0);
    const auto s     = ask(96, 4);
    const auto shape = kernel::make_launch(s);
    for(const auto value :
        {shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1]})
        std::printf("%d ", static_cast<int>(value));
    const auto workspace = static_cast<int>(kernel::workspace_bytes(s));
    std::printf("%d %d\n", static_cast<int>(shape.dynamic_lds), workspace);
    ckprof::code_object::tensors at;
    at.output    = reinterpret_cast<const void*>(0x1000);
    at.workspace = reinterpret_cast<void*>(0x2000);
    ckprof::code_object::packed<kernel::argument_bytes> arguments;
    kernel::write(s, at, arguments);
    for(std::size_t n = 0; n < kernel::argument_bytes; ++n)
        std::printf("%02x", static_cast<unsigned>(arguments.data()[n]));
    kernel::clear(s, at, [](const void* memory, std::int64_t bytes) {
        std::printf("\n%p %d\n", memory, static_cast<int>(bytes));
    });
    std::printf("%s\n", launcher::get_instance_string().c_str());
}
