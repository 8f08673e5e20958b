// SPDX-License-Identifier: MIT
// Launches that execute chosen blocks alone: tensors may then be larger than the machine's memory.
#pragma once

#include <cstdint>
#include <vector>

namespace ck_tile::host_model {

// While places are chosen, a grid executes the blocks at them, from 0 for the first to 1 for the
// last one, in rising order; blocks take no turns, operands are not looked at as a whole, and
// memory is not set, which is noted.
struct sampling
{
    std::vector<double> places;
    std::uint64_t sets = 0; // calls that would have set memory, since places were chosen

    bool is_on() const { return !places.empty(); }

    // Says whether memory that is to be set stays as it is.
    bool is_noted()
    {
        sets += is_on() ? 1 : 0;
        return is_on();
    }
};

// That of the library. Inline, since libraries that only answer have nothing of what executes
// blocks.
inline sampling& current_sampling()
{
    static sampling current;
    return current;
}

} // namespace ck_tile::host_model
