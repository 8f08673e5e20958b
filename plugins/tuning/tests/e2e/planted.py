"""Edits of CK Tile's headers of November 2025: some make kernels slower, others change nothing."""

from __future__ import annotations

from typing import NamedTuple

from ckprof_plugins.tuning.gate.causes import Cause

PIPELINES = "ops/gemm/pipeline/gemm_pipeline"
V1 = f"{PIPELINES}_agmem_bgmem_creg_v1.hpp"
V3 = f"{PIPELINES}_ag_bg_cr_comp_v3.hpp"
V4 = f"{PIPELINES}_ag_bg_cr_comp_v4.hpp"
MEM = f"{PIPELINES}_ag_bg_cr_mem.hpp"
POLICY = "ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp"
LAUNCH = "host/kernel_launch.hpp"
ARCHITECTURE = "core/arch/arch.hpp"
EPILOGUE = "ops/epilogue/cshuffle_epilogue.hpp"
FORWARD = "ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp"
TO_GEMM = "ops/grouped_convolution/utils/transform_conv_fwd_to_gemm.hpp"

_LARGE = {"tile_m": 128, "tile_n": 128}
COMPV1 = {"pipeline": "compv1"}
COMPV3 = {"pipeline": "compv3", **_LARGE}
COMPV4 = {"pipeline": "compv4", "double_smem_buffer": True, **_LARGE}
MEMORY = {"pipeline": "mem"}


class Edit(NamedTuple):
    """Texts of a header and what takes their place, and what has to be said of it."""

    kernel: dict[str, object]
    header: str
    #: text -> which of its places, from 0; ``None`` for all, and what takes its place
    changes: tuple[tuple[str, int | None, str], ...]
    #: any of these names the place; empty for an edit that changes nothing
    causes: tuple[Cause, ...] = ()


def edited(text: str, edit: Edit) -> str:
    """Return a header with the edit."""
    for right, place, wrong in edit.changes:
        parts = text.split(right)
        assert len(parts) > (place or 0) + 1, f"{edit.header} has no such place: {right}"
        if place is None:
            text = wrong.join(parts)
        else:
            text = right.join(parts[: place + 1]) + wrong + right.join(parts[place + 1 :])
    return text


def _after(kernel, header, text, place, added, *causes):
    return Edit(kernel, header, ((text, place, f"{text} {added}"),), causes)


def _moved(kernel, header, block, before, *causes):
    """Move a block, which stands in the header once, in front of a text that does so as well."""
    return Edit(kernel, header, ((block, 0, ""), (before, 0, block + before)), causes)


SYNC = "block_sync_lds();"
_BARRIER = (Cause.BARRIER,)
_WAIT = (Cause.WAIT, Cause.PREFETCH)
_ANY_ORDER = (Cause.PREFETCH, Cause.WAIT, Cause.ORDER)
_ALL_LOADED = 'asm volatile("s_waitcnt vmcnt(0)" ::: "memory");'
_ALL_READ = 'asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");'
_LOADS_OF_V3 = """\
                    elementwise_As_res =
                        load_tile_with_elementwise(a_copy_dram_window, a_element_func);
                    move_tile_window(a_copy_dram_window, a_dram_tile_window_step);

                    elementwise_Bs_res =
                        load_tile_with_elementwise(b_copy_dram_window, b_element_func);
                    move_tile_window(b_copy_dram_window, b_dram_tile_window_step);
"""
_LOADS_OF_V1 = """\
            elementwise_As_res = load_tile_with_elementwise(as_copy_dram_window, a_element_func);
            elementwise_Bs_res = load_tile_with_elementwise(bs_copy_dram_window, b_element_func);

            block_sync_lds();
"""
_LOOP_OF_V3 = """\
                do
                {
                    block_sync_lds();
"""


def _entry(kernel, waves):
    """Ask for so many waves on a SIMD, whose registers then have to do."""
    bounds = "__launch_bounds__(Kernel::kBlockSize, "
    return Edit(
        kernel,
        LAUNCH,
        ((f"{bounds}MinBlockPerCu)", None, f"{bounds}{waves})"),),
        (Cause.SPILL, Cause.OCCUPANCY),
    )


