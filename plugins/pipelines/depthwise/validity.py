"""The rules that a depthwise instance must obey to be built."""

from __future__ import annotations

from ckprof_plugins.pipelines.depthwise.instance import BLOCK_SIZE, DepthwiseInstance
from ckprof_plugins.pipelines.kernel_family.rules import (
    API_LEVEL_RULE,
    WAVE_SIZE_RULE,
    Candidate,
    Rule,
    direction_rule,
)

#: The only layout that the kernel reads.
_LAYOUT = "ngchw"

#: Local memory that every architecture offers to a block.
_LDS_BYTES = 65536

#: Widest access to local memory, in elements.
_WIDEST_LDS_VECTOR = 4


def _layout(candidate: Candidate[DepthwiseInstance]) -> str | None:
    layout = candidate.instance.layout
    if layout.name == _LAYOUT and candidate.instance.ndim == layout.ndim:
        return None
    return f"depthwise kernels read {_LAYOUT} in 2 dimensions, not {layout.name} in {candidate.instance.ndim}"


def _filter(candidate: Candidate[DepthwiseInstance]) -> str | None:
    filt = candidate.instance.filt
    return None if filt % 2 else f"the filter's side must be odd, it is {filt}"


def _vector_size(candidate: Candidate[DepthwiseInstance]) -> str | None:
    sizes = {"in_vec": candidate.instance.in_vec, "out_vec": candidate.instance.out_vec}
    wrong = [f"{name} is {size}" for name, size in sizes.items() if size & (size - 1)]
    return f"vector sizes must be powers of two ({', '.join(wrong)})" if wrong else None


def _sub_tile(candidate: Candidate[DepthwiseInstance]) -> str | None:
    i = candidate.instance
    if i.sub_h > i.tile_h or i.sub_w > i.tile_w:
        return f"the sub-tile {i.sub_h}x{i.sub_w} exceeds the tile {i.tile_h}x{i.tile_w}"
    if i.repeats > BLOCK_SIZE:
        return f"a tile has {i.repeats} sub-tiles, more than the {BLOCK_SIZE} lanes of a block"
    return None


def _batch(candidate: Candidate[DepthwiseInstance]) -> str | None:
    i = candidate.instance
    # A tile with too many sub-tiles breaks the rule before this one.
    tiles = max(1, i.tiles_per_wave)
    return f"nbatch {i.nbatch} is no multiple of {tiles}, the tiles per wave" if i.nbatch % tiles else None


def _stride(candidate: Candidate[DepthwiseInstance]) -> str | None:
    stride = candidate.instance.str_w
    return f"str_w must be 1 or even, it is {stride}" if stride != 1 and stride % 2 else None


def _pad(candidate: Candidate[DepthwiseInstance]) -> str | None:
    return None if candidate.instance.pad_w > 0 else "pad_w must be positive, it is 0"


def _row_access(candidate: Candidate[DepthwiseInstance]) -> str | None:
    i = candidate.instance
    read = min(i.in_vec, _WIDEST_LDS_VECTOR)
    if i.sub_w * i.str_w % read:
        return f"sub_w * str_w is {i.sub_w * i.str_w}, no multiple of the {read} elements read at once"
    written = min(i.out_vec, _WIDEST_LDS_VECTOR)
    if i.sub_w % written:
        return f"sub_w is {i.sub_w}, no multiple of the {written} elements written at once"
    columns = i.lds_tile[1]
    if -(-columns // i.in_vec) > BLOCK_SIZE:
        return f"a row of {columns} elements is more than {BLOCK_SIZE} accesses of {i.in_vec} elements"
    return None


def _lds(candidate: Candidate[DepthwiseInstance]) -> str | None:
    needed = candidate.instance.lds_bytes
    return f"a block needs {needed} bytes of LDS, there are {_LDS_BYTES}" if needed > _LDS_BYTES else None


def depthwise_rules(directions: frozenset[str]) -> tuple[Rule, ...]:
    """Return the rules of the family with kernels for ``directions``."""
    return (
        API_LEVEL_RULE,
        direction_rule(directions),
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
