"""Rules that an instance must obey to be built, as values with stable ids.

This is the one place that says what is valid: lists, rule sets, single instances and runs all ask it,
through :meth:`unmet_requirements <ckprof.plugin.protocols.Pipeline.unmet_requirements>`.
A rule sees the instance, the architecture and the API level of the CK Tile headers, and answers with what is
broken. What depends on the problem is no business of a rule: the kernel's own support test answers that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from ckprof.model.architecture import (
    API_LEVEL_2025_07,
    API_LEVEL_2025_11,
    API_LEVELS,
    LATEST_API_LEVEL,
    Architecture,
    find_architecture,
)
from ckprof.model.instance import Instance
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.kernel import ConvKernel, ConvOperation
from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline, Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof_plugins.pipelines.gemm_instance import GemmInstance
    from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance


#: Lanes of a wave that kernels of several families are laid out for.
_WIDE_WAVE = 64

_Instance_co = TypeVar("_Instance_co", bound=Instance, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSubject(Generic[_Instance_co]):
    """What a rule judges: an instance and where it shall be built."""

    instance: _Instance_co
    arch: Architecture
    api_level: str
    #: what the instance's direction computes; ``None`` for a direction that the family has no kernels for
    operation: ConvOperation | None
    #: which of CK Tile's kernels does
    kernel: ConvKernel | None
    #: ids of the directions that the family has kernels for
    directions: frozenset[str]


class Violation(NamedTuple):
    """How an instance breaks a rule."""

    #: a sentence with the numbers
    message: str
    #: what the instance has
    found: int | str
    #: the limit, or what is allowed
    allowed: int | str


#: says how a rule is broken, or ``None``; takes instances of the rule's family
Check = Callable[[RuleSubject[Any]], Violation | None]
#: id -> check, in the order in which they are asked and reported
Rules = Mapping[str, Check]


def broken_rules(
    rules: Rules,
    instance: Instance,
    arch: str,
    api_level: str,
    directions: frozenset[str],
    operation: ConvOperation | None = None,
) -> tuple[UnmetRequirement, ...]:
    """Return every rule that an instance breaks; the parameters are fields of what rules judge.

    :raises UsageError: there is no such architecture.
    """
    subject = RuleSubject(
        instance=instance,
        arch=find_architecture(arch),
        api_level=api_level,
        operation=operation,
        kernel=operation.kernel if operation else None,
        directions=directions,
    )
    return tuple(
        UnmetRequirement(rule=rule, message=broken.message, found=broken.found, allowed=broken.allowed)
        for rule, check in rules.items()
        if (broken := check(subject)) is not None
    )


def known_api_level(candidate: RuleSubject[Instance]) -> Violation | None:
    """The API level is one of those for which kernels can be written."""
    if candidate.api_level in API_LEVELS:
        return None
    levels = ", ".join(API_LEVELS)
    return Violation(
        f"no kernel can be written for API level {candidate.api_level}, only for {levels}",
        candidate.api_level,
        levels,
    )


def wide_waves(candidate: RuleSubject[Instance]) -> Violation | None:
    """For kernels that count on 64 lanes."""
    lanes = candidate.arch.lanes_per_wave
    if lanes == _WIDE_WAVE:
        return None
    return Violation(
        f"the kernel is laid out for waves of {_WIDE_WAVE} lanes, those of {candidate.arch.name} have "
        f"{lanes}",
        lanes,
        _WIDE_WAVE,
    )


def latest_level(feature: str) -> Check:
    """Return the rule that the headers are of the latest API level, for a family that others lack.

    :param feature: what the older ones lack, in the plural.
    """

    def check(candidate: RuleSubject[Instance]) -> Violation | None:
        level = candidate.api_level
        if level not in API_LEVELS or level == LATEST_API_LEVEL:
            return None
        return Violation(
            f"API level {level} has no {feature} (API level {LATEST_API_LEVEL} has them)",
            level,
            LATEST_API_LEVEL,
        )

    return check


def known_direction(candidate: RuleSubject[Instance]) -> Violation | None:
    """The instance belongs to one of its family's directions."""
    if candidate.operation is not None:
        return None
    direction = candidate.instance.direction
    directions = ", ".join(sorted(candidate.directions))
    return Violation(
        f"no kernel can be written for direction {direction}, only for {directions}", direction, directions
    )


# Rules on tiles that kernels of convolutions and of plain matrix products share. Where local memory can be
# read with rows and columns exchanged, GEMM pipelines either read operands so whose fastest axis is not K, or
# turn them in registers. Headers lay their tiles out for the former in both cases, and what turns them takes
# the rows of that layout for columns.

if TYPE_CHECKING:
    TiledCandidate = RuleSubject[GemmInstance] | RuleSubject[UniversalGemmInstance]

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


_CAPABILITY: Final = "transposed_lds_reads"
#: API levels of which that is known
_LEVELS: Final = frozenset({API_LEVEL_2025_07, API_LEVEL_2025_11})
#: GEMM pipelines that read them so there
_READ_TRANSPOSED: Final = frozenset({GemmPipeline.MEM, GemmPipeline.COMPV3, GemmPipeline.COMPV4})
#: those of them that all the same turn the last one in registers where there are two blocks along K
_LAST_OF_TWO_TURNED: Final = frozenset({(API_LEVEL_2025_07, GemmPipeline.COMPV3)})


def laid_out_for_transposed_reads(candidate: TiledCandidate) -> bool:
    """Say whether the level's headers lay such operands out for these reads on the architecture."""
    return candidate.api_level in _LEVELS and _CAPABILITY in candidate.arch.capabilities


def reads_transposed(candidate: TiledCandidate) -> bool:
    """Say whether the kernel reads such operands transposed from local memory."""
    return laid_out_for_transposed_reads(candidate) and candidate.instance.gemm_pipeline in _READ_TRANSPOSED


def turns_last_of_two(gemm_pipeline: GemmPipeline, arch: Architecture, api_level: str) -> bool:
    """Say whether the level's headers turn such operands twice, in the last of two blocks along K."""
    return _CAPABILITY in arch.capabilities and (api_level, gemm_pipeline) in _LAST_OF_TWO_TURNED


def taken_for_columns(candidate: TiledCandidate, name: str, fast: int, other: int) -> tuple[str, str] | None:
    """Return what the level lacks of a kernel that turns an operand in registers, and what it has instead.

    :param name: of the operand.
    :param fast: elements of its tile along the fastest axis, and
    :param other: along K.
    """
    if fast == other or not laid_out_for_transposed_reads(candidate):
        return None
    instance = candidate.instance
    what = f"{instance.gemm_pipeline.value} for {instance.direction} on {candidate.arch.name}"
    tile = f"with {other} x {fast} elements of {name}"
    return f"right {what} {tile}: it takes rows for columns in LDS", "square tiles"


#: bytes of the widest access, and of the narrower one that is tried after it; then single elements are loaded
_WIDTHS: Final = (16, 8)


def native_width(fast: int, share: int, element: int) -> int:
    """Return the elements of the widest access that divides the tile's fast axis and a thread's share.

    :param fast: elements along the fast axis.
    :param share: elements of the tile per thread.
    :param element: bytes of one.
    """
    for size in _WIDTHS:
        width = size // element
        if width and not (fast % width or share % width):
            return width
    return 1


def covers(fast: int, other: int, width: int, waves: int, lanes: int) -> bool:
    """Say whether waves that load ``width`` elements per lane along the fast axis cover a tile by rows."""
    if fast % width:
        return False
    share = fast * other // (waves * lanes)
    across = fast // max(1, min(width, share))
    return not (lanes % across or other % (lanes // across * waves))
