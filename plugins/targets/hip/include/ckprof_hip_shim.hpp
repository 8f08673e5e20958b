// SPDX-License-Identifier: MIT
//
// What older HIP headers lack for newer compilers. Put in front of every source where the headers
// and the compiler are such a pair.
#ifndef CKPROF_HIP_SHIM_HPP
#define CKPROF_HIP_SHIM_HPP

// CK Tile takes bf16 to be the compiler's type with the version of HIP that such compilers come
// with. With another one, what adds pairs of bf16 is declared for integers, and gfx950 has no
// instruction.
#ifndef CK_TILE_USE_LLVM_BUILTIN_BF16
#define CK_TILE_USE_LLVM_BUILTIN_BF16 1
#endif

// Names that the headers use and the compiler no longer has.
#if defined(CKPROF_WAVE_LANES) && !defined(__AMDGCN_WAVEFRONT_SIZE)
#define __AMDGCN_WAVEFRONT_SIZE CKPROF_WAVE_LANES
#endif
#if defined(CKPROF_WAVE_LANES) && !defined(__AMDGCN_WAVEFRONT_SIZE__)
#define __AMDGCN_WAVEFRONT_SIZE__ CKPROF_WAVE_LANES
#endif

#if defined(__HIP__)
using ckprof_half2 = _Float16 __attribute__((ext_vector_type(2)));

static inline __attribute__((device)) _Float16 __llvm_amdgcn_rcp_f16(_Float16 value)
{ return static_cast<_Float16>(__builtin_amdgcn_rcph(value)); }

static inline __attribute__((device)) ckprof_half2 __llvm_amdgcn_rcp_2f16(ckprof_half2 value)
{ return ckprof_half2{__llvm_amdgcn_rcp_f16(value.x), __llvm_amdgcn_rcp_f16(value.y)}; }
#endif

#endif
