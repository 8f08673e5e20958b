// SPDX-License-Identifier: MIT
// A model of CK Tile's dispatcher, as far as sources of grouped convolutions need it.
//
// Written by ckprof, for machines without the dispatcher: names, fields and the meaning of
// functions are those of CK's public headers of 2026 (dispatcher/include/ck_tile/dispatcher:
// grouped_conv_problem.hpp, grouped_conv_registry.hpp, base_registry.hpp,
// backends/generated_conv_backend.hpp). What it has not: other operations, declarations of kernels,
// export to JSON, heuristics, locks.
#pragma once

#include "ck_tile/dispatcher/grouped_conv_problem.hpp"
#include "ck_tile/dispatcher/grouped_conv_registry.hpp"
