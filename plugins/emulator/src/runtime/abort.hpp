// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "core/errors.hpp"

namespace ckprof::emulator {

// Ends the process as ROCm's runtime does after such a fault: with a message and SIGABRT.
[[noreturn]] void abort_process(Fault fault, std::optional<uint64_t> address = std::nullopt);

} // namespace ckprof::emulator
