// SPDX-License-Identifier: MIT
#include "isa/handlers.hpp"

namespace ckprof::emulator {

HandlerTable scalar_memory_handlers() { return {}; }

} // namespace ckprof::emulator
