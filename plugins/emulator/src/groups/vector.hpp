// SPDX-License-Identifier: MIT
// What vector instructions have in common: an operation on the values of one lane becomes a handler
// that reads sources, applies modifiers and writes results under the execution mask. Types of the
// operation's parameters and result say how registers are read and written.
#pragma once

#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/wave.hpp"
#include "groups/vector_modifiers.hpp"
#include "groups/vector_types.hpp"

// Lanes do not depend on each other, also where a result is written over a source.
#if defined(__clang__)
#define CKPROF_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define CKPROF_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

namespace ckprof::emulator {

// Writes active lanes of a result.
inline void
write_lanes(Wave& wave, const Operand& destination, const VectorRegister& value, unsigned dword = 0)
{ merge(wave.result(destination, dword), value, wave.exec()); }

// A bit per lane; `flags` are 0 or 1.
inline LaneMask mask_of(const uint8_t (&flags)[lane_count])
{
    LaneMask mask = 0;
    for(int group = 0; group < 8; ++group)
    {
        uint64_t bytes;
        std::memcpy(&bytes, flags + 8 * group, sizeof(bytes));
        // the n-th byte's bit becomes the n-th bit of the highest byte
        mask |= (bytes * 0x0102040810204080 >> 56) << (8 * group);
    }
    return mask;
}

namespace detail {

template <typename T>
struct Signature;
template <typename R, typename... A>
struct Signature<R (*)(A...)>
{
    using Result    = R;
    using Arguments = std::tuple<A...>;
};
template <typename R, typename C, typename... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)>
{};

template <typename T>
struct SignatureOf : Signature<decltype(&T::operator())>
{};
template <typename R, typename... A>
struct SignatureOf<R (*)(A...)> : Signature<R (*)(A...)>
{};

template <typename T>
struct Source
{
    const VectorRegister* low;
    const VectorRegister* high;

    Source(const Wave& wave, const Operand& operand, VectorRegister* room)
        : low(&wave.lanes(operand, room[0])),
          high(dwords_of(Lane<T>::format) == 2 ? &wave.lanes(operand, room[1], 1) : low)
    {}
    explicit Source(const VectorRegister* room) : low(room), high(room + 1) {}

    T operator[](int lane) const { return Lane<T>::from(low->lane[lane], high->lane[lane]); }
};

template <auto operation,
          typename Result = typename SignatureOf<std::remove_cvref_t<decltype(operation)>>::Result,
          typename Arguments =
              typename SignatureOf<std::remove_cvref_t<decltype(operation)>>::Arguments>
struct Lanes;

template <auto operation, typename R, typename... A>
struct Lanes<operation, R, std::tuple<A...>>
{
    static constexpr bool floating = (is_float(Lane<A>::format) || ...);
    static constexpr auto each     = std::index_sequence_for<A...>{};

    static bool plain(const Wave& wave, const Instruction& i)
    {
        if constexpr(floating || requires { requires is_float(Lane<R>::format); })
            return !i.modified && wave.mode.plain;
        else
            return !i.modified;
    }

    template <size_t... s>
    static std::tuple<Source<A>...>
    plain_sources(Wave& wave, const Instruction& i, std::index_sequence<s...>)
    { return {Source<A>(wave, i.source[s], wave.temporary + 2 * s)...}; }

    template <size_t... s>
    static std::tuple<Source<A>...> modified_sources(const Wave& wave,
                                                     const Instruction& i,
                                                     VectorRegister (*room)[2],
                                                     std::index_sequence<s...>)
    {
        (read_source(wave, i, s, Lane<A>::format, room[s]), ...);
        return {Source<A>(room[s])...};
    }

    // Results of all lanes, for registers.
    static void compute(const std::tuple<Source<A>...>& sources,
                        VectorRegister& to_low,
                        [[maybe_unused]] VectorRegister& to_high)
    {
        std::apply(
            [&](const auto... source) {
                uint32_t* const low                   = to_low.lane;
                [[maybe_unused]] uint32_t* const high = to_high.lane;
                CKPROF_INDEPENDENT_LANES
                for(int lane = 0; lane < lane_count; ++lane)
                {
                    const R value = operation(source[lane]...);
                    if constexpr(keeps_other_half<R>)
                        low[lane] = (low[lane] & 0xffff0000) | Lane<R>::low(value);
                    else
                        low[lane] = Lane<R>::low(value);
                    if constexpr(dwords_of(Lane<R>::format) == 2) high[lane] = Lane<R>::high(value);
                }
            },
            sources);
    }

    // Results of all lanes that are conditions.
    static LaneMask test(const std::tuple<Source<A>...>& sources)
    {
        alignas(64) uint8_t flags[lane_count];
        std::apply(
            [&](const auto... source) {
                for(int lane = 0; lane < lane_count; ++lane)
                    flags[lane] = operation(source[lane]...) ? 1 : 0;
            },
            sources);
        return mask_of(flags);
    }

    static void execute_plain(Wave& wave, const Instruction& i)
    {
        constexpr unsigned dwords = dwords_of(Lane<R>::format);
        const auto sources        = plain_sources(wave, i, each);
        VectorRegister& low       = wave.result(i.destination);
        VectorRegister& high      = wave.result(i.destination, dwords - 1);
        const LaneMask exec       = wave.exec();
        if(exec == all_lanes)
        {
            compute(sources, low, high);
            return;
        }
        if constexpr(keeps_other_half<R>) wave.temporary[6] = low;
        compute(sources, wave.temporary[6], wave.temporary[7]);
        merge(low, wave.temporary[6], exec);
        if constexpr(dwords == 2) merge(high, wave.temporary[7], exec);
    }

    [[gnu::noinline]] static void execute_modified(Wave& wave, const Instruction& i)
    {
        VectorRegister room[sizeof...(A)][2], result[2];
        const auto sources = modified_sources(wave, i, room, each);
        {
            const HostRounding rounding(wave.mode, Lane<R>::format);
            compute(sources, result[0], result[1]);
        }
        write_result(wave, i, Lane<R>::format, keeps_other_half<R>, result, written_lanes(wave, i));
    }

    static LaneMask condition(Wave& wave, const Instruction& i)
    {
        if(plain(wave, i)) return test(plain_sources(wave, i, each));
        VectorRegister room[sizeof...(A)][2];
        return test(modified_sources(wave, i, room, each));
    }
};

} // namespace detail

// Handler of an operation on one to three sources; `clamped` is the operation that saturates
// integers if the instruction says so.
template <auto operation, auto clamped = operation>
void lanewise(Wave& wave, const Instruction& i)
{
    using Lanes = detail::Lanes<operation>;
    if(Lanes::plain(wave, i)) [[likely]]
        Lanes::execute_plain(wave, i);
    else if(i.clamp)
        detail::Lanes<clamped>::execute_modified(wave, i);
    else
        Lanes::execute_modified(wave, i);
}

} // namespace ckprof::emulator