def _half_vector(operand, kernel):
    chosen = f"Problem::FixedVectorSize ? Problem::VectorSize{operand} :"
    return Edit(kernel, POLICY, ((chosen, 0, chosen.replace(" :", " / 2 :")),), (Cause.NARROWER, Cause.MORE))


def _layers(operand, kernel):
    return Edit(
        kernel,
        POLICY,
        ((f"constexpr auto {operand}LdsLayer =\n                max(1UL,", 0,
          f"constexpr auto {operand}LdsLayer =\n                min(1UL,"),),
        (Cause.CONFLICTS,),
    )  # fmt: skip


def _no_xor(operand, kernel):
    rows = f"number<{operand}PerBlock / {operand}LdsLayer>{{}}"
    columns = {"M": "number<KPerBlock / KPack * MLdsLayer>{}", "N": "BK0 * number<NLdsLayer>{}"}[operand]
    permuted = f"""\
make_tuple(make_xor_transform(make_tuple({rows},
                                                         {columns})),
                           make_pass_through_transform(number<KPack>{{}})),
                make_tuple(sequence<1, 0>{{}}, sequence<2>{{}}),
                make_tuple(sequence<1, 0>{{}}, sequence<2>{{}}));"""
    plain = f"""\
make_tuple(make_pass_through_transform({rows}),
                           make_pass_through_transform({columns}),
                           make_pass_through_transform(number<KPack>{{}})),
                make_tuple(sequence<1>{{}}, sequence<0>{{}}, sequence<2>{{}}),
                make_tuple(sequence<1>{{}}, sequence<0>{{}}, sequence<2>{{}}));"""
    return Edit(kernel, POLICY, ((permuted, 0, plain),), (Cause.CONFLICTS,))


#: edits that make their kernel slower, by predicted times; others that were tried, such as taking out
#: HotLoopScheduler, make it faster: the page of figures has them
SLOWDOWNS = {
    "compv1-barrier-before-product": _after(COMPV1, V1, SYNC, 0, SYNC, *_BARRIER),
    "compv1-barrier-after-product": _after(COMPV1, V1, SYNC, 1, SYNC, *_BARRIER),
    "compv3-barrier-before-write": _after(COMPV3, V3, SYNC, 1, SYNC, *_BARRIER),
    "mem-barrier-before-read": _after(MEMORY, MEM, SYNC, 0, SYNC, *_BARRIER),
    "mem-barrier-before-write": _after(MEMORY, MEM, SYNC, 1, SYNC, *_BARRIER),
    "compv4-barrier-ping": _after(COMPV4, V4, SYNC, 1, SYNC, *_BARRIER),
    "compv4-barrier-pong": _after(COMPV4, V4, SYNC, 2, SYNC, *_BARRIER),
    "compv1-wait-for-loads": _after(
        COMPV1, V1, "load_tile_with_elementwise(bs_copy_dram_window, b_element_func);", 1, _ALL_LOADED, *_WAIT
    ),
    "compv3-wait-for-loads": Edit(
        COMPV3, V3, ((_LOADS_OF_V3, 0, _LOADS_OF_V3 + _ALL_LOADED),), _WAIT
    ),
    "compv3-wait-for-reads": Edit(
        COMPV3, V3, (("HotLoopScheduler();\n                    __builtin", 0,
                      f"{_ALL_READ} HotLoopScheduler();\n                    __builtin"),), _WAIT
    ),
    "mem-wait-for-loads": _after(
        MEMORY, MEM, "load_tile_with_elementwise(b_copy_dram_window, b_element_func);", 2, _ALL_LOADED, *_WAIT
    ),
    "compv4-wait-for-loads": _after(
        COMPV4, V4, "load_tile_with_elementwise(b_tile_windows, b_element_func);", 3, _ALL_LOADED, *_WAIT
    ),
    "compv1-loads-after-product": Edit(
        COMPV1, V1, ((_LOADS_OF_V1, 0, "            block_sync_lds();\n"),
                     ("            // move to i + 2", 0,
                      _LOADS_OF_V1.replace("block_sync_lds();", "") + "            // move to i + 2")),
        _ANY_ORDER,
    ),
    "compv3-loads-before-write": Edit(
        COMPV3, V3, ((_LOADS_OF_V3, 0, ""), (_LOOP_OF_V3, 0, _LOOP_OF_V3 + _LOADS_OF_V3)), _ANY_ORDER
    ),
    "compv3-spills": _entry(COMPV3, 8),
    "compv4-spills": _entry(COMPV4, 8),
    "compv3-few-spills": _entry(COMPV3, 5),
    "mem-spills": _entry({**MEMORY, **_LARGE}, 8),
    "compv3-half-vectors-of-a": _half_vector("A", COMPV3),
    "mem-half-vectors-of-b": _half_vector("B", MEMORY),
    "mem-half-vectors-of-a": _half_vector("A", MEMORY),
    "compv3-layers-of-a": _layers("M", COMPV3),
    "mem-not-permuted-a": _no_xor("M", MEMORY),
    "compv4-not-permuted-b": _no_xor("N", COMPV4),
    "mem-not-permuted-b": _no_xor("N", MEMORY),
}  # fmt: skip


