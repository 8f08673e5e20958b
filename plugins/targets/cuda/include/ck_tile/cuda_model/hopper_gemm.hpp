// SPDX-License-Identifier: MIT
// Engine W: the implicit GEMM of every direction with the tensor copy engine and warpgroup
// products (sm_90a). One warp copies, the warpgroups multiply and store; blocks are persistent.
#pragma once

#include "ck_tile/cuda_model/hopper_params.hpp"
#include "ck_tile/cuda_model/hopper_ptx.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"
#include "ck_tile/cuda_model/implicit_gemm.hpp"
#include "ck_tile/cuda_model/wgmma_products.hpp"

namespace ck_tile::cuda_model {

struct hopper_params
{
    CUtensorMap a;
    CUtensorMap b;
    hopper_work work;
};

// The stages of shared memory as a ring: where a side stands in it.
template <int Stages>
struct ring_position
{
    int stage          = 0;
    std::uint32_t turn = 0;

    __device__ __forceinline__ void advance()
    {
        if(++stage == Stages)
        {
            stage = 0;
            turn ^= 1;
        }
    }
    __device__ __forceinline__ void advance(int count)
    {
        const int to = stage + count;
        turn ^= static_cast<std::uint32_t>(to / Stages) & 1u;
        stage = to % Stages;
    }
};

template <typename Config>
struct hopper_shared
{
    std::uint32_t stages;  // aligned to 1024
    std::uint32_t full;    // a barrier per stage
    std::uint32_t empty;
    std::uint32_t order; // a barrier per warpgroup that takes turns
    char* staging;

    __device__ __forceinline__ explicit hopper_shared(char* shared)
    {
        const std::uint32_t start = (shared_address(shared) + 1023u) & ~1023u;
        stages                    = start;
        staging = shared + (start - shared_address(shared)) + Config::stages * Config::stage_bytes;
        full    = shared_address(staging) + Config::staging_bytes;
        empty   = full + 8 * Config::stages;
        order   = empty + 8 * Config::stages;
    }
    __device__ __forceinline__ std::uint32_t stage(int i) const
    { return stages + i * Config::stage_bytes; }
};

// The warp that copies; one lane calls this.
template <typename Config>
struct hopper_producer
{
    static constexpr bool forward = Config::direction == direction::forward;
    static constexpr bool data    = Config::direction == direction::backward_data;
    static constexpr bool weight  = Config::direction == direction::backward_weight;

    const hopper_params& p;
    const hopper_shared<Config>& shared;
    ring_position<Config::stages> at{};

    // The first position of windows (image, d, h, w origins with the lowest tap) for a position.
    struct origin
    {
        int n, d, h, w;
    };

    __device__ __forceinline__ origin find_origin(int position, int first_image) const
    {
        const gemm_params& g = p.work.g;
        int rest = position, index[3] = {0, 0, 0};
#pragma unroll
        for(int axis = 2; axis >= 3 - Config::dimensions; --axis)
        {
            const int next = g.positions[axis].quotient(rest);
            index[axis]    = g.positions[axis].remainder(rest, next) * g.origin_scale[axis] +
                          g.origin_offset[axis];
            if constexpr(data)
            {
                index[axis] +=
                    g.image.step[axis] * (static_cast<int>(g.taps[axis][0].divisor) - 1);
            }
            rest = next;
        }
        return {first_image + rest, index[0], index[1], index[2]};
    }

    __device__ __forceinline__ void copy_window(std::uint32_t destination,
                                                std::uint32_t barrier,
                                                const CUtensorMap& map,
                                                int channel,
                                                const origin& o,
                                                const int (&tap)[3]) const
    {
        const gemm_params& g = p.work.g;
        int offset[3];
#pragma unroll
        for(int axis = 0; axis < 3; ++axis)
        {
            // Counted from the lowest position that a tap reaches.
            offset[axis] = data ? -g.image.step[axis] *
                                      (static_cast<int>(g.taps[axis][0].divisor) - 1 - tap[axis])
                                : g.image.step[axis] * tap[axis];
        }
        if constexpr(Config::dimensions == 3)
        {
            copy_windows(destination, map, barrier, channel, o.w, o.h, o.d, o.n, offset[2], offset[1], offset[0]);
        }
        else
        {
            copy_windows(destination, map, barrier, channel, o.w, o.h, o.n, offset[2], offset[1]);
        }
    }

