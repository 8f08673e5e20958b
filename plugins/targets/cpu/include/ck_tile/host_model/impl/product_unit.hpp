// SPDX-License-Identifier: MIT
// Which unit this machine has.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ck_tile/host_model/impl/pair_products.hpp"
#include "ck_tile/host_model/impl/tile_products.hpp"
#include "ck_tile/host_model/product_unit.hpp"

namespace ck_tile::host_model::impl {

inline product_unit detect_product_unit()
{
    const char* const wish = std::getenv("CKPROF_CPU_BF16");
    const std::string_view most(wish == nullptr ? "" : wish);
    if(most == name_of(product_unit::fp32)) { return product_unit::fp32; }
    if(most != name_of(product_unit::pairs) && may_use_tiles() && tiles_as_documented())
    {
        return product_unit::tiles;
    }
    return has_pair_instruction && pairs_as_documented() ? product_unit::pairs : product_unit::fp32;
}

inline std::atomic<product_unit>& current_product_unit()
{
    static std::atomic<product_unit> unit{detect_product_unit()};
    return unit;
}

inline std::array<std::atomic<std::uint64_t>, all_product_units.size()>& launch_counts()
{
    static std::array<std::atomic<std::uint64_t>, all_product_units.size()> counts{};
    return counts;
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API product_unit best_product_unit()
{ return impl::current_product_unit().load(std::memory_order_relaxed); }

CK_TILE_HOST_MODEL_API void force_product_unit(product_unit unit)
{ impl::current_product_unit().store(unit, std::memory_order_relaxed); }

CK_TILE_HOST_MODEL_API std::uint64_t next_launch()
{
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

CK_TILE_HOST_MODEL_API void count_launch(product_unit unit)
{ impl::launch_counts()[static_cast<std::size_t>(unit)].fetch_add(1, std::memory_order_relaxed); }

CK_TILE_HOST_MODEL_API std::uint64_t launches_by(product_unit unit)
{ return impl::launch_counts()[static_cast<std::size_t>(unit)].load(std::memory_order_relaxed); }

} // namespace ck_tile::host_model
