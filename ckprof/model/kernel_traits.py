"""What the time of a kernel depends on, for every family of kernels alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
