// SPDX-License-Identifier: MIT
// The checks of one launch: chosen by name, one observer per thread, findings of all of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checks/checkers.hpp"

namespace ckprof::emulator {

// Names of all checks, in the order in which they are listed in messages.
std::vector<std::string> check_names();

struct Launch;

class CheckSession
{
public:
    // Names separated by commas.
    // Throws std::invalid_argument for one that there is not.
    CheckSession(std::string_view checks, const Program& program);

    std::unique_ptr<Observer> observer();
    // With source lines where the code object has a line table.
    std::vector<Finding> findings(const Launch& launch) const;

private:
    std::vector<std::string> checks_;
    const Program& program_;
    RegisterUses uses_;
    GlobalShadow shadow_;
    FindingLog log_;
};

} // namespace ckprof::emulator
