// SPDX-License-Identifier: MIT
#include "isa/handlers.hpp"

namespace ckprof::emulator {

HandlerTable buffer_handlers() { return {}; }

} // namespace ckprof::emulator
