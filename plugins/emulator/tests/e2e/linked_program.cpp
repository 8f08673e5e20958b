// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ckprof_conv_api.h"

int main()
{
    // ones everywhere: an element of the result is the number of products that its filter covers
    const uint16_t one = 0x3c00;
    const ConvProblemC problem{1, 1, 40, 24, 1, 5, 7, 1, 3, 3, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1};
    const std::vector<uint16_t> input(5 * 7 * 40, one), weight(24 * 9 * 40, one);
    std::vector<uint16_t> output(5 * 7 * 24);
    char text[256];
    if(ckprof_conv_describe_device(text, sizeof(text)) != 0) return 2;
    std::puts(text);
    void* x = ckprof_conv_allocate(input.size() * 2);
    void* w = ckprof_conv_allocate(weight.size() * 2);
    void* y = ckprof_conv_allocate(output.size() * 2);
    if(ckprof_conv_copy_to_device(x, input.data(), input.size() * 2) != 0) return 3;
    if(ckprof_conv_copy_to_device(w, weight.data(), weight.size() * 2) != 0) return 3;
    const ckprof_conv_timing once{};
    if(ckprof_conv_set_timing(&once) != 0) return 4;
    if(!(conv_dispatcher_run(x, w, y, &problem, nullptr) > 0)) return 5;
    if(ckprof_conv_copy_to_host(output.data(), y, output.size() * 2) != 0) return 6;
    for(int h = 0; h < 5; ++h)
        for(int col = 0; col < 7; ++col)
            for(int k = 0; k < 24; ++k)
            {
                // 160 in corners, 240 at edges, 360 inside
                const int at_edges        = (h == 0 || h == 4) + (col == 0 || col == 6);
                const uint16_t expected[] = {0x5da0, 0x5b80, 0x5900};
                if(output[(h * 7 + col) * 24 + k] != expected[at_edges]) return 7;
            }
    for(void* memory : {x, w, y}) ckprof_conv_release(memory);
    std::puts("right");
}
