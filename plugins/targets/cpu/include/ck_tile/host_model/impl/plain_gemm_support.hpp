// SPDX-License-Identifier: MIT
// Which problems a plain GEMM kernel supports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "ck_tile/host_model/impl/plain_gemm_split.hpp"
#include "ck_tile/host_model/impl/support.hpp"
#include "ck_tile/host_model/plain_gemm.hpp"

namespace ck_tile::host_model::impl {

// One matrix in memory: the extents that are contiguous and strided, with their names.
struct matrix_view
{
    char name;
    const char* contiguous_name;
    std::int64_t contiguous, strided;
    std::int64_t stride, batch_stride;
    int vector_size;
};

inline matrix_view view_of_a(const plain_gemm_facts& facts, const plain_gemm_call& call)
{
    const bool row = facts.a_row_major;
    return {'A',
            row ? "K" : "M",
            row ? call.k : call.m,
            row ? call.m : call.k,
            call.stride_a,
            call.batch_stride_a,
            facts.vector_size_a};
}

inline matrix_view view_of_b(const plain_gemm_facts& facts, const plain_gemm_call& call)
{
    const bool row = facts.b_row_major;
    return {'B',
            row ? "N" : "K",
            row ? call.n : call.k,
            row ? call.k : call.n,
            call.stride_b,
            call.batch_stride_b,
            facts.vector_size_b};
}

inline matrix_view view_of_e(const plain_gemm_facts& facts, const plain_gemm_call& call)
{
    const bool row = facts.e_row_major;
    return {'E',
            row ? "N" : "M",
            row ? call.n : call.m,
            row ? call.m : call.n,
            call.stride_e,
            call.batch_stride_e,
            facts.vector_size_c};
}

inline std::string stride_condition(const matrix_view& view)
{ return std::string("stride-") + static_cast<char>(view.name - 'A' + 'a'); }

// Positive sizes. Ends a support test also when all unmet_requirements are collected.
inline bool check_plain_sizes(const plain_gemm_call& call)
{
    const std::size_t before = unmet_requirements().size();
    const bool positive      = check_at_least("problem", "M", call.m, 1) &&
                               check_at_least("problem", "N", call.n, 1) &&
                               check_at_least("problem", "K", call.k, 1) &&
                               check_at_least("problem", "the number of products", call.batch, 1) &&
                               check_at_least("split-k", "k_batch", call.k_batch, 1);
    return positive && unmet_requirements().size() == before;
}

// Nothing that the 32-bit arithmetic of a kernel cannot reach.
inline bool check_plain_indices(const plain_gemm_facts& facts, const plain_gemm_call& call)
{
    for(const matrix_view& view :
        {view_of_a(facts, call), view_of_b(facts, call), view_of_e(facts, call)})
    {
        const std::string name(1, view.name);
        if(!check_at_least(stride_condition(view).c_str(),
                           "the stride of " + name,
                           view.stride,
                           view.contiguous))
        {
            return false;
        }
        const std::int64_t rows = saturated_product(view.strided - 1, view.stride);
        if(!check_index("the last element of " + name,
                        std::max(rows, rows + view.contiguous - 1)) ||
           !check_index(
               "the products of " + name,
               saturated_product(call.batch - 1, std::max<std::int64_t>(view.batch_stride, 0))))
        {
            return false;
        }
    }
    // A launch has so many blocks along y.
    constexpr std::int64_t most_products = 65535;
    if(call.batch > most_products && !reject("index-range",
                                             equation("the number of products", call.batch) +
                                                 " is more than a launch has blocks along y"))
    {
        return false;
    }
    return check_index("M padded to the tile", call.m + facts.m_per_block - 1) &&
           check_index("N padded to the tile", call.n + facts.n_per_block - 1) &&
           check_index("K padded to all splits",
                       saturated_product(call.k_batch, facts.k_per_block) + call.k - 1);
}

inline bool check_tile(
    const char* condition, const char* what, std::int64_t value, std::int64_t tile, bool padded)
{
    if(padded || value % tile == 0) { return true; }
    return reject(condition,
                  equation(what, value) + " is not a multiple of the tile's " +
                      std::to_string(tile) + ", and " + what + " is not padded");
}

inline bool check_depth(const plain_gemm_facts& facts, const plain_gemm_call& call)
{
    const std::int64_t grain = std::int64_t{facts.k_per_block} * call.k_batch;
    if(facts.pad_k || call.k % grain == 0) { return true; }
    return reject("tile-k",
                  equation("K", call.k) + " is not a multiple of the tile's " +
                      std::to_string(facts.k_per_block) +
                      " times k_batch = " + std::to_string(call.k_batch) + ", and K is not padded");
}

inline bool check_vector(const matrix_view& view)
{
    return check_multiple(view.contiguous_name,
                          view.contiguous,
                          view.name == 'E' ? 'C' : view.name,
                          view.vector_size);
}

inline bool check_d_tensors(const plain_gemm_facts& facts, const plain_gemm_call& call)
{
    for(int d = 0; d < facts.d_count; ++d)
    {
        if(facts.d_row_major[d] != facts.e_row_major &&
           !reject("layout-d", "D tensor " + std::to_string(d) + " and E differ in layout"))
        {
            return false;
        }
        const bool row         = facts.d_row_major[d];
        const char* const what = row ? "N" : "M";
        const std::int64_t run = row ? call.n : call.m;
        if(!(row ? check_tile("tile-n", "N", call.n, facts.n_per_block, facts.pad_n)
                 : check_tile("tile-m", "M", call.m, facts.m_per_block, facts.pad_m)) ||
           !check_multiple(what, run, 'D', facts.vector_size_d[d]) ||
           !check_at_least("stride-d", "the stride of D", call.stride_d[d], run))
        {
            return false;
        }
        if(call.stride_d[d] % facts.vector_size_d[d] != 0 &&
           !reject("stride-d",
                   equation("the stride of D", call.stride_d[d]) +
                       " is not a multiple of the D vector width " +
                       std::to_string(facts.vector_size_d[d])))
        {
            return false;
        }
    }
    // D would be combined with every part.
    return facts.d_count == 0 || call.k_batch == 1 ||
           reject("split-k",
                  equation("k_batch", call.k_batch) + ": a kernel with D tensors does not split K");
}

// What CK Tile leaves to its callers: rows and products that start on a vector.
inline bool check_alignment(const matrix_view& view, std::int64_t batch)
{
    const bool aligned = view.stride % view.vector_size == 0 &&
                         (batch == 1 || view.batch_stride % view.vector_size == 0);
    if(aligned) { return true; }
    return reject(
        stride_condition(view),
        equation("the stride of " + std::string(1, view.name), view.stride) +
            (batch == 1 ? "" : ", " + std::to_string(view.batch_stride) + " between products,") +
            " is not a multiple of the vector width " + std::to_string(view.vector_size));
}

// Products must not overlap in the result.
inline bool check_batch(const plain_gemm_facts& facts, const plain_gemm_call& call)
{
    if(call.batch == 1) { return true; }
    const matrix_view e     = view_of_e(facts, call);
    const std::int64_t size = (e.strided - 1) * e.stride + e.contiguous;
    return check_at_least("stride-a", "the distance of products in A", call.batch_stride_a, 0) &&
           check_at_least("stride-b", "the distance of products in B", call.batch_stride_b, 0) &&
           check_at_least("stride-e", "the distance of products in E", e.batch_stride, size);
}

// Every part of K has work, enough for the pipeline, and ends as the kernel's loop does.
inline bool check_parts(const plain_gemm_facts& facts, const plain_gemm_call& call)
{
    const std::int64_t last = call.k_batch - 1;
    const auto loops        = [&](std::int64_t part) {
        const k_range range = split_k(facts, call, part);
        return (range.end - range.begin + facts.k_per_block - 1) / facts.k_per_block;
    };
    const k_range rest = split_k(facts, call, last);
    if(rest.end <= rest.begin)
    {
        reject("split-k",
               equation("k_batch", call.k_batch) + " leaves nothing of " + equation("K", call.k) +
                   " to the last split");
        // What follows is about the loops of that split.
        return false;
    }
    const std::int64_t fewest = std::min(loops(last), loops(std::max<std::int64_t>(last - 1, 0)));
    if(fewest < facts.min_loops_per_split &&
       !reject("pipeline-depth",
               "the pipeline " + std::string(facts.pipeline_class) + " needs " +
                   std::to_string(facts.min_loops_per_split) + " K blocks per split, one has " +
                   std::to_string(fewest)))
    {
        return false;
    }
    const std::int64_t grain   = call.k_batch * facts.k_per_block;
    const std::int64_t planned = (call.k + grain - 1) / grain;
    // Elsewhere one of the operands is zero after the end.
    constexpr std::int64_t bits = 32;
    const bool overruns         = planned < bits && (facts.overruns >> planned) % 2 != 0;
    if(overruns && facts.a_row_major && !facts.b_row_major && !facts.pad_k &&
       !reject("pipeline-depth",
               "the pipeline " + std::string(facts.pipeline_class) + " reads behind the end of " +
                   std::to_string(planned) + " K blocks, where K is not padded"))
    {
        return false;
    }
    if(facts.first_block_only && planned > 1 &&
       !reject("pipeline-depth",
               "the pipeline " + std::string(facts.pipeline_class) +
                   " reads wrong elements after " + "the first of " + std::to_string(planned) +
                   " K blocks"))
    {
        return false;
    }
    if(facts.turns_last_of_two && planned == 2 && current_device().has("transposed_lds_reads") &&
       !reject("pipeline-depth",
               "the pipeline " + std::string(facts.pipeline_class) + " turns the last of " +
                   std::to_string(planned) + " K blocks in registers, and reads it transposed"))
    {
        return false;
    }
    if(facts.fixed_tail == nullptr || call.k_batch == 1) { return true; }
    const auto same = [&](std::int64_t count) {
        return facts.fixed_tail(static_cast<std::int32_t>(count)) ==
               facts.fixed_tail(static_cast<std::int32_t>(planned));
    };
    if(same(loops(0)) && same(loops(last))) { return true; }
    return reject("pipeline-depth",
                  "the loop is made for " + std::to_string(planned) +
                      " K blocks per split, the last split has " + std::to_string(loops(last)) +
                      ", which needs another end of the loop");
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API bool supports_plain_gemm(const plain_gemm_facts& facts,
                                                const plain_gemm_call& call)
{
    using namespace impl;
    clear_rejection();
    if(!check_plain_sizes(call) || !check_plain_indices(facts, call)) { return false; }
    if(!check_odd_atomics(facts.vector_size_c, facts.e_type, call.k_batch)) { return false; }
    if(facts.deals_steps && call.k < call.k_batch * facts.k_mma &&
       !reject("split-k",
               equation("k_batch", call.k_batch) + " is more than the whole MMA steps of " +
                   equation("K", call.k)))
    {
        return false;
    }

    const matrix_view a = view_of_a(facts, call);
    const matrix_view b = view_of_b(facts, call);
    const matrix_view e = view_of_e(facts, call);
    const auto rows     = [&] {
        return check_tile("tile-m", "M", call.m, facts.m_per_block, facts.pad_m);
    };
    const auto columns = [&] {
        return check_tile("tile-n", "N", call.n, facts.n_per_block, facts.pad_n);
    };
    const bool met = (facts.a_row_major ? check_depth(facts, call) : rows()) && check_vector(a) &&
                     (facts.b_row_major ? columns() : check_depth(facts, call)) &&
                     check_vector(b) && check_d_tensors(facts, call) &&
                     (facts.e_row_major ? columns() : rows()) && check_vector(e) &&
                     check_alignment(a, call.batch) && check_alignment(b, call.batch) &&
                     check_alignment(e, call.batch) && check_batch(facts, call);
    if(!met || !check_parts(facts, call)) { return false; }
    all_conditions_tested();
    return true;
}

} // namespace ck_tile::host_model
