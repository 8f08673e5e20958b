// SPDX-License-Identifier: MIT
// Operations whose D tensors are of channels alone, done with engine W's sums in registers. What
// becomes of them takes the way of any kernel's results. What a tile needs of the D tensors is read
// while it is multiplied: memory that is busy answers late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ck_tile/cuda_model/fused_operation.hpp"
#include "ck_tile/cuda_model/operands.hpp"

namespace ck_tile::cuda_model {

// The channels of a tile from one of them on.
struct channel_range
{
    std::int64_t first; // of all groups
    int count;          // that the GEMM has; may be negative

    __device__ __forceinline__ channel_range(const gemm_params& g,
                                             const tile_place& at,
                                             int skipped)
        : first(static_cast<std::int64_t>(at.first_group) * g.out_channels + at.first_column +
                skipped),
          count(g.n - at.first_column - skipped)
    {}
};

// Elements of Columns channels of a D tensor: a warp reads them, each lane its pieces of 16 bytes.
template <host_model::data_type Type, int Columns>
struct channel_pieces
{
    static constexpr int size    = static_cast<int>(sizeof(stored_t<Type>));
    static constexpr int piece   = 16 / size;
    static constexpr int of_lane = divide_up(Columns, piece * 32);
    static constexpr int bytes   = divide_up(Columns * size, 16) * 16;

    uint4 pieces[of_lane];

    __device__ __forceinline__ void read(const void* tensor, const channel_range& channels)
    {
        const auto* from   = static_cast<const stored_t<Type>*>(tensor) + channels.first;
        const bool aligned = reinterpret_cast<std::uintptr_t>(from) % 16 == 0;
#pragma unroll
        for(int i = 0; i < of_lane; ++i)
        {
            pieces[i]        = uint4{};
            const int column = first_column(i);
            if(column >= Columns) { continue; }
            if(aligned && column + piece <= channels.count)
            {
                pieces[i] = read_only(reinterpret_cast<const uint4*>(from + column));
                continue;
            }
            stored_t<Type> elements[piece]{};
#pragma unroll
            for(int e = 0; e < piece; ++e)
            {
                if(column + e < channels.count) { elements[e] = read_only(from + column + e); }
            }
            memcpy(&pieces[i], elements, 16);
        }
    }

    __device__ __forceinline__ void write(char* shared) const
    {
#pragma unroll
        for(int i = 0; i < of_lane; ++i)
        {
            if(first_column(i) < Columns)
            {
                *reinterpret_cast<uint4*>(shared + first_column(i) * size) = pieces[i];
            }
        }
    }

private:
    __device__ __forceinline__ static int first_column(int i)
    { return (static_cast<int>(threadIdx.x) % 32 + i * 32) * piece; }
};

// Of a tile whose columns are channels. Staging: bytes of shared memory that a warp has for itself
// after its products.
template <typename Fused, int Columns, int Staging>
struct column_operation;
template <typename Functor, host_model::data_type... Types, int Columns, int Staging>
struct column_operation<fused_operation<Functor, Types...>, Columns, Staging>
{
    using fused_type = fused_operation<Functor, Types...>;
    using indices    = typename fused_type::indices;

    static constexpr int needed    = (channel_pieces<Types, Columns>::bytes + ... + 0);
    static constexpr bool possible = needed <= Staging;

    std::tuple<channel_pieces<Types, Columns>...> pieces;

    __device__ __forceinline__ void read(const fused_type& fused, const channel_range& channels)
    {
        if constexpr(possible) { read_all(fused, channels, indices{}); }
    }

    // A lane's four sums are two neighbouring ones of one row, then of the eighth row after it.
    template <host_model::data_type E, bf16_rounding_mode Rounding, int Blocks, int Registers>
    __device__ __forceinline__ void
    combine(const fused_type& fused, float (&sum)[Blocks][Registers], char* staging) const
    {
        write_all(staging, indices{});
        __syncwarp();
        const auto function = fused.in_registers();
        const int first     = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
        for(int j = 0; j < Registers; j += 4)
        {
            typename fused_type::template elements<2> pair;
            load_all(pair, staging, j * 2 + first, indices{});
            const auto operands = fused_type::template widened<2>(pair);
#pragma unroll
            for(int i = 0; i < Blocks; ++i)
#pragma unroll
                for(int row = 0; row < 4; row += 2)
                {
                    fused_type::template apply_in_place<E, Rounding>(
                        function, sum[i][j + row], sum[i][j + row + 1], operands);
                }
        }
        __syncwarp();
    }

private:
    // Where the elements of tensor I are.
    template <std::size_t I>
    static constexpr int start_of()
    {
        constexpr int bytes[] = {channel_pieces<Types, Columns>::bytes..., 0};
        int start             = 0;
        for(std::size_t i = 0; i < I; ++i) { start += bytes[i]; }
        return start;
    }

