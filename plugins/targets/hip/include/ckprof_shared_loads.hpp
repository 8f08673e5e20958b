// SPDX-License-Identifier: MIT
//
// Loads that kernels share, for headers of November 2025: the same instructions for less compile
// time.
//
// Pipelines there load tiles through a function of an element. Kernels of convolutions give none,
// and each pipeline then takes a closure of its own, whose type is another one for each hot loop,
// tail and kind of window. So is all that a load is made of, hundreds of functions. With one type
// for all of them, loads of equal tiles are instantiated and optimised once. Plain loads in their
// place would cost less still, but come out in other instructions.
#ifndef CKPROF_SHARED_LOADS_HPP
#define CKPROF_SHARED_LOADS_HPP

#include <tuple>

#include "ck_tile/core.hpp"
#include "ck_tile/ops/gemm.hpp"

namespace ckprof {

// What the closures do.
template <typename T>
struct assign
{
    template <typename Element>
    CK_TILE_HOST_DEVICE constexpr void operator()(Element& element, const T& value) const
    { element = value; }
};

// Headers of other levels load tiles in other ways.
template <typename Problem>
concept loads_by_function = requires { typename Problem::AsDataTypeTuple; };

template <typename Problem>
using element_of_a =
    ck_tile::remove_cvref_t<std::tuple_element_t<0, typename Problem::AsDataTypeTuple>>;
template <typename Problem>
using element_of_b =
    ck_tile::remove_cvref_t<std::tuple_element_t<0, typename Problem::BsDataTypeTuple>>;

// Pipeline with these functions, for kernels that call it without any.
template <typename Pipeline, typename Problem, typename B = element_of_b<Problem>>
struct shared_loads : Pipeline
{
    template <typename AWindow, typename BWindow, typename... Buffers>
    CK_TILE_DEVICE auto operator()(const AWindow& a,
                                   const BWindow& b,
                                   const ck_tile::index_t num_loop,
                                   Buffers*... buffers) const
    {
        return Pipeline::operator()(ck_tile::make_tuple(a),
                                    assign<element_of_a<Problem>>{},
                                    ck_tile::make_tuple(b),
                                    assign<B>{},
                                    num_loop,
                                    buffers...);
    }
};

// Policies under other names: with them, CK Tile's own definitions of pipelines are reached.
struct universal_policy : ck_tile::UniversalGemmPipelineAgBgCrPolicy
{};
struct compv4_policy : ck_tile::GemmPipelineAgBgCrCompV4DefaultPolicy
{};

} // namespace ckprof

namespace ck_tile {

template <ckprof::loads_by_function Problem>
struct GemmPipelineAGmemBGmemCRegV1<Problem, UniversalGemmPipelineAgBgCrPolicy>
    : ckprof::shared_loads<GemmPipelineAGmemBGmemCRegV1<Problem, ckprof::universal_policy>, Problem>
{};

template <ckprof::loads_by_function Problem>
struct GemmPipelineAgBgCrCompV3<Problem, UniversalGemmPipelineAgBgCrPolicy>
    : ckprof::shared_loads<GemmPipelineAgBgCrCompV3<Problem, ckprof::universal_policy>, Problem>
{};

template <ckprof::loads_by_function Problem>
struct GemmPipelineAgBgCrCompV4<Problem, GemmPipelineAgBgCrCompV4DefaultPolicy>
    : ckprof::shared_loads<GemmPipelineAgBgCrCompV4<Problem, ckprof::compv4_policy>, Problem>
{};

// This one's closure for B takes elements of A.
template <ckprof::loads_by_function Problem>
struct GemmPipelineAgBgCrMem<Problem, UniversalGemmPipelineAgBgCrPolicy>
    : ckprof::shared_loads<GemmPipelineAgBgCrMem<Problem, ckprof::universal_policy>,
                           Problem,
                           ckprof::element_of_a<Problem>>
{};

} // namespace ck_tile

#endif
