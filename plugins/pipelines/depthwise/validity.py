"""The rules that a depthwise instance must obey to be built."""

from __future__ import annotations

from typing import Final

from ckprof_plugins.pipelines._base.rules import (
    API_LEVEL_RULE,
    DIRECTION_RULE,
    WAVE_SIZE_RULE,
    Rule,
    RuleSubject,
    Violation,
    latest_level_rule,
)
from ckprof_plugins.pipelines.depthwise.instance import BLOCK_SIZE, DepthwiseInstance

#: The only layout that the kernel reads.
_LAYOUT = "ngchw"

#: Local memory that the kernel may use on every architecture.
_LDS_BYTES = 65536

#: Widest access to local memory, in elements.
_WIDEST_LDS_VECTOR = 4


def _layout(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    layout = candidate.instance.layout
    if layout.name == _LAYOUT and candidate.instance.ndim == layout.ndim:
        return None
    return Violation(
        f"depthwise kernels read {_LAYOUT} in 2 dimensions, not {layout.name} in {candidate.instance.ndim}",
        layout.name,
        _LAYOUT,
    )


def _filter(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    filt = candidate.instance.filt
    return None if filt % 2 else Violation(f"the filter's side must be odd, it is {filt}", filt, "odd")


def _vector_size(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    sizes = {"in_vec": candidate.instance.in_vec, "out_vec": candidate.instance.out_vec}
    wrong = {name: size for name, size in sizes.items() if size & (size - 1)}
    if not wrong:
        return None
    shown = ", ".join(f"{name} is {size}" for name, size in wrong.items())
    return Violation(
        f"vector sizes must be powers of two ({shown})", next(iter(wrong.values())), "a power of two"
    )


def _sub_tile(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    i = candidate.instance
    if i.sub_h > i.tile_h or i.sub_w > i.tile_w:
        sub, tile = f"{i.sub_h}x{i.sub_w}", f"{i.tile_h}x{i.tile_w}"
        return Violation(f"the sub-tile {sub} exceeds the tile {tile}", sub, tile)
    if i.repeats > BLOCK_SIZE:
        return Violation(
            f"a tile has {i.repeats} sub-tiles, more than the {BLOCK_SIZE} lanes of a block",
            i.repeats,
            BLOCK_SIZE,
        )
    return None


def _batch(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    i = candidate.instance
    # A tile with too many sub-tiles breaks the rule before this one.
    tiles = max(1, i.tiles_per_wave)
    if i.nbatch % tiles == 0:
        return None
    return Violation(f"nbatch {i.nbatch} is no multiple of {tiles}, the tiles per wave", i.nbatch, tiles)


def _stride(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    stride = candidate.instance.str_w
    if stride == 1 or stride % 2 == 0:
        return None
    return Violation(f"str_w must be 1 or even, it is {stride}", stride, "1 or even")


def _pad(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    return None if candidate.instance.pad_w > 0 else Violation("pad_w must be positive, it is 0", 0, 1)


def _row_access(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    i = candidate.instance
    read = min(i.in_vec, _WIDEST_LDS_VECTOR)
    if i.sub_w * i.str_w % read:
        width = i.sub_w * i.str_w
        return Violation(
            f"sub_w * str_w is {width}, no multiple of the {read} elements read at once", width, read
        )
    written = min(i.out_vec, _WIDEST_LDS_VECTOR)
    if i.sub_w % written:
        return Violation(
            f"sub_w is {i.sub_w}, no multiple of the {written} elements written at once", i.sub_w, written
        )
    columns = i.lds_tile[1]
    accesses = -(-columns // i.in_vec)
    if accesses > BLOCK_SIZE:
        return Violation(
            f"a row of {columns} elements is more than {BLOCK_SIZE} accesses of {i.in_vec} elements",
            accesses,
            BLOCK_SIZE,
        )
    return None


def _lds(candidate: RuleSubject[DepthwiseInstance]) -> Violation | None:
    needed = candidate.instance.lds_bytes
    if needed <= _LDS_BYTES:
        return None
    return Violation(f"a block needs {needed} bytes of LDS, there are {_LDS_BYTES}", needed, _LDS_BYTES)


#: The rules of the family.
DEPTHWISE_RULES: Final = (
    API_LEVEL_RULE,
    latest_level_rule("depthwise kernels"),
    DIRECTION_RULE,
    WAVE_SIZE_RULE,
    Rule(id="layout", check=_layout),
    Rule(id="filter", check=_filter),
    Rule(id="vector-size", check=_vector_size),
    Rule(id="sub-tile", check=_sub_tile),
    Rule(id="batch", check=_batch),
    Rule(id="stride", check=_stride),
    Rule(id="pad", check=_pad),
    Rule(id="row-access", check=_row_access),
    Rule(id="lds", check=_lds),
)