    template <std::size_t... I>
    __device__ __forceinline__ void
    read_all(const fused_type& fused, const channel_range& channels, std::index_sequence<I...>)
    { (std::get<I>(pieces).read(fused.d[I], channels), ...); }

    template <std::size_t... I>
    __device__ __forceinline__ void write_all(char* staging, std::index_sequence<I...>) const
    { (std::get<I>(pieces).write(staging + start_of<I>()), ...); }

    template <std::size_t... I>
    __device__ __forceinline__ static void load_all(typename fused_type::template elements<2>& pair,
                                                    const char* staging,
                                                    int column,
                                                    std::index_sequence<I...>)
    {
        (static_cast<d_elements<I, Types, 2>&>(pair).load(
             staging + start_of<I>() + column * static_cast<int>(sizeof(stored_t<Types>))),
         ...);
    }
};

// Of a tile whose rows are channels, in blocks of 64 of them: a lane has two of each.
template <typename Fused, int Blocks>
struct row_operation;
template <typename Functor, host_model::data_type... Types, int Blocks>
struct row_operation<fused_operation<Functor, Types...>, Blocks>
{
    using fused_type = fused_operation<Functor, Types...>;

    static constexpr bool possible = true;

    // Elements as they are stored: a register each, which nothing waits for before it is used.
    static constexpr int count = sizeof...(Types) > 0 ? static_cast<int>(sizeof...(Types)) : 1;
    std::uint32_t bits[Blocks][count][2];

    __device__ __forceinline__ void read(const fused_type& fused, const channel_range& channels)
    {
        const int own =
            static_cast<int>(threadIdx.x) / 32 % 4 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
#pragma unroll
        for(int block = 0; block < Blocks; ++block)
#pragma unroll
            for(int place = 0; place < 2; ++place)
            {
                // Beyond the last channel, its elements again: they belong to nothing.
                const int channel = min(block * 64 + place * 8 + own, channels.count - 1);
                int number        = 0;
                ((bits[block][number][place] =
                      element_bits<Types>(fused.d[number], channels.first + max(channel, 0)),
                  ++number),
                 ...);
            }
    }

    // A lane's four sums are two positions of one channel, then of the eighth channel after it.
    template <host_model::data_type E, bf16_rounding_mode Rounding, int Registers>
    __device__ __forceinline__ void
    combine(const fused_type& fused, float (&sum)[Blocks][Registers], char*) const
    {
        const auto function = fused.in_registers();
#pragma unroll
        for(int i = 0; i < Blocks; ++i)
        {
            typename fused_type::template operands<2> operands;
#pragma unroll
            for(int place = 0; place < 2; ++place)
            {
                int number = 0;
                ((operands.d[number][place] = element_value<Types>(bits[i][number][place]),
                  ++number),
                 ...);
            }
#pragma unroll
            for(int j = 0; j < Registers; j += 4)
#pragma unroll
                for(int position = 0; position < 2; ++position)
                {
                    fused_type::template apply_in_place<E, Rounding>(
                        function, sum[i][j + position], sum[i][j + position + 2], operands);
                }
        }
    }

private:
    template <host_model::data_type Type>
    __device__ __forceinline__ static std::uint32_t element_bits(const void* tensor,
                                                                 std::int64_t offset)
    {
        const auto element = read_only(static_cast<const stored_t<Type>*>(tensor) + offset);
        if constexpr(sizeof(element) == 4) { return __builtin_bit_cast(std::uint32_t, element); }
        else
        {
            return element;
        }
    }

    template <host_model::data_type Type>
    __device__ __forceinline__ static float element_value(std::uint32_t bits)
    {
        if constexpr(sizeof(stored_t<Type>) == 4)
        {
            return widen<Type>(__builtin_bit_cast(stored_t<Type>, bits));
        }
        else
        {
            return widen<Type>(static_cast<stored_t<Type>>(bits));
        }
    }
};

// What a warpgroup reads for its tiles; nothing where nothing is fused.
template <typename Config, bool Exists = Config::fused::exists>
struct channel_operation
{
    template <typename Params>
    __device__ __forceinline__ void
    read(const typename Config::fused&, const Params&, const tile_place&, int) const
    {}
};

template <typename Config>
using channel_operation_of = std::conditional_t<
    Config::transposed,
    row_operation<typename Config::fused, Config::own_blocks>,
    column_operation<typename Config::fused, Config::n, 16 * Config::staging_line_bytes>>;

template <typename Config>
struct channel_operation<Config, true> : channel_operation_of<Config>
{
    // Also where D tensors have an element for each of the result: they begin with as many, and a
    // condition would cost registers. first_row: of the warpgroup's products.
    __device__ __forceinline__ void read(const typename Config::fused& fused,
                                         const gemm_params& g,
                                         const tile_place& at,
                                         int first_row)
    {
        channel_operation_of<Config>::read(
            fused, channel_range(g, at, Config::transposed ? first_row : 0));
    }
};

} // namespace ck_tile::cuda_model
