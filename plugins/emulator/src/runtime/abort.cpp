// SPDX-License-Identifier: MIT
#include "runtime/abort.hpp"

#include <cstdio>
#include <cstdlib>

namespace ckprof::emulator {

void abort_process(Fault fault, std::optional<uint64_t> address)
{
    constexpr uint64_t page_bytes = 4096;
    if(fault == Fault::memory)
    {
        std::fputs("Memory access fault by GPU node-1", stderr);
        if(address)
            std::fprintf(stderr,
                         " on address %#llx",
                         static_cast<unsigned long long>(*address / page_bytes * page_bytes));
        std::fputs(". Reason: Page not present or supervisor privilege.\n", stderr);
    }
    else if(fault == Fault::illegal_instruction)
        std::fputs(
            "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: the agent attempted to execute an illegal "
            "shader instruction. code: 0x2a\n",
            stderr);
    else
        std::fputs("HSA_STATUS_ERROR_EXCEPTION: an operation resulted in a hardware exception. "
                   "code: 0x1016\n",
                   stderr);
    std::fflush(stderr);
    std::abort();
}

} // namespace ckprof::emulator
