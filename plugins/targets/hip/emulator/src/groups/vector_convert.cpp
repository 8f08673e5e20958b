// SPDX-License-Identifier: MIT
#include "isa/handlers.hpp"

namespace ckprof::emulator {

HandlerTable vector_convert_handlers() { return {}; }

} // namespace ckprof::emulator