    __device__ __forceinline__ std::uint32_t claim()
    {
        const std::uint32_t barrier = shared.full + 8 * at.stage;
        barrier_wait(shared.empty + 8 * at.stage, at.turn ^ 1);
        barrier_expect(barrier, Config::stage_bytes_copied);
        return barrier;
    }

    __device__ __forceinline__ void fill(const hopper_tile_place& place)
    {
        if constexpr(weight) { fill_weight(place); }
        else { fill_windows(place); }
    }

    // Forward and backward data: A is windows of the tile's rows, B weights.
    __device__ __forceinline__ void fill_windows(const hopper_tile_place& place)
    {
        const gemm_params& g = p.work.g;
        const origin o       = find_origin(place.at.first_row, place.at.first_image);
        const int channels   = forward ? g.in_channels : g.out_channels;
        const int first      = place.at.first_group * channels;
        int taps[3];
#pragma unroll
        for(int axis = 0; axis < 3; ++axis)
        {
            const bool fewer = data && place.at.remainder[axis] >= g.full_taps[axis];
            taps[axis]       = static_cast<int>(g.taps[axis][fewer ? 1 : 0].divisor);
        }
        int rest  = p.work.chunks.quotient(place.step_begin);
        int chunk = p.work.chunks.remainder(place.step_begin, rest);
        int tap[3];
        tap[2] = rest % taps[2];
        rest /= taps[2];
        tap[1] = rest % taps[1];
        tap[0] = rest / taps[1];
        for(int step = place.step_begin; step < place.step_end; ++step, at.advance())
        {
            const std::uint32_t barrier = claim();
            const std::uint32_t stage   = shared.stage(at.stage);
            copy_window(stage, barrier, p.a, first + chunk * 64, o, tap);
            int filter = 0;
#pragma unroll
            for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
            {
                const int along =
                    data ? tap[axis] * g.tilde[axis] + place.at.remainder[axis] : tap[axis];
                filter = filter * g.filter[axis] + along;
            }
            const std::uint32_t b = stage + Config::a_bytes;
            if constexpr(forward)
            {
                copy_tile(b, p.b, barrier, chunk * 64, filter, place.at.first_column, place.at.first_group);
            }
            else
            {
#pragma unroll
                for(int i = 0; i < Config::column_chunks; ++i)
                {
                    copy_tile(b + i * hopper_chunk_bytes,
                              p.b,
                              barrier,
                              place.at.first_column + i * 64,
                              filter,
                              chunk * 64,
                              place.at.first_group);
                }
            }
            if(++chunk == static_cast<int>(p.work.chunks.divisor))
            {
                chunk = 0;
                if(++tap[2] == taps[2])
                {
                    tap[2] = 0;
                    if(++tap[1] == taps[1])
                    {
                        tap[1] = 0;
                        ++tap[0];
                    }
                }
            }
        }
    }

    // Backward weight: A is pixels of dY, B windows of the input, one tap per 64 columns.
    __device__ __forceinline__ void fill_weight(const hopper_tile_place& place)
    {
        const gemm_params& g = p.work.g;
        int tap[Config::column_chunks][3], channel[Config::column_chunks];
#pragma unroll
        for(int i = 0; i < Config::column_chunks; ++i)
        {
            const int number = place.first_chunk + i;
            const int linear = p.work.chunks.quotient(number);
            channel[i] = place.at.first_group * g.in_channels +
                         p.work.chunks.remainder(number, linear) * Config::columns_per_chunk;
            int rest = linear;
#pragma unroll
            for(int axis = 2; axis > 0; --axis)
            {
                const int next = g.taps[axis][0].quotient(rest);
                tap[i][axis]   = g.taps[axis][0].remainder(rest, next);
                rest           = next;
            }
            // Columns beyond the last tap are computed from the first one and dropped.
            tap[i][0] = rest < g.filter[0] ? rest : 0;
        }
        const int row = place.at.first_group * g.out_channels + place.at.first_row;
        for(int step = place.step_begin; step < place.step_end; ++step, at.advance())
        {
            const std::uint32_t barrier = claim();
            const std::uint32_t stage   = shared.stage(at.stage);
            const origin o              = find_origin(step * hopper_k, 0);
#pragma unroll
            for(int i = 0; i < Config::m / 64; ++i)
            {
                copy_tile(stage + i * hopper_chunk_bytes, p.a, barrier, row + i * 64, step * hopper_k);
            }
#pragma unroll
            for(int i = 0; i < Config::column_chunks; ++i)
            {
                copy_window(stage + Config::a_bytes + i * hopper_chunk_bytes,
                            barrier,
                            p.b,
                            channel[i],
                            o,
                            tap[i]);
            }
        }
    }
};

// Where results of backward weight go: columns come in chunks of one tap.
template <typename Config, typename Element>
struct weight_columns
{
    const hopper_work& w;
    const hopper_tile_place& place;

