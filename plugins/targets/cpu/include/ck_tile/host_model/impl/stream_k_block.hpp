// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "ck_tile/host_model/impl/backward_weight_block.hpp"
#include "ck_tile/host_model/stream_k.hpp"

namespace ck_tile::host_model::impl {

class stream_k_block
{
public:
    stream_k_block(const kernel_facts& facts,
                   const backward_weight_call& call,
                   const stream_k_plan& plan,
                   void* workspace)
        : facts_(facts),
          call_(call),
          plan_(plan),
          workspace_(static_cast<char*>(workspace))
    {}

    void data_parallel_tile(std::int64_t tile)
    {
        accumulate(tile, 0, plan_.loops);
        store();
    }

    // All K blocks of stream-K workgroup c, tile by tile.
    void workgroup(std::int64_t c)
    {
        const std::int64_t end = plan_.start(c + 1);
        for(std::int64_t at = plan_.start(c); at < end;)
        {
            const std::int64_t tile     = at / plan_.loops;
            const std::int64_t begins   = tile * plan_.loops;
            const std::int64_t tile_end = begins + plan_.loops;
            const std::int64_t piece    = std::min(end, tile_end);
            accumulate(tile, at - begins, piece - begins);
            if(facts_.stream_k_reduction == 2) { reduce_tree(c, begins, tile_end); }
            else
            {
                reduce_linear(c, begins, tile_end);
            }
            at = piece;
        }
    }

private:
    void accumulate(std::int64_t tile, std::int64_t first_loop, std::int64_t last_loop)
    {
        const std::int64_t tile_row = tile / plan_.n_tiles;
        place_                      = place_weight_tile(facts_,
                                                        call_,
                                                        tile_row / call_.gemm.batch,
                                                        tile % plan_.n_tiles,
                                                        tile_row % call_.gemm.batch);
        accumulate_weights(facts_,
                           call_,
                           place_,
                           {std::min(call_.gemm.k, first_loop * facts_.k_per_block),
                            std::min(call_.gemm.k, last_loop * facts_.k_per_block)});
    }

    void store() { store_weight_tile(facts_, call_, place_, false); }

    // The workgroup that has the tile's first K block adds the parts of its successors in order.
    void reduce_linear(std::int64_t c, std::int64_t begins, std::int64_t tile_end)
    {
        if(plan_.start(c) > begins)
        {
            publish(c);
            return;
        }
        for(std::int64_t next = c + 1; next < plan_.sk_ctas && plan_.start(next) < tile_end; ++next)
        {
            add_partial(next);
        }
        store();
    }

    // Pairwise over the workgroups of the tile: ((p0 + p1) + (p2 + p3)) + ...
    void reduce_tree(std::int64_t c, std::int64_t begins, std::int64_t tile_end)
    {
        const std::int64_t local = c - first_workgroup(c, begins);
        for(std::int64_t step = 1;; step *= 2)
        {
            if(local % (2 * step) != 0)
            {
                publish(c);
                return;
            }
            const std::int64_t partner = c + step;
            const bool exists          = partner < plan_.sk_ctas && plan_.start(partner) < tile_end;
            if(exists) { add_partial(partner); }
            else if(local == 0) { break; } // larger steps lead further beyond the tile
        }
        store();
    }

    std::int64_t first_workgroup(std::int64_t c, std::int64_t begins) const
    {
        while(c > 0 && plan_.start(c) > begins) { --c; }
        return c;
    }

    float* partial(std::int64_t c) const
    {
        return reinterpret_cast<float*>(workspace_ + plan_.flag_bytes()) +
               c * facts_.m_per_block * facts_.n_per_block;
    }

    std::atomic_ref<std::uint32_t> flag(std::int64_t c) const
    { return std::atomic_ref<std::uint32_t>(reinterpret_cast<std::uint32_t*>(workspace_)[c]); }

    void publish(std::int64_t c)
    {
        float* destination = partial(c);
        for(std::int64_t row = 0; row < place_.rows; ++row)
        {
            std::copy_n(thread_tile_gemm().result_row(row),
                        place_.columns,
                        destination + row * facts_.n_per_block);
        }
        flag(c).store(1, std::memory_order_release);
    }

    void add_partial(std::int64_t c)
    {
        while(flag(c).load(std::memory_order_acquire) != 1) { std::this_thread::yield(); }
        const float* source = partial(c);
        for(std::int64_t row = 0; row < place_.rows; ++row)
        {
            float* result = thread_tile_gemm().result_row(row);
            for(std::int64_t column = 0; column < place_.columns; ++column)
            {
                result[column] += source[row * facts_.n_per_block + column];
            }
        }
    }

    const kernel_facts& facts_;
    const backward_weight_call& call_;
    const stream_k_plan& plan_;
    char* workspace_;
    weight_tile place_{};
};

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API void run_stream_k_block(const kernel_facts& facts,
                                               const backward_weight_call& call,
                                               const stream_k_plan& plan,
                                               void* workspace,
                                               const block_position& block)
{
    impl::stream_k_block work(facts, call, plan, workspace);
    const std::int64_t id = std::int64_t{block.grid.x} - 1 - block.x;
    if(!facts.stream_k_persistent)
    {
        if(id < plan.dp_tiles) { work.data_parallel_tile(id); }
        else
        {
            work.workgroup(id - plan.dp_tiles);
        }
        return;
    }
    for(std::int64_t tile = id; tile < plan.dp_tiles; tile += block.grid.x)
    {
        work.data_parallel_tile(tile);
    }
    if(id < plan.sk_ctas) { work.workgroup(id); }
}

} // namespace ck_tile::host_model
