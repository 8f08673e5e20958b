// SPDX-License-Identifier: MIT
// The machine instructions of engine M on the host, by their definition in the PTX manual.
// Asynchronous copies are made when they are waited for, not before.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>

#include "check.hpp"
#include "lanes.hpp"

#include "ck_tile/core/numeric/bfloat16.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

struct float2
{ float x, y; };
struct float4
{ float x, y, z, w; };

inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline const void* __cvta_shared_to_generic(std::uint32_t address)
{ return ck_tile::cuda_model::shared + address; }

namespace ck_tile::cuda_model {

inline std::uint32_t shared_address(const void* pointer)
{ return static_cast<std::uint32_t>(static_cast<const char*>(pointer) - shared); }

template <typename Element>
void take_as_one(const Element*&)
{}

template <int Bytes>
void copy_async(std::uint32_t destination, const void* source, bool exists)
{
    if(destination % Bytes != 0 || destination + Bytes > shared_bytes)
    {
        FAIL_CHECK("a copy to a wrong place of shared memory");
    }
    if(exists && (reinterpret_cast<std::uintptr_t>(source) % Bytes != 0 ||
                  !emulated::may_read(source, Bytes)))
    {
        FAIL_CHECK("a copy from a wrong place");
    }
    const emulated::copy work{
        shared + destination, exists ? static_cast<const char*>(source) : nullptr, Bytes};
    emulated::self().open.push_back(work);
}

inline void commit_copies()
{
    emulated::thread& t = emulated::self();
    t.groups.push_back(std::move(t.open));
    t.open.clear();
}

template <int Groups>
void wait_copies()
{
    auto& groups = emulated::self().groups;
    while(groups.size() > Groups)
    {
        for(const emulated::copy& c : groups.front())
        {
            if(c.from == nullptr) { std::memset(c.to, 0, static_cast<std::size_t>(c.bytes)); }
            else
            {
                std::memcpy(c.to, c.from, static_cast<std::size_t>(c.bytes));
            }
        }
        groups.erase(groups.begin());
    }
}

inline std::uint32_t word_at(std::uint32_t address)
{
    if(address % 2 != 0 || address + 4 > shared_bytes) { FAIL_CHECK("a wrong address of a word"); }
    std::uint32_t word;
    std::memcpy(&word, shared + address, sizeof(word));
    return word;
}

// Lanes 8q to 8q+7 point at the lines of matrix q, which are 16 bytes in a bank group of their own.
template <bool Transposed>
void load_matrices(std::uint32_t (&r)[4], std::uint32_t address)
{
    if(address % 16 != 0) { FAIL_CHECK("a wrong address of a matrix"); }
    const auto* all = emulated::exchange({address});
    const int lane  = static_cast<int>(threadIdx.x % 32);
    for(int q = 0; q < 4; ++q)
    {
        if(!Transposed) { r[q] = word_at(all[q * 8 + lane / 4][0] + lane % 4 * 4); }
        else
        {
            const auto half = [&](int row) {
                return word_at(all[q * 8 + row][0] + static_cast<unsigned>(lane / 4) * 2) & 0xffffu;
            };
            r[q] = half(lane % 4 * 2) | (half(lane % 4 * 2 + 1) << 16);
        }
        std::set<std::uint32_t> groups;
        for(int row = 0; row < 8; ++row) { groups.insert(all[q * 8 + row][0] / 16 % 8); }
        emulated::current->conflicts += lane == 0 ? 8 - static_cast<int>(groups.size()) : 0;
    }
}

inline std::uint32_t load_word(std::uint32_t address)
{
    const auto* all = emulated::exchange({address});
    std::set<std::uint32_t> banks;
    for(int lane = 0; lane < 32; ++lane) { banks.insert(all[lane][0] / 4 % 32); }
    emulated::current->conflicts += threadIdx.x % 32 == 0 ? 32 - static_cast<int>(banks.size()) : 0;
    return word_at(address);
}

// The tests' operands are whole numbers, which TF32 holds.
inline void round_to_tf32(std::uint32_t (&)[4]) {}

inline float float_of(std::uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

template <host_model::data_type Type>
void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1)
{
    constexpr bool tf32 = Type == host_model::data_type::tf32;
    static_assert(tf32 || Type == host_model::data_type::bf16);
    const auto* all = emulated::exchange({a[0], a[1], a[2], a[3], b0, b1});
    const int lane  = static_cast<int>(threadIdx.x % 32);
    // Element (row, k) of A or (k, column) of B, which lane `group`*4 + k's part has.
    const auto element = [&](int group, int k, int first, int deep) {
        if(tf32) { return float_of(all[group * 4 + k % 4][first + k / 4 * deep]); }
        const std::uint32_t pair = all[group * 4 + k % 8 / 2][first + k / 8 * deep];
        return bf16_bits_to_float(static_cast<std::uint16_t>(k % 2 == 0 ? pair : pair >> 16));
    };
    for(int i = 0; i < 4; ++i)
    {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for(int k = 0; k < (tf32 ? 8 : 16); ++k)
        {
            d[i] += element(row % 8, k, row / 8, 2) * element(column, k, 4, 1);
        }
    }
}

} // namespace ck_tile::cuda_model
