// SPDX-License-Identifier: MIT
// Memory of the device that launches need beside their tensors; kept from launch to launch.
#pragma once

#include <cstddef>

#include "ck_tile/host/device_memory.hpp"

namespace ck_tile::cuda_model::impl {

// At least that many bytes; User is whatever they are for. Contents last until more is asked for:
// then they are zeros if Zeroed, else nothing known.
template <typename User, bool Zeroed = false>
void* workspace_of(std::size_t bytes)
{
    // Never destroyed: the device may be gone by then.
    static DeviceMem& memory = *new DeviceMem;
    if(memory.GetBufferSize() < bytes)
    {
        memory.Realloc(bytes);
        if constexpr(Zeroed) { memory.SetZero(); }
    }
    return memory.GetDeviceBuffer();
}

} // namespace ck_tile::cuda_model::impl
