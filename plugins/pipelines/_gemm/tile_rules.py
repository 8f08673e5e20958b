"""Rules on tiles that kernels of convolutions and of plain matrix products share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.architecture import API_LEVEL_2025_07, API_LEVEL_2025_11
from ckprof.model.types import DataType
from ckprof_plugins.pipelines._base.rules import Candidate, Violation
from ckprof_plugins.pipelines._gemm.vocabulary import Epilogue, Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof_plugins.pipelines._gemm.instance import GemmInstance
    from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance

    TiledCandidate = Candidate[GemmInstance] | Candidate[UniversalGemmInstance]


#: MMA tiles that headers older than the latest have for operands of 8 bits
FLOAT8_TILES: Final = frozenset({(32, 32, 16), (32, 32, 32), (16, 16, 32), (16, 16, 64)})
INT8_TILES: Final = frozenset({(32, 32, 16), (16, 16, 32)})

#: API levels whose headers have no right substitute for the instructions of those tiles of integers
_WITHOUT_INT8_SUBSTITUTE: Final = frozenset({API_LEVEL_2025_07, API_LEVEL_2025_11})


def wave_divides_tile(candidate: TiledCandidate) -> Violation | None:
    """The MMA tiles of all waves fill the block tile."""
    instance = candidate.instance
    for axis, size, waves, extent in zip(
        "mnk", instance.tile.sizes, instance.wave_grid.sizes, instance.mma_tile.sizes, strict=True
    ):
        if size % (waves * extent):
            return Violation(
                f"the waves' MMA tiles do not fill the block tile "
                f"({axis}: {size} is not a multiple of {waves} x {extent})",
                size,
                waves * extent,
            )
    return None


def unfit_for_shuffle(candidate: TiledCandidate, axes: str = "mn") -> tuple[str, int] | None:
    """Return the first axis along which the CShuffle epilogue is wrong, and a wave's MMA tiles there.

    It moves several of them at once, by a number that must divide their count.
    """
    instance = candidate.instance
    if instance.epilogue is not Epilogue.CSHUFFLE or wave_divides_tile(candidate) is not None:
        return None
    for axis in axes:
        step = getattr(instance.wave_grid, axis) * getattr(instance.mma_tile, axis)
        repeats: int = getattr(instance.tile, axis) // step
        if repeats & (repeats - 1):
            return axis, repeats
    return None


def known_mma_tile(candidate: TiledCandidate) -> Violation | None:
    """The architecture has the MMA tile for the type of the operands."""
    instance = candidate.instance
    dtype = instance.types.compute.value
    tiles = candidate.arch.mma_tiles.get(dtype, ())
    if instance.mma_tile.sizes in tiles:
        return None
    allowed = listed(tiles)
    return Violation(
        f"{candidate.arch.name} has no MMA tile {instance.mma_tile} for {dtype} (it has {allowed})",
        str(instance.mma_tile),
        allowed,
    )


def wrong_integer_products(candidate: TiledCandidate) -> tuple[str, str] | None:
    """Return what the level lacks of a kernel of 8-bit integers on the architecture, and what it has instead.

    Without an instruction for 32x32x16 of them, its headers multiply as fp32 and take the bits of the integer
    sums for floating point; without one for 16x16x32 they add nothing.
    """
    if candidate.instance.dtype is not DataType.INT8 or candidate.api_level not in _WITHOUT_INT8_SUBSTITUTE:
        return None
    if "int8_mfma" in candidate.arch.capabilities:
        return None
    what = f"right products of {DataType.INT8.value} on {candidate.arch.name}"
    return f"{what}, which lacks the instructions of their MMA tiles", "those of floating point"


def lds_budget(candidate: TiledCandidate) -> Violation | None:
    """The tiles of both operands fit into local memory."""
    instance = candidate.instance
    stages = instance.gemm_pipeline.properties.lds_stages
    budget = candidate.arch.lds_bytes // stages
    needed = (instance.tile.m + instance.tile.n) * instance.tile.k * instance.dtype.properties.size_bytes
    if needed <= budget:
        return None
    share = f", {instance.gemm_pipeline.value} may use 1/{stages} of it" if stages > 1 else ""
    return Violation(
        f"the tiles of both operands need {needed} bytes of LDS, the budget is {budget} "
        f"({candidate.arch.name} has {candidate.arch.lds_bytes}{share})",
        needed,
        budget,
    )


def known_wave_grid(candidate: TiledCandidate) -> Violation | None:
    """CK Tile's generator has the grid of waves for the architecture.

    Its table says so, not the hardware: gfx90a could run 1x1x1 as well as gfx942 does.
    """
    grid = candidate.instance.wave_grid
    if grid.sizes in candidate.arch.wave_grids:
        return None
    allowed = listed(candidate.arch.wave_grids)
    return Violation(
        f"{candidate.arch.name} has no wave grid {grid} (it has {allowed}, by CK Tile's table)",
        str(grid),
        allowed,
    )


def known_scheduler(candidate: TiledCandidate) -> Violation | None:
    """The GEMM pipeline has the scheduler."""
    gemm_pipeline = candidate.instance.gemm_pipeline
    if candidate.instance.scheduler is Scheduler.INTRAWAVE or gemm_pipeline.properties.interwave:
        return None
    return Violation(
        f"{gemm_pipeline.value} has no interwave scheduler",
        Scheduler.INTERWAVE.value,
        Scheduler.INTRAWAVE.value,
    )


def listed(sizes: Iterable[tuple[int, int, int]]) -> str:
    """Return sizes for a message."""
    return ", ".join("x".join(map(str, size)) for size in sizes) or "none"
