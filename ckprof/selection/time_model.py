"""The time of a kernel on a problem, from what it does and a few fitted parameters.

::

    time = launches * launch + prologue
           + norm4(floor, steps * latency * (1 + contention * min(load, 1)),
                   busy * (tile + loops * loop), tensor_bytes / bandwidth)
           + extra_bytes / bandwidth
    busy = load + tail * (rounds - load)

``norm4`` is the fourth root of the sum of fourth powers: the largest of the terms, with a smooth transition
where two are alike. The terms are a kernel that is never faster, one workgroup on its own whose iterations
wait for memory, compute units that are busy with all of their workgroups, and memory that delivers every
tensor once. All times are in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.selection.arithmetic import Value, minimum, norm4

if TYPE_CHECKING:
    from ckprof.selection.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedParameters:
    """What all kernels of a device have in common."""

    #: microseconds of launching a kernel
    launch: Value
    #: bytes per microsecond
    bandwidth: Value
    #: 0: compute units that run out of work help the others; 1: all wait for the last round
    tail: Value
    #: how much longer an iteration takes when every compute unit has a workgroup, as a fraction
    contention: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelParameters:
    """What is the kernel's own, in microseconds."""

    #: before the first and after the last iteration
    prologue: Value
    #: least time between prologue and end
    floor: Value
    #: one iteration of a workgroup that has the compute unit for itself
    latency: Value
    #: one tile, besides its iterations, on a compute unit with enough workgroups
    tile: Value
    #: one iteration on a compute unit with enough workgroups
    loop: Value


def predict_us(work: Work, shared: SharedParameters, own: KernelParameters) -> Value:
    """Return the time in microseconds: a number, an array or a symbol, as what it is given."""
    busy = work.load
    if work.rounds is not None:
        busy = work.load + shared.tail * (work.rounds - work.load)
    waiting = work.steps * own.latency * (1 + shared.contention * minimum(work.load, 1.0))
    computing = busy * (own.tile + work.loops * own.loop)
    memory = work.tensor_bytes / shared.bandwidth
    core = norm4(own.floor, waiting, computing, memory)
    fixed = shared.launch * work.launches + own.prologue
    if isinstance(work.extra_bytes, float):
        return fixed + core
    return fixed + core + work.extra_bytes / shared.bandwidth
