// SPDX-License-Identifier: MIT
// What scalar instructions decide: SCC by comparing (sopc), lanes by changing the execution mask.
#include "groups/scalar.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;

template <auto operation>
void save_exec(Wave& wave, const Instruction& i)
{
    const u64 exec = wave.exec(), result = operation(wave.read64(i.source[0]), exec);
    wave.write(i.destination, exec);
    wave.set_exec(result);
    wave.scc = result != 0;
}

template <auto operation>
void write_exec(Wave& wave, const Instruction& i)
{
    const u64 result = operation(wave.read64(i.source[0]), wave.exec());
    wave.set_exec(result);
    wave.write(i.destination, result);
    wave.scc = result != 0;
}

template <typename T, auto holds>
constexpr Handler compare = &scalar_condition<[](T a, T b) -> bool { return holds(a, b); }>;

constexpr NamedHandler handlers[] = {
    {"s_and_saveexec_b64", &save_exec<logic::bits_and>},
    {"s_or_saveexec_b64", &save_exec<logic::bits_or>},
    {"s_xor_saveexec_b64", &save_exec<logic::bits_xor>},
    {"s_andn1_saveexec_b64", &save_exec<logic::bits_andn1>},
    {"s_andn2_saveexec_b64", &save_exec<logic::bits_andn2>},
    {"s_orn1_saveexec_b64", &save_exec<logic::bits_orn1>},
    {"s_orn2_saveexec_b64", &save_exec<logic::bits_orn2>},
    {"s_nand_saveexec_b64", &save_exec<logic::bits_nand>},
    {"s_nor_saveexec_b64", &save_exec<logic::bits_nor>},
    {"s_xnor_saveexec_b64", &save_exec<logic::bits_xnor>},
    {"s_andn1_wrexec_b64", &write_exec<logic::bits_andn1>},
    {"s_andn2_wrexec_b64", &write_exec<logic::bits_andn2>},

    {"s_cmp_eq_i32", compare<i32, relation::eq>},
    {"s_cmp_lg_i32", compare<i32, relation::lg>},
    {"s_cmp_gt_i32", compare<i32, relation::gt>},
    {"s_cmp_ge_i32", compare<i32, relation::ge>},
    {"s_cmp_lt_i32", compare<i32, relation::lt>},
    {"s_cmp_le_i32", compare<i32, relation::le>},
    {"s_cmp_eq_u32", compare<u32, relation::eq>},
    {"s_cmp_lg_u32", compare<u32, relation::lg>},
    {"s_cmp_gt_u32", compare<u32, relation::gt>},
    {"s_cmp_ge_u32", compare<u32, relation::ge>},
    {"s_cmp_lt_u32", compare<u32, relation::lt>},
    {"s_cmp_le_u32", compare<u32, relation::le>},
    {"s_cmp_eq_u64", compare<u64, relation::eq>},
    {"s_cmp_lg_u64", compare<u64, relation::lg>},
    {"s_bitcmp0_b32", &scalar_condition<[](u32 a, u32 b) { return ((a >> (b & 31) & 1) == 0); }>},
    {"s_bitcmp1_b32", &scalar_condition<[](u32 a, u32 b) { return ((a >> (b & 31) & 1) != 0); }>},
    {"s_bitcmp0_b64", &scalar_condition<[](u64 a, u32 b) { return ((a >> (b & 63) & 1) == 0); }>},
    {"s_bitcmp1_b64", &scalar_condition<[](u64 a, u32 b) { return ((a >> (b & 63) & 1) != 0); }>},
};

} // namespace

HandlerTable scalar_condition_handlers() { return handlers; }

} // namespace ckprof::emulator
