// SPDX-License-Identifier: MIT
#include "isa/handlers.hpp"

namespace ckprof::emulator {

HandlerTable flat_handlers() { return {}; }

} // namespace ckprof::emulator
