"""A problem as matrix products, and what bounds the time of a kernel that computes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import log2
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmWork:
    """What a kernel makes of a problem: ``batch`` products of an m x k and a k x n matrix, in tiles."""

    m: int
    n: int
    k: int
    batch: int
    #: block tile
    tile_m: int
    tile_n: int
    tile_k: int
    #: waves of a workgroup that compute
    waves: int
    #: parts of the reduction that workgroups of their own compute
    splits: int
    #: bytes that are read or written at least: all tensors once
    tensor_bytes: int
    #: bytes of one element of the operands
    element_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Bounds from counts and peak rates. An estimate: nothing was run."""

    #: useful operations, without those on padding
    flops: int
    #: bytes that all tiles together read and write, if no cache helps
    tile_bytes: int
    #: useful operations per byte of the tensors
    arithmetic_intensity: float
    #: cycles that the matrix unit of one SIMD needs for one workgroup's share
    matrix_cycles: int
    workgroups: int
    #: share of the computed elements that is no padding of the tiles
    tile_efficiency: float
    #: share of the device that is busy, over all rounds of workgroups
    wave_efficiency: float
    #: microseconds that matrix instructions need at least
    matrix_us: float
    #: microseconds that reading and writing all tensors once needs at least
    memory_us: float
    #: the larger of both
    bound_us: float
    #: share of the peak rate of the device's matrix units that the bound allows
    efficiency_bound: float


#: elements of a stage, and the widest alignment that counts
_STAGE: Final = 64


def stage_padding(length: int) -> float:
    """Return the binary logarithm of what rounding up to whole stages of 64 elements adds."""
    return log2(-(-length // _STAGE) * _STAGE / length)


def alignment(length: int) -> float:
    """Return the binary logarithm of the largest power of two, up to 64, that divides a length."""
    return log2(min(_STAGE, length & -length))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageShape:
    """What the rows of a result are where they are pixels; every value is a number, or a symbol of one."""

    #: of one image
    rows: Any
    columns: Any
    images: Any
    #: over all groups
    channels: Any
    #: pixels of the other image per pixel of this one, or the other way round: the product of the strides
    step: Any = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """``batch`` products of an m x k and a k x n matrix; every value is a number, or a symbol of one."""

    m: Any
    n: Any
    k: Any
    batch: Any
    #: bytes of all tensors, each once
    tensor_bytes: Any
    #: bytes of one element of the result
    result_bytes: int
    #: lengths of the runs of n and of k whose elements lie side by side; ``None`` where nothing interrupts
    runs: tuple[Any, Any] | None = None
    #: ``None``: rows are those of a matrix
    images: ImageShape | None = None


class Schedule(Enum):
    """How a kernel hands its work to workgroups."""

    #: one workgroup per tile of the result, and per part of the reduction
    TILES = "tiles"
    #: as many workgroups as the device holds; each takes the same number of iterations
    STREAM = "stream"
    #: one workgroup per window of the image of a channel; no matrix products
    WINDOW = "window"


class Reduction(Enum):
    """How the parts of a split reduction meet."""

    #: added to the zeroed result by atomic operations
    ATOMIC = "atomic"
    #: through a workspace of fp32 that a second kernel converts
    WORKSPACE = "workspace"
    #: added in a workspace of fp32, which the part that arrives last converts
    ARRIVAL = "arrival"


class RunAxis(Enum):
    """The axis of the matrix product whose elements come in runs: the channels of one filter tap."""

    COLUMNS = "columns"
    REDUCTION = "reduction"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChunks:
    """How a kernel takes runs, the elements of an axis that lie side by side in memory.

    Without this, tiles take no notice of where runs end: only the last tile of an axis is padded. With it,
    every run is padded to whole chunks.
    """

    axis: RunAxis
    #: elements of a chunk
    size: int
    #: problems with shorter runs are computed without chunks, by slower code
    least: int = 1
    #: elements along k that an iteration of the slower code takes
    short_k: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTraits:
    """The part of a kernel's configuration that a time model reads."""

    #: what one workgroup computes. TILES and STREAM: sizes along m, n and k. WINDOW: rows and columns of the
    #: image, and images
    tile: tuple[int, int, int]
    schedule: Schedule = Schedule.TILES
    reduction: Reduction = Reduction.ATOMIC
    #: tiles of the operands that local memory holds at once
    lds_stages: int = 1
    #: workgroups that share a compute unit
    workgroups_per_unit: int = 2
    #: how it takes runs; ``None``: tiles take no notice of them
    chunks: RunChunks | None = None
    #: what else tells kernels apart, most telling first; kernels that agree in more of them are more alike
    labels: tuple[str, ...] = ()
