// SPDX-License-Identifier: MIT
#include "isa/handlers.hpp"

namespace ckprof::emulator {

HandlerTable vector_float_handlers() { return {}; }

} // namespace ckprof::emulator