_COMPV1_LARGE = {"pipeline": "compv1", **_LARGE}
_COMPV3_SMALL = {"pipeline": "compv3"}
_COMPV4_SMALL = {"pipeline": "compv4", "double_smem_buffer": True}
_MEMORY_LARGE = {**MEMORY, **_LARGE}


def _as(name, kernel):
    """Return an edit for a kernel of another tile."""
    return SLOWDOWNS[name]._replace(kernel=kernel)


#: edits of the same kinds for other tiles, written down before one of them was predicted: the page of figures
#: says what became of them
DRAWN = {
    "compv1-large-barrier-before-product": _as("compv1-barrier-before-product", _COMPV1_LARGE),
    "compv3-small-barrier-before-write": _as("compv3-barrier-before-write", _COMPV3_SMALL),
    "mem-large-barrier-before-read": _as("mem-barrier-before-read", _MEMORY_LARGE),
    "compv4-small-barrier-ping": _as("compv4-barrier-ping", _COMPV4_SMALL),
    "compv1-large-wait-for-loads": _as("compv1-wait-for-loads", _COMPV1_LARGE),
    "compv3-small-wait-for-loads": _as("compv3-wait-for-loads", _COMPV3_SMALL),
    "mem-large-wait-for-loads": _as("mem-wait-for-loads", _MEMORY_LARGE),
    "compv4-small-wait-for-loads": _as("compv4-wait-for-loads", _COMPV4_SMALL),
    "compv1-large-loads-after-product": _as("compv1-loads-after-product", _COMPV1_LARGE),
    "compv3-small-loads-before-write": _as("compv3-loads-before-write", _COMPV3_SMALL),
    "compv1-large-spills": _entry(_COMPV1_LARGE, 8),
    "compv3-small-spills": _entry(_COMPV3_SMALL, 8),
    "compv4-small-spills": _entry(_COMPV4_SMALL, 8),
    "mem-large-spills": _entry(_MEMORY_LARGE, 6),
    "compv1-large-half-vectors-of-a": _half_vector("A", _COMPV1_LARGE),
    "compv3-small-half-vectors-of-a": _half_vector("A", _COMPV3_SMALL),
    "compv4-small-half-vectors-of-b": _half_vector("B", _COMPV4_SMALL),
    "mem-large-half-vectors-of-b": _half_vector("B", _MEMORY_LARGE),
    "compv1-large-layers-of-b": _layers("N", _COMPV1_LARGE),
    "compv3-small-not-permuted-a": _no_xor("M", _COMPV3_SMALL),
    "compv4-small-not-permuted-a": _no_xor("M", _COMPV4_SMALL),
    "mem-large-layers-of-a": _layers("M", _MEMORY_LARGE),
    "compv1-large-barrier-after-product": _as("compv1-barrier-after-product", _COMPV1_LARGE),
    "compv3-small-wait-for-reads": _as("compv3-wait-for-reads", _COMPV3_SMALL),
    "mem-large-barrier-before-write": _as("mem-barrier-before-write", _MEMORY_LARGE),
    "compv4-small-barrier-pong": _as("compv4-barrier-pong", _COMPV4_SMALL),
    "compv3-small-not-permuted-b": _no_xor("N", _COMPV3_SMALL),
    "compv4-small-layers-of-b": _layers("N", _COMPV4_SMALL),
    "compv1-large-half-vectors-of-b": _half_vector("B", _COMPV1_LARGE),
    "mem-large-not-permuted-a": _no_xor("M", _MEMORY_LARGE),
}