    // Offset in the weights, negative if there is no such element.
    __device__ __forceinline__ std::int64_t find(int tile_row, int tile_column) const
    {
        const gemm_params& g = w.g;
        const int row        = place.at.first_row + tile_row;
        const int number     = place.first_chunk + tile_column / Config::columns_per_chunk;
        const int tap        = w.chunks.quotient(number);
        const int column     = w.chunks.remainder(number, tap) * Config::columns_per_chunk +
                           tile_column % Config::columns_per_chunk;
        const int taps = g.filter[0] * g.filter[1] * g.filter[2];
        if(row >= g.m || tap >= taps || column >= g.in_channels * Config::merged) { return -1; }
        int channel = column, channels = g.in_channels;
        if(Config::merged > 1 || w.joined > 1)
        {
            channels /= w.joined;
            channel = column % channels;
            if(column / channels != row / (g.out_channels / w.joined)) { return -1; }
        }
        return ((static_cast<std::int64_t>(place.at.first_group) * g.out_channels + row) * taps + tap) *
                   channels +
               channel;
    }
};

__device__ __forceinline__ void add_pieces(float* destination, const float* values, int count)
{
    if(count == 4)
    {
        asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(destination),
                     "f"(values[0]),
                     "f"(values[1]),
                     "f"(values[2]),
                     "f"(values[3])
                     : "memory");
        return;
    }
    for(int i = 0; i < count; ++i) { atomicAdd(destination + i, values[i]); }
}

template <typename Config>
struct hopper_consumer
{
    static constexpr bool weight = Config::direction == direction::backward_weight;
    static constexpr int blocks  = Config::own_blocks;
    static constexpr int regs    = Config::n / 2;

    using element = stored_t<Config::e_type>;
    using product =
        warpgroup_product<Config::ab_type, Config::n, !Config::a_k_major, !Config::b_k_major>;

    const hopper_params& p;
    const hopper_shared<Config>& shared;
    int warpgroup;
    ring_position<Config::stages> at{};
    std::uint32_t own_tiles = 0;
    float sum[blocks][regs];

    __device__ __forceinline__ int first_row() const
    { return Config::turns ? 0 : warpgroup * blocks * 64; }

    __device__ __forceinline__ void release(int stage)
    {
        if(threadIdx.x % 32 == 0) { barrier_arrive(shared.empty + 8 * stage); }
    }

    // Keeps the compiler from moving uses of the accumulators across this place.
    __device__ __forceinline__ void pin_sums()
    {
#pragma unroll
        for(auto& block : sum)
#pragma unroll
            for(float& value : block) { asm volatile("" : "+f"(value)::"memory"); }
    }

    // Consumers that take turns multiply one after the other: a barrier tells neighbouring turns of
    // the ring apart, not more.
    __device__ __forceinline__ void begin_turn()
    {
        if constexpr(Config::turns)
        {
            barrier_wait(shared.order + 8 * warpgroup, (own_tiles & 1u) ^ (warpgroup == 0 ? 1u : 0u));
            ++own_tiles;
        }
    }

    __device__ __forceinline__ void end_turn()
    {
        if constexpr(Config::turns)
        {
            if(threadIdx.x % 32 == 0) { barrier_arrive(shared.order + 8 * (1 - warpgroup)); }
        }
    }

    __device__ __forceinline__ void multiply(int steps)
    {
#pragma unroll
        for(auto& block : sum)
#pragma unroll
            for(float& value : block) { value = 0; }
        pin_sums();
        int before = 0;
#pragma unroll 1
        for(int step = 0; step < steps; ++step)
        {
            barrier_wait(shared.full + 8 * at.stage, at.turn);
            const std::uint32_t stage = shared.stage(at.stage);
            const std::uint64_t a =
                make_descriptor(stage, Config::a_k_major) + first_row() / 64 * descriptor_chunk_step;
            const std::uint64_t b = make_descriptor(stage + Config::a_bytes, Config::b_k_major);
            products_begin();
#pragma unroll
            for(int k = 0; k < hopper_k / 16; ++k)
#pragma unroll
                for(int i = 0; i < blocks; ++i)
                {
                    product::issue(sum[i],
                                   a + i * descriptor_chunk_step +
                                       k * descriptor_k_step(Config::a_k_major),
                                   b + k * descriptor_k_step(Config::b_k_major),
                                   1);
                }
            products_commit();
            products_wait<1>();
            if(step > 0) { release(before); }
            before = at.stage;
            at.advance();
        }
        end_turn();
        products_wait<0>();
        pin_sums();
        if(steps > 0) { release(before); }
    }

