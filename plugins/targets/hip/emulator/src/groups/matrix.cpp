// SPDX-License-Identifier: MIT
#include "isa/handlers.hpp"

namespace ckprof::emulator {

HandlerTable matrix_handlers() { return {}; }

} // namespace ckprof::emulator