#: those of them that make their kernel faster, by predicted times
FASTER = (
    "compv1-large-loads-after-product",
    "compv1-large-half-vectors-of-a",
    "compv1-large-half-vectors-of-b",
    "mem-large-barrier-before-write",
)

_START = "namespace ck_tile {"
_BODY = "            // main body"


def _same(header, right, wrong, place=None):
    return Edit(COMPV3, header, ((right, place, wrong),))


#: edits of style, which change no instruction
NEUTRAL = {
    "comment-in-pipeline": _same(V3, _BODY, f"// a comment\n{_BODY}"),
    "comment-on-top": _same(V1, _START, "// a comment\n// of two lines\n" + _START, 0),
    "comment-removed": _same(V1, "            // GEMM i\n", ""),
    "comment-in-mem": _same(MEM, _START, "/* a comment */\n" + _START, 0),
    "blank-lines": _same(V3, SYNC, f"\n\n{SYNC}\n\n"),
    "counter-compared": _same(V1, "while(iCounter > 0)", "while(0 < iCounter)"),
    "decrement": _same(V1, "iCounter--;", "iCounter -= 1;"),
    "increment": _same(V3, "i += 1;", "++i;"),
    "condition": _same(V3, "while(i < (num_loop - 1));", "while((num_loop - 1) > i);"),
    "braces": _same(V1, "            block_gemm(c_block_tile, a_lds_gemm_window, b_lds_gemm_window);",
                    "            { block_gemm(c_block_tile, a_lds_gemm_window, b_lds_gemm_window); }"),
    "parameter-renamed": _same(V3, "num_loop", "loop_count"),
    "member-renamed": _same(V3, "HotLoopScheduler", "ScheduleHotLoop"),
    "assertion": _same(V3, _BODY, f"static_assert(MPerBlock > 0 && NPerBlock > 0);\n{_BODY}"),
    "assertion-on-top": _same(POLICY, _START, _START + "\nstatic_assert(sizeof(index_t) == 4);", 0),
    "function-that-nobody-calls": _same(
        ARCHITECTURE, _START, _START +
        "\nCK_TILE_DEVICE void nobody_calls() { __builtin_amdgcn_s_barrier(); }", 0
    ),
    "constant-that-nobody-reads": _same(
        POLICY, _START, _START + "\ninline constexpr int nobody_reads = 7;", 0
    ),
    "type-that-nobody-uses": _same(EPILOGUE, _START, _START + "\nstruct nobody_uses { int a; };", 0),
    "alias": _same(V3, _BODY, "using Counter = index_t; [[maybe_unused]] Counter unread = 0;"),
    "include": _same(POLICY, "#pragma once", "#pragma once\n#include <cstdint>", 0),
    "include-twice": _same(TO_GEMM, "#pragma once", "#pragma once\n#include <type_traits>", 0),
    "wait-in-parentheses": _same(
        ARCHITECTURE, "waitcnt_arg::kMaxExpCnt, lgkmcnt>();", "waitcnt_arg::kMaxExpCnt, (lgkmcnt)>();", 0
    ),
    "product-of-two": _same(FORWARD, "const index_t hw        = h_size * w_size;",
                            "const index_t hw        = w_size * h_size;"),
    "loop-of-host": _same(TO_GEMM, "for(index_t i = num_dims - 2; i >= 0; i--)",
                          "for(index_t i = num_dims - 2; i > -1; --i)"),
    "comment-in-epilogue": _same(EPILOGUE, "#pragma once", "#pragma once\n// a comment", 0),
    "comment-in-launch": _same(LAUNCH, "#pragma once", "#pragma once\n// a comment", 0),
    "comment-in-forward": _same(FORWARD, "#pragma once", "#pragma once\n\n\n// a comment\n", 0),
    "other-pipeline": _same(V4, "HotLoopScheduler();", "/* not scheduled */"),
    "other-pipeline-barrier": _same(V4, SYNC, SYNC + SYNC),
    "counter-renamed": _same(V1, "iCounter", "steps_left"),
    "namespace-comment": _same(V1, "} // namespace ck_tile", "} // of ck_tile"),
}  # fmt: skip
