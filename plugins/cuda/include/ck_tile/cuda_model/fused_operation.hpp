// SPDX-License-Identifier: MIT
// What a kernel does with its sums on their way to memory: an element-wise operation, of an element
// and those of the D tensors in its place. Engines know that there is one, and none by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/host_model/elementwise.hpp"

namespace ck_tile::cuda_model {

// Neighbouring elements of D tensor number I.
template <std::size_t I, host_model::data_type Type, int Vector>
struct d_elements
{
    static constexpr int bytes = Vector * static_cast<int>(sizeof(stored_t<Type>));
    static constexpr int piece = bytes < 16 ? bytes : 16; // that is read at once

    using raw = typename raw_vector<piece>::type;
    raw pieces[bytes / piece];

    __device__ __forceinline__ void read(const void* tensor, std::int64_t offset)
    {
        const auto* from =
            reinterpret_cast<const raw*>(static_cast<const stored_t<Type>*>(tensor) + offset);
#pragma unroll
        for(int i = 0; i < bytes / piece; ++i) { pieces[i] = read_only(from + i); }
    }

    // The same of shared memory.
    __device__ __forceinline__ void load(const char* shared)
    { memcpy(pieces, __builtin_assume_aligned(shared, piece), bytes); }

    __device__ __forceinline__ void widen_to(float (&values)[Vector]) const
    {
        alignas(raw) stored_t<Type> stored[Vector];
        memcpy(stored, pieces, bytes);
        widen_all<Type>(stored, values);
    }
};

template <typename Indices, int Vector, host_model::data_type... Types>
struct d_elements_of_all;
template <std::size_t... I, int Vector, host_model::data_type... Types>
struct d_elements_of_all<std::index_sequence<I...>, Vector, Types...>
    : d_elements<I, Types, Vector>...
{};

// Types: of the D tensors.
template <typename Functor, host_model::data_type... Types>
struct fused_operation
{
    static constexpr bool exists       = true;
    static constexpr std::size_t count = sizeof...(Types);

    Functor functor;
    const void* d[host_model::most_combined_tensors]; // at multiples of 16 bytes
    bool per_channel[host_model::most_combined_tensors];
    bool channels_alone; // all of them are

    using indices = std::make_index_sequence<count>;

    // What is read for neighbouring elements of the result, and how often to do so before any is
    // used: in as many registers as the sums that have been stored leave.
    template <int Vector>
    using elements = d_elements_of_all<indices, Vector, Types...>;
    template <int Vector>
    static constexpr int at_once =
        count == 0 || sizeof(elements<Vector>) <= 16 ? 8 : (sizeof(elements<Vector>) <= 32 ? 4 : 1);

    template <int Vector>
    __device__ __forceinline__ elements<Vector> read(std::int64_t element,
                                                     std::int64_t channel) const
    {
        elements<Vector> all;
        read_all(all, element, channel, indices{});
        return all;
    }

    // Where the compiler may read its numbers when it needs them, conditions become branches.
    __device__ __forceinline__ Functor in_registers() const
    {
        Functor copy = functor;
        if constexpr(sizeof(Functor) % 4 == 0)
        {
            std::uint32_t words[sizeof(Functor) / 4];
            memcpy(words, &copy, sizeof(words));
#pragma unroll
            for(std::uint32_t& word : words) { asm("" : "+r"(word)); }
            memcpy(&copy, words, sizeof(words));
        }
        return copy;
    }

    // Elements of the D tensors as the functor takes them, for neighbouring elements of the result.
    template <int Vector>
    struct operands
    {
        float d[count > 0 ? count : 1][Vector];
    };
    template <int Vector>
    __device__ __forceinline__ static operands<Vector> widened(const elements<Vector>& all)
    { return widen_each(all, indices{}); }

    // Sums are as staged_type says; what becomes of them is rounded to E.
    template <host_model::data_type Sum,
              host_model::data_type E,
              bf16_rounding_mode Rounding,
              int Vector>
    __device__ __forceinline__ void apply(const stored_t<Sum> (&sums)[Vector],
                                          const elements<Vector>& all,
                                          stored_t<E> (&results)[Vector]) const
    {
        const Functor function = in_registers();
        float values[Vector];
        widen_all<Sum>(sums, values);
        combine(function, values, widened(all), indices{});
        narrow_all<E, Rounding>(values, results);
    }

