// SPDX-License-Identifier: MIT
// What scalar instructions have in common: an operation on values becomes a handler. Types of the
// operation's parameters say how wide sources are read.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/wave.hpp"

namespace ckprof::emulator {

// What becomes of SCC.
enum class Condition : uint8_t
{
    kept,
    nonzero, // whether the result is not 0
};

// Relations of two values.
namespace relation {
inline constexpr auto eq = [](auto a, auto b) { return a == b; };
inline constexpr auto lg = [](auto a, auto b) { return a != b; };
inline constexpr auto gt = [](auto a, auto b) { return a > b; };
inline constexpr auto ge = [](auto a, auto b) { return a >= b; };
inline constexpr auto lt = [](auto a, auto b) { return a < b; };
inline constexpr auto le = [](auto a, auto b) { return a <= b; };
} // namespace relation

// Logic of bits.
namespace logic {
inline constexpr auto bits_and   = [](uint64_t a, uint64_t b) { return a & b; };
inline constexpr auto bits_or    = [](uint64_t a, uint64_t b) { return a | b; };
inline constexpr auto bits_xor   = [](uint64_t a, uint64_t b) { return a ^ b; };
inline constexpr auto bits_andn1 = [](uint64_t a, uint64_t b) { return ~a & b; };
inline constexpr auto bits_andn2 = [](uint64_t a, uint64_t b) { return a & ~b; };
inline constexpr auto bits_orn1  = [](uint64_t a, uint64_t b) { return ~a | b; };
inline constexpr auto bits_orn2  = [](uint64_t a, uint64_t b) { return a | ~b; };
inline constexpr auto bits_nand  = [](uint64_t a, uint64_t b) { return ~(a & b); };
inline constexpr auto bits_nor   = [](uint64_t a, uint64_t b) { return ~(a | b); };
inline constexpr auto bits_xnor  = [](uint64_t a, uint64_t b) { return ~(a ^ b); };
} // namespace logic

namespace detail {

template <typename T>
T read_scalar(const Wave& wave, const Operand& operand)
{
    if constexpr(sizeof(T) == 8)
        return static_cast<T>(wave.read64(operand));
    else
        return static_cast<T>(wave.read32(operand));
}

template <Condition condition, typename R>
void write_scalar(Wave& wave, const Instruction& i, R result)
{
    wave.write(i.destination, static_cast<std::make_unsigned_t<R>>(result));
    if constexpr(condition == Condition::nonzero) wave.scc = result != 0;
}

template <Condition condition, auto operation, typename R, typename... A, size_t... s>
void scalar_values(Wave& wave, const Instruction& i, R (*)(A...), std::index_sequence<s...>)
{ write_scalar<condition>(wave, i, operation(read_scalar<A>(wave, i.source[s])...)); }

template <auto operation, typename R, typename... A, size_t... s>
void scalar_carry(Wave& wave, const Instruction& i, R (*)(bool&, A...), std::index_sequence<s...>)
{
    bool scc       = wave.scc;
    const R result = operation(scc, read_scalar<A>(wave, i.source[s])...);
    write_scalar<Condition::kept>(wave, i, result);
    wave.scc = scc;
}

template <auto operation, typename... A, size_t... s>
void scalar_test(Wave& wave, const Instruction& i, bool (*)(A...), std::index_sequence<s...>)
{ wave.scc = operation(read_scalar<A>(wave, i.source[s])...); }

} // namespace detail

// operation(sources), which SCC does not depend on.
template <Condition condition, auto operation>
void scalar_operation(Wave& wave, const Instruction& i)
{
    constexpr auto function = +operation;
    [&]<typename R, typename... A>(R (*as)(A...)) {
        detail::scalar_values<condition, operation>(wave, i, as, std::index_sequence_for<A...>{});
    }(function);
}

// operation(scc, sources), which reads and writes SCC.
template <auto operation>
void scalar_with_carry(Wave& wave, const Instruction& i)
{
    constexpr auto function = +operation;
    [&]<typename R, typename... A>(R (*as)(bool&, A...)) {
        detail::scalar_carry<operation>(wave, i, as, std::index_sequence_for<A...>{});
    }(function);
}

// operation(sources) becomes SCC.
template <auto operation>
void scalar_condition(Wave& wave, const Instruction& i)
{
    constexpr auto function = +operation;
    [&]<typename... A>(bool (*as)(A...)) {
        detail::scalar_test<operation>(wave, i, as, std::index_sequence_for<A...>{});
    }(function);
}

} // namespace ckprof::emulator
