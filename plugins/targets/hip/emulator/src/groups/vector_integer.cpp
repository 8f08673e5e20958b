// SPDX-License-Identifier: MIT
// Integers and bits of 64 lanes.
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

constexpr NamedHandler handlers[] = {
    {"v_add_u32", &binary_u32<[](uint32_t a, uint32_t b) { return a + b; }>},
};

} // namespace

HandlerTable vector_integer_handlers() { return handlers; }

} // namespace ckprof::emulator
