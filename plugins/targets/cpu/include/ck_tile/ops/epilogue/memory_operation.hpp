// SPDX-License-Identifier: MIT
#pragma once

namespace ck_tile {

enum struct memory_operation_enum
{
    set,
    atomic_add
};

} // namespace ck_tile
