// SPDX-License-Identifier: MIT
#include "isa/handlers.hpp"

namespace ckprof::emulator {

HandlerTable lds_handlers() { return {}; }

} // namespace ckprof::emulator
