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
    #: what else tells kernels apart, most telling first; kernels that agree in more of them are more alike
    labels: tuple[str, ...] = ()
