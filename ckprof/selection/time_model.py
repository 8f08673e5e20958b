"""The time of a kernel on a problem, from what it does and a few fitted parameters.

::

    time = launches * launch + prologue
           + norm4(floor, tensor_bytes / bandwidth,
                   steps * (1 + contention * min(load, 1)) * latency,
                   busy * (tile + loops * loop))
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

from ckprof.selection.arithmetic import Value, fourth_power, fourth_root, minimum

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The parts of a predicted time, in microseconds."""

    #: launches and prologue: added to everything else
    fixed: Value
    #: the kernel is never faster
    floor: Value
    #: one workgroup on its own, iteration after iteration
    waiting: Value
    #: compute units that are busy with all of their workgroups
    computing: Value
    #: memory delivers every tensor once
    memory: Value
    #: zeroing, adding parts, workspaces; ``None`` without such traffic
    extra: Value | None

    @property
    def powers(self) -> Value:
        """The sum of the fourth powers of the four terms that overlap."""
        fixed_for_a_problem = fourth_power(self.floor) + fourth_power(self.memory)
        return fixed_for_a_problem + fourth_power(self.waiting) + fourth_power(self.computing)

    @property
    def total(self) -> Value:
        """The predicted time."""
        time = self.fixed + fourth_root(self.powers)
        return time if self.extra is None else time + self.extra

    @property
    def limit(self) -> str:
        """What takes most of the time, for people."""
        parts = ["fixed", "floor", "waiting", "computing", "memory"]
        if self.extra is not None:
            parts.append("extra")
        return max(parts, key=lambda name: float(getattr(self, name)))


def terms(work: Work, shared: SharedParameters, own: KernelParameters) -> Terms:
    """Return the parts of the time: numbers, arrays or symbols, as what it is given."""
    busy = work.load
    if work.rounds is not None:
        busy = work.load + shared.tail * (work.rounds - work.load)
    crowded = 1 + shared.contention * minimum(work.load, 1.0)
    return Terms(
        fixed=shared.launch * work.launches + own.prologue,
        floor=own.floor,
        waiting=work.steps * crowded * own.latency,
        computing=busy * (own.tile + work.loops * own.loop),
        memory=work.tensor_bytes / shared.bandwidth,
        extra=None if isinstance(work.extra_bytes, float) else work.extra_bytes / shared.bandwidth,
    )
