// SPDX-License-Identifier: MIT
//
// Scratch memory of the kernels of a library.
#ifndef CKPROF_WORKSPACE_HPP
#define CKPROF_WORKSPACE_HPP

#include <cstddef>

#include "ck_tile/host/device_memory.hpp"

namespace ckprof {

// At least that many bytes of device memory with unspecified content.
//
// All kernels of a library share one piece, which grows with the largest demand and is never given
// back: kernels are launched one after the other and none expects to find what it left. Allocating
// again for every launch would be measured wherever the system hands out memory on first touch.
inline ck_tile::DeviceMem& workspace(std::size_t bytes)
{
    // Never destroyed: the device may be gone by then.
    static ck_tile::DeviceMem& memory = *new ck_tile::DeviceMem;
    if(memory.GetBufferSize() < bytes) { memory.Realloc(bytes); }
    return memory;
}

} // namespace ckprof

#endif