    // The same of two sums in registers, which become results that are still to be rounded.
    template <host_model::data_type E, bf16_rounding_mode Rounding>
    __device__ __forceinline__ static void
    apply_in_place(const Functor& function, float& first, float& second, const operands<2>& all)
    {
        float pair[2] = {first, second};
        alignas(4) stored_t<E> rounded[2];
        narrow_all<E, Rounding>(pair, rounded);
        widen_all<E>(rounded, pair);
        combine(function, pair, all, indices{});
        first  = pair[0];
        second = pair[1];
    }

private:
    template <int Vector, std::size_t... I>
    __device__ __forceinline__ void read_all(elements<Vector>& all,
                                             std::int64_t element,
                                             std::int64_t channel,
                                             std::index_sequence<I...>) const
    {
        (static_cast<d_elements<I, Types, Vector>&>(all).read(d[I],
                                                              per_channel[I] ? channel : element),
         ...);
    }

    template <int Vector, std::size_t... I>
    __device__ __forceinline__ static operands<Vector> widen_each(const elements<Vector>& all,
                                                                  std::index_sequence<I...>)
    {
        operands<Vector> widened;
        (static_cast<const d_elements<I, Types, Vector>&>(all).widen_to(widened.d[I]), ...);
        return widened;
    }

    // Sums become results.
    template <int Vector, std::size_t... I>
    __device__ __forceinline__ static void combine(const Functor& function,
                                                   float (&values)[Vector],
                                                   const operands<Vector>& all,
                                                   std::index_sequence<I...>)
    {
#pragma unroll
        for(int i = 0; i < Vector; ++i)
        {
            const float sum = values[i];
            function(values[i], sum, all.d[I][i]...);
        }
    }
};

// A tile_config whose kernels do that.
template <typename Config, typename Operation>
struct fusing : Config
{
    using fused = Operation;
};

// Of sums on their way to memory: the result's, to which they are rounded, unless something is done
// with them of which 8 bits would hold too little.
template <typename Config>
inline constexpr host_model::data_type staged_type =
    Config::fused::exists && Config::e_bytes == 1
        ? (Config::integer ? host_model::data_type::int32 : host_model::data_type::fp32)
        : Config::e_type;

// The largest divisor that is at most so large.
constexpr int divisor_up_to(int number, int most)
{
    int found = most < number ? most : number;
    while(number % found != 0) { --found; }
    return found;
}

// What puts vectors where they belong, and does something with them on the way.
template <typename Put>
concept combining = requires { typename Put::elements; };

// Puts Rounds vectors: row(round) and column(round) tell where they belong, and values(round) where
// they are after stage() was called. OneColumn: they are of the same columns. Then, what belongs to
// channels is read once, and the code is short: that of a kernel that has just been loaded comes
// from memory.
template <int Rounds,
          bool OneColumn,
          typename Put,
          typename Row,
          typename Column,
          typename Values,
          typename Stage>
__device__ __forceinline__ void put_rounds(
    const Put& put, const Row& row, const Column& column, const Values& values, const Stage& stage)
{
    const bool together  = OneColumn && put.result.fused.channels_alone;
    const auto at_column = column(0);
    typename Put::elements of_channels{};
    if(together) { of_channels = put.read(0, at_column); }
    stage();
    if(together)
    {
#pragma unroll 1
        for(int round = 0; round < Rounds; ++round)
        {
            put(row(round), at_column, of_channels, values(round));
        }
        return;
    }
    constexpr int at_once = divisor_up_to(Rounds, Put::at_once);
#pragma unroll(Rounds <= 8 && !OneColumn ? Rounds : 1)
    for(int first = 0; first < Rounds; first += at_once)
    {
        typename Put::elements read[at_once];
#pragma unroll
        for(int i = 0; i < at_once; ++i) { read[i] = put.read(row(first + i), column(first + i)); }
#pragma unroll
        for(int i = 0; i < at_once; ++i)
        {
            put(row(first + i), column(first + i), read[i], values(first + i));
        }
    }
}

} // namespace ck_tile::cuda_model