    // Calls put(row, column, values) for pieces of the result; Staged is the type on the way.
    template <typename Staged, int Vector, typename Narrow, typename Put>
    __device__ __forceinline__ void store(const Narrow& to_staged, const Put& put)
    {
        constexpr int columns    = Config::staged_columns;
        constexpr int line_bytes = columns * static_cast<int>(sizeof(Staged)) + 16;
        constexpr int pieces     = columns / Vector;
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        char* own = shared.staging + warp * 16 * Config::staging_line_bytes;
        const auto staged = [&](int row, int column) {
            return reinterpret_cast<Staged*>(own + row * line_bytes) + column;
        };
#pragma unroll
        for(int i = 0; i < blocks; ++i)
#pragma unroll
            for(int chunk = 0; chunk < Config::n / columns; ++chunk)
            {
#pragma unroll
                for(int j = 0; j < columns / 8; ++j)
                {
                    const float* four = sum[i] + chunk * (columns / 2) + j * 4;
                    const int column  = j * 8 + lane % 4 * 2;
                    to_staged(staged(lane / 4, column), four[0], four[1]);
                    to_staged(staged(lane / 4 + 8, column), four[2], four[3]);
                }
                __syncwarp();
#pragma unroll 4
                for(int index = lane; index < 16 * pieces; index += 32)
                {
                    const int row = index / pieces, column = index % pieces * Vector;
                    put(first_row() + i * 64 + warp % 4 * 16 + row,
                        chunk * columns + column,
                        staged(row, column));
                }
                __syncwarp();
            }
    }

    __device__ __forceinline__ static void narrow_pair(element* to, float a, float b)
    {
        if constexpr(sizeof(element) == 4)
        {
            *reinterpret_cast<float2*>(to) = make_float2(a, b);
        }
        else
        {
            const unsigned low  = narrow<Config::e_type, Config::rounding>(a);
            const unsigned high = narrow<Config::e_type, Config::rounding>(b);
            *reinterpret_cast<unsigned*>(to) = low | (high << 16);
        }
    }

    __device__ __forceinline__ void store_result(const hopper_tile_place& place)
    {
        const hopper_work& w = p.work;
        if constexpr(!weight)
        {
            const result_place<Config> put{w.g, place.at, w.g.k_batch > 1};
            store<element, result_place<Config>::vector>(narrow_pair, put);
        }
        else
        {
            const weight_columns<Config, element> columns{w, place};
            if(w.g.k_batch > 1)
            {
                store_partial(place, columns);
                return;
            }
            using raw = typename raw_vector<Config::vector_c * static_cast<int>(sizeof(element))>::type;
            store<element, Config::vector_c>(
                narrow_pair, [&](int row, int column, const element* values) {
                    const std::int64_t offset = columns.find(row, column);
                    if(offset < 0) { return; }
                    *reinterpret_cast<raw*>(static_cast<element*>(w.g.result) + offset) =
                        *reinterpret_cast<const raw*>(values);
                });
        }
    }

    // Threads that share a tile.
    static constexpr int team = Config::turns ? 128 : Config::warpgroups * 128;
    __device__ __forceinline__ void team_barrier() const
    {
        asm volatile("bar.sync %0, %1;" ::"r"(Config::turns ? 1 + warpgroup : 1), "n"(team) : "memory");
    }

    // Parts of K add up in fp32. The last one to arrive converts, and leaves zeros behind.
    template <typename Columns>
    __device__ __forceinline__ void store_partial(const hopper_tile_place& place, const Columns& columns)
    {
        const hopper_work& w = p.work;
        constexpr bool direct = Config::e_type == data_type::fp32; // the launcher has zeroed it
        constexpr int vector  = Config::vector_c < 4 ? Config::vector_c : 4;
        float* sums = direct ? static_cast<float*>(w.g.result) : w.partial;
        store<float, vector>(
            [](float* to, float a, float b) { *reinterpret_cast<float2*>(to) = make_float2(a, b); },
            [&](int row, int column, const float* values) {
                const std::int64_t offset = columns.find(row, column);
                if(offset >= 0) { add_pieces(sums + offset, values, vector); }
            });
        if constexpr(!direct)
        {
            __threadfence();
            team_barrier();
            auto* last = reinterpret_cast<unsigned*>(shared.staging);
            const int lead = Config::turns ? warpgroup * 128 : 0;
            last += lead / 32 * 16 * (Config::staging_line_bytes / 4);
            if(static_cast<int>(threadIdx.x) == lead)
            {
                *last = atomicAdd(w.arrived + place.number, 1u) + 1 ==
                        static_cast<unsigned>(w.g.k_batch);
                __threadfence();
            }
            team_barrier();
            const bool finish = *last != 0;
            team_barrier();
            if(!finish) { return; }
            if(static_cast<int>(threadIdx.x) == lead) { w.arrived[place.number] = 0; }
            convert(place, columns);
        }
    }

