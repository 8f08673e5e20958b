"""The rules of GEMM instances that compare with the table of architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_plugins.directions._convolution.kernel import ConvKernel
from ckprof_plugins.pipelines._base.rules import Candidate, Rule, Violation
from ckprof_plugins.pipelines._gemm.tile_rules import known_mma_tile, known_wave_grid, lds_budget
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._gemm.instance import GemmInstance

#: Smallest m, n and k of a block tile, which must be multiples of these as well. The image's pixels are m for
#: all directions but the one whose result is the weight, where they are k.
_TILE_GRAIN = {
    ConvKernel.FORWARD: (1, 16, 16),
    ConvKernel.BACKWARD_DATA: (1, 16, 16),
    ConvKernel.BACKWARD_WEIGHT: (16, 16, 1),
}

#: Widest MMA tile of waves of 32 lanes.
_NARROW_WAVE = 32
_NARROW_WAVE_MMA = 16


def _tile_grain(candidate: Candidate[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if candidate.kernel is None:
        return None
    for axis, size, grain in zip("mnk", instance.tile.sizes, _TILE_GRAIN[candidate.kernel], strict=True):
        if size % grain:
            return Violation(
                f"tile_{axis} is {size}, a {instance.direction} kernel needs a multiple of {grain}",
                size,
                grain,
            )
    return None


#: GEMM pipelines laid out for one arrangement of waves, which need not be in the table.
_OWN_WAVE_GRIDS = {GemmPipeline.COMPV5: (1, 1, 2)}


def _wave_grid(candidate: Candidate[GemmInstance]) -> Violation | None:
    instance = candidate.instance
    if instance.wave_grid.sizes == _OWN_WAVE_GRIDS.get(instance.gemm_pipeline):
        return None
    return known_wave_grid(candidate)


def _narrow_wave(candidate: Candidate[GemmInstance]) -> Violation | None:
    if candidate.arch.lanes_per_wave != _NARROW_WAVE:
        return None
    extent = candidate.instance.mma_tile.m
    if extent <= _NARROW_WAVE_MMA:
        return None
    return Violation(
        f"waves of {_NARROW_WAVE} lanes have MMA tiles of at most {_NARROW_WAVE_MMA} rows, not {extent}",
        extent,
        _NARROW_WAVE_MMA,
    )


def _coverage(candidate: Candidate[GemmInstance]) -> Violation | None:
    """All lanes of a block load the same number of elements of a tile, in whole vectors."""
    instance = candidate.instance
    grid = instance.wave_grid
    lanes = candidate.arch.lanes_per_wave * grid.m * grid.n * grid.k
    for name, extent, vector in (
        ("a", instance.tile.m, instance.vector_size_a),
        ("b", instance.tile.n, instance.vector_size_b),
    ):
        elements = extent * instance.tile.k
        each = elements // lanes
        if elements % lanes:
            return Violation(
                f"operand {name} has {elements} elements a tile, no multiple of the {lanes} lanes of a block",
                elements,
                lanes,
            )
        if each % vector and vector % each:
            return Violation(
                f"vector_size_{name} is {vector}, which does not divide the {each} elements of a lane",
                vector,
                each,
            )
        if instance.gemm_pipeline is GemmPipeline.COMPV6 and each < vector:
            return Violation(
                f"{GemmPipeline.COMPV6.value} needs a load for every lane: vector_size_{name} is {vector}, "
                f"a lane has {each} elements",
                vector,
                each,
            )
    if instance.tile.n % instance.vector_size_c:
        return Violation(
            f"vector_size_c is {instance.vector_size_c}, which does not divide tile_n {instance.tile.n}",
            instance.vector_size_c,
            instance.tile.n,
        )
    return None


#: In the order in which they are checked and reported.
ARCH_RULES = (
    Rule(id="tile-grain", check=_tile_grain),
    Rule(id="wave-grid", check=_wave_grid),
    Rule(id="mma-tile", check=known_mma_tile),
    Rule(id="narrow-wave", check=_narrow_wave),
    Rule(id="lds-budget", check=lds_budget),
    Rule(id="coverage", check=_coverage),
)
