// SPDX-License-Identifier: MIT
// The machine instructions of engine M: asynchronous copies, matrix loads, matrix products.
#pragma once

#include <cstdint>

#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::cuda_model {

__device__ inline std::uint32_t shared_address(const void* pointer)
{ return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer)); }

// Keeps the compiler from taking an address apart again and adding up its parts in another order,
// which makes five additions of one for each address that is computed from it.
template <typename Element>
__device__ __forceinline__ void take_as_one(const Element*& address)
{ asm("" : "+l"(address)); }

// Copies Bytes from global to shared memory, or writes zeros if the source does not exist: its
// address is not used then. Only copies of 2 bytes are done when the function returns.
template <int Bytes>
__device__ __forceinline__ void
copy_async(std::uint32_t destination, const void* source, bool exists)
{
    if constexpr(Bytes == 2)
    {
        const std::uint16_t value =
            exists ? __ldg(static_cast<const unsigned short*>(source)) : std::uint16_t{0};
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(destination), "h"(value) : "memory");
    }
    else
    {
        const int bytes = exists ? Bytes : 0;
        if constexpr(Bytes == 16)
        {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination),
                         "l"(source),
                         "r"(bytes)
                         : "memory");
        }
        else
        {
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination),
                         "l"(source),
                         "n"(Bytes),
                         "r"(bytes)
                         : "memory");
        }
    }
}

__device__ __forceinline__ void commit_copies()
{ asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most Groups of the newest groups of copies are under way.
template <int Groups>
__device__ __forceinline__ void wait_copies()
{ asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory"); }

template <bool Transposed>
__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t address)
{
    if constexpr(Transposed)
    {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address)
                     : "memory");
    }
    else
    {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address)
                     : "memory");
    }
}

__device__ __forceinline__ std::uint32_t load_word(std::uint32_t address)
{
    std::uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
}

// The bits of a float become those of the nearest TF32, ties away from zero.
__device__ __forceinline__ void round_to_tf32(std::uint32_t (&r)[4])
{
#pragma unroll
    for(std::uint32_t& word : r)
    {
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(__uint_as_float(word)));
    }
}

// d += a b for a 16x16 matrix a and a 16x8 matrix b; of TF32, 16x8 and 8x8.
template <host_model::data_type Type>
__device__ __forceinline__ void
multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1)
{
    if constexpr(Type == host_model::data_type::bf16)
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
    else if constexpr(Type == host_model::data_type::tf32)
    {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
    else
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
}

} // namespace ck_tile::cuda_model
