"""The time of a kernel on a problem, from what it does and a few fitted parameters.

::

    time = launches * launch + prologue [+ meeting]
           + norm4(floor, tensor_bytes / bandwidth, [gathered_bytes * rough / gathering,]
                   steps * slow * (1 + contention * min(load, 1)) * latency,
                   busy * (tile + loops * slow * rough * loop))
           + extra_bytes / merging
    busy = load + tail * (rounds - load)
    rough = 1 + ragged where runs end within a chunk, slow = 1 + short where runs are too short for chunks

``norm4`` is the fourth root of the sum of fourth powers: the largest of the terms, with a smooth transition
where two are alike. The terms are a kernel that is never faster, one workgroup on its own whose iterations
wait for memory, compute units that are busy with all of their workgroups, and memory that delivers every
tensor once. What is in brackets is there for parts of a reduction that meet, and for kernels that take runs
in chunks, see :class:`~ckprof.model.gemm_work.RunChunks`. All times are in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof_plugins.tuning.time_model.work import Value, fourth_power, fourth_root, minimum

if TYPE_CHECKING:
    from ckprof_plugins.tuning.time_model.work import Work


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
    #: bytes per microsecond of zeroing, adding parts and workspaces
    merging: Value
    #: bytes per microsecond of gathering rows in chunks, from caches
    gathering: Value
    #: how much longer ragged runs take, as a fraction
    ragged: Value
    #: how much longer an iteration takes where runs are too short for chunks, as a fraction
    short: Value


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
    #: handing over a tile to which other workgroups add as well
    meeting: Value


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
    #: caches deliver rows that are gathered in chunks; ``None`` for kernels that take no notice of runs
    gathering: Value | None
    #: zeroing, adding parts, workspaces; ``None`` without such traffic
    extra: Value | None

    @property
    def powers(self) -> Value:
        """The sum of the fourth powers of the terms that overlap."""
        powers = fourth_power(self.floor) + fourth_power(self.memory)
        if self.gathering is not None:
            powers = powers + fourth_power(self.gathering)
        return powers + fourth_power(self.waiting) + fourth_power(self.computing)

    @property
    def total(self) -> Value:
        """The predicted time."""
        time = self.fixed + fourth_root(self.powers)
        return time if self.extra is None else time + self.extra

    @property
    def limit(self) -> str:
        """What takes most of the time, for people."""
        parts = ["fixed", "floor", "waiting", "computing", "memory"]
        parts += [name for name in ("gathering", "extra") if getattr(self, name) is not None]
        return max(parts, key=lambda name: float(getattr(self, name)))


def terms(work: Work, shared: SharedParameters, own: KernelParameters) -> Terms:
    """Return the parts of the time: numbers, arrays or symbols, as what it is given."""
    busy = work.load
    if work.rounds is not None:
        busy = work.load + shared.tail * (work.rounds - work.load)
    crowded = 1 + shared.contention * minimum(work.load, 1.0)
    fixed = shared.launch * work.launches + own.prologue
    waiting = work.steps * crowded
    looping = work.loops
    gathering = None
    if work.runs is not None:
        slow = 1 + shared.short * work.runs.short
        rough = 1 + shared.ragged * work.runs.ragged
        waiting = waiting * slow
        looping = looping * (slow * rough)
        gathering = work.runs.gathered_bytes * rough / shared.gathering
    return Terms(
        fixed=fixed + own.meeting if work.splits else fixed,
        floor=own.floor,
        waiting=waiting * own.latency,
        computing=busy * (own.tile + looping * own.loop),
        memory=work.tensor_bytes / shared.bandwidth,
        gathering=gathering,
        extra=None if isinstance(work.extra_bytes, float) else work.extra_bytes / shared.merging,
    )
