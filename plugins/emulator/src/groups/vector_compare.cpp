// SPDX-License-Identifier: MIT
// Conditions per lane and what selects by them.
#include <cmath>

#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// Lanes that are off have a bit of 0.
template <auto condition>
void compare(Wave& wave, const Instruction& i)
{
    const LaneMask mask = detail::Lanes<condition>::condition(wave, i) & wave.exec();
    wave.write(i.scalar_destination, mask);
}

template <auto condition>
void compare_and_mask(Wave& wave, const Instruction& i)
{
    const LaneMask mask = detail::Lanes<condition>::condition(wave, i) & wave.exec();
    wave.write(i.scalar_destination, mask);
    wave.set_exec(mask);
}

template <typename T>
auto number(T value)
{
    if constexpr(std::is_same_v<T, F16>)
        return value.value;
    else
        return value;
}

// Relations of VOPC, in the order of opcodes; those that start with n are true for NaN.
constexpr auto never     = [](auto, auto) { return false; };
constexpr auto lt        = [](auto a, auto b) { return a < b; };
constexpr auto eq        = [](auto a, auto b) { return a == b; };
constexpr auto le        = [](auto a, auto b) { return a <= b; };
constexpr auto gt        = [](auto a, auto b) { return a > b; };
constexpr auto ne        = [](auto a, auto b) { return a != b; };
constexpr auto ge        = [](auto a, auto b) { return a >= b; };
constexpr auto always    = [](auto, auto) { return true; };
constexpr auto lg        = [](auto a, auto b) { return a < b || a > b; };
constexpr auto ordered   = [](auto a, auto b) { return a == a && b == b; };
constexpr auto unordered = [](auto a, auto b) { return a != a || b != b; };
constexpr auto nge       = [](auto a, auto b) { return !(a >= b); };
constexpr auto nlg       = [](auto a, auto b) { return !(a < b || a > b); };
constexpr auto ngt       = [](auto a, auto b) { return !(a > b); };
constexpr auto nle       = [](auto a, auto b) { return !(a <= b); };
constexpr auto neq       = [](auto a, auto b) { return !(a == b); };
constexpr auto nlt       = [](auto a, auto b) { return !(a < b); };

template <typename T, auto relation>
constexpr auto related = [](T a, T b) -> bool { return relation(number(a), number(b)); };

// Bits of the class mask: signalling and quiet NaN, then from -infinity to infinity.
template <unsigned exponent_bits, unsigned fraction_bits>
bool in_class(uint64_t bits, uint32_t classes)
{
    const uint64_t fraction = bits & ((uint64_t{1} << fraction_bits) - 1);
    const uint64_t last     = (uint64_t{1} << exponent_bits) - 1;
    const uint64_t exponent = bits >> fraction_bits & last;
    const bool negative     = (bits >> (fraction_bits + exponent_bits) & 1) != 0;
    unsigned bit;
    if(exponent == last && fraction != 0)
        bit = (fraction >> (fraction_bits - 1)) != 0 ? 1 : 0;
    else if(exponent == last)
        bit = negative ? 2 : 9;
    else if(exponent != 0)
        bit = negative ? 3 : 8;
    else if(fraction != 0)
        bit = negative ? 4 : 7;
    else
        bit = negative ? 5 : 6;
    return (classes >> bit & 1) != 0;
}

constexpr auto class_f16 = [](F16 a, uint32_t classes) {
    return in_class<5, 10>(half_of_value(a.value), classes);
};
constexpr auto class_f32 = [](float a, uint32_t classes) {
    return in_class<8, 23>(std::bit_cast<uint32_t>(a), classes);
};
constexpr auto class_f64 = [](double a, uint32_t classes) {
    return in_class<11, 52>(std::bit_cast<uint64_t>(a), classes);
};

// Signs of sources can be changed as those of fp32.
void select(Wave& wave, const Instruction& i)
{
    VectorRegister room[2][2];
    const VectorRegister* a = &room[0][0];
    const VectorRegister* b = &room[1][0];
    if(i.modified)
    {
        read_source(wave, i, 0, Format::signed32, room[0]);
        read_source(wave, i, 1, Format::signed32, room[1]);
    }
    else
    {
        a = &wave.lanes(i.source[0], room[0][0]);
        b = &wave.lanes(i.source[1], room[1][0]);
    }
    const uint64_t condition = wave.read64(i.source[2]);
    VectorRegister result    = *a;
    merge(result, *b, condition);
    if(i.modified)
        write_result(wave, i, Format::signed32, false, &result, written_lanes(wave, i));
    else
        write_lanes(wave, i.destination, result);
}

#define COMPARES(type, name, relation)                                                             \
    {"v_cmp_" name, &compare<related<type, relation>>},                                            \
        {"v_cmpx_" name, &compare_and_mask<related<type, relation>>},
#define INTEGER_COMPARES(type, suffix)                                                             \
    COMPARES(type, "f_" suffix, never)                                                             \
    COMPARES(type, "lt_" suffix, lt)                                                               \
    COMPARES(type, "eq_" suffix, eq)                                                               \
    COMPARES(type, "le_" suffix, le)                                                               \
    COMPARES(type, "gt_" suffix, gt)                                                               \
    COMPARES(type, "ne_" suffix, ne)                                                               \
    COMPARES(type, "ge_" suffix, ge)                                                               \
    COMPARES(type, "t_" suffix, always)
#define FLOAT_COMPARES(type, suffix)                                                               \
    COMPARES(type, "f_" suffix, never)                                                             \
    COMPARES(type, "lt_" suffix, lt)                                                               \
    COMPARES(type, "eq_" suffix, eq)                                                               \
    COMPARES(type, "le_" suffix, le)                                                               \
    COMPARES(type, "gt_" suffix, gt)                                                               \
    COMPARES(type, "lg_" suffix, lg)                                                               \
    COMPARES(type, "ge_" suffix, ge)                                                               \
    COMPARES(type, "o_" suffix, ordered)                                                           \
    COMPARES(type, "u_" suffix, unordered)                                                         \
    COMPARES(type, "nge_" suffix, nge)                                                             \
    COMPARES(type, "nlg_" suffix, nlg)                                                             \
    COMPARES(type, "ngt_" suffix, ngt)                                                             \
    COMPARES(type, "nle_" suffix, nle)                                                             \
    COMPARES(type, "neq_" suffix, neq)                                                             \
    COMPARES(type, "nlt_" suffix, nlt)                                                             \
    COMPARES(type, "tru_" suffix, always)

constexpr NamedHandler handlers[] = {
    {"v_cndmask_b32", &select},
    INTEGER_COMPARES(int16_t, "i16") INTEGER_COMPARES(uint16_t, "u16")
        INTEGER_COMPARES(int32_t, "i32") INTEGER_COMPARES(uint32_t, "u32")
            INTEGER_COMPARES(int64_t, "i64") INTEGER_COMPARES(uint64_t, "u64")
                FLOAT_COMPARES(F16, "f16") FLOAT_COMPARES(float, "f32")
                    FLOAT_COMPARES(double, "f64"){"v_cmp_class_f16", &compare<class_f16>},
    {"v_cmpx_class_f16", &compare_and_mask<class_f16>},
    {"v_cmp_class_f32", &compare<class_f32>},
    {"v_cmpx_class_f32", &compare_and_mask<class_f32>},
    {"v_cmp_class_f64", &compare<class_f64>},
    {"v_cmpx_class_f64", &compare_and_mask<class_f64>},
};

} // namespace

HandlerTable vector_compare_handlers() { return handlers; }

} // namespace ckprof::emulator