    template <typename Columns>
    __device__ __forceinline__ void convert(const hopper_tile_place&, const Columns& columns)
    {
        const hopper_work& w = p.work;
        constexpr int vector = Config::vector_c < 4 ? Config::vector_c : 4;
        constexpr int pieces = Config::n / vector;
        const int lead       = Config::turns ? warpgroup * 128 : 0;
        for(int index = static_cast<int>(threadIdx.x) - lead; index < Config::m * pieces; index += team)
        {
            const std::int64_t offset = columns.find(index / pieces, index % pieces * vector);
            if(offset < 0) { continue; }
            element* to = static_cast<element*>(w.g.result) + offset;
            float values[vector];
            element narrowed[vector];
#pragma unroll
            for(int i = 0; i < vector; ++i) { values[i] = __ldcg(w.partial + offset + i); }
#pragma unroll
            for(int i = 0; i < vector; ++i)
            {
                narrowed[i] = narrow<Config::e_type, Config::rounding>(values[i]);
                w.partial[offset + i] = 0;
            }
            using raw = typename raw_vector<vector * static_cast<int>(sizeof(element))>::type;
            raw bits;
            memcpy(&bits, narrowed, sizeof(bits));
            *reinterpret_cast<raw*>(to) = bits;
        }
    }
};

template <typename Config>
__device__ __forceinline__ void consume_tiles(const hopper_params& p,
                                              const hopper_shared<Config>& shared,
                                              int warpgroup,
                                              int stride)
{
    hopper_consumer<Config> consumer{p, shared, warpgroup};
    int turn = 0;
    for(int tile = blockIdx.x; tile < p.work.tiles; tile += stride)
    {
        const hopper_tile_place place = find_hopper_place<Config>(p.work, tile);
        const int steps               = place.step_end - place.step_begin;
        if constexpr(Config::turns)
        {
            const bool mine = turn == warpgroup;
            turn ^= 1;
            if(!mine)
            {
                consumer.at.advance(steps);
                continue;
            }
        }
        consumer.begin_turn();
        consumer.multiply(steps);
        consumer.store_result(place);
    }
}

template <typename Config, typename Tag>
__global__ void __launch_bounds__(Config::threads, Config::resident)
    hopper_gemm(const __grid_constant__ hopper_params p)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
    extern __shared__ __align__(128) char memory[];
    const hopper_shared<Config> shared(memory);
    // The same value in all lanes, as the compiler can see.
    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
    if(threadIdx.x == 0)
    {
        for(int i = 0; i < 2; ++i) { barrier_init(shared.order + 8 * i, 4); }
        for(int i = 0; i < Config::stages; ++i)
        {
            barrier_init(shared.full + 8 * i, 1);
            barrier_init(shared.empty + 8 * i, Config::turns ? 4 : 4 * Config::warpgroups);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        prefetch_map(p.a);
        prefetch_map(p.b);
    }
    __syncthreads();
    const int stride = static_cast<int>(gridDim.x);
    constexpr int start    = Config::registers_at_start(Config::resident);
    constexpr int consumer = Config::consumer_registers(Config::resident);
    if(warp >= Config::warpgroups * 4)
    {
        if constexpr(start > Config::producer_registers)
        {
            give_up_registers<Config::producer_registers>();
        }
        if(warp == Config::warpgroups * 4 && threadIdx.x % 32 == 0)
        {
            hopper_producer<Config> producer{p, shared};
            for(int tile = blockIdx.x; tile < p.work.tiles; tile += stride)
            {
                producer.fill(find_hopper_place<Config>(p.work, tile));
            }
        }
    }
    else
    {
        if constexpr(consumer > start) { take_registers<consumer>(); }
        consume_tiles<Config>(p, shared, warp / 4, stride);
    }
#endif
}

} // namespace ck_tile::cuda_model
