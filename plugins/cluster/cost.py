"""What a sweep on an engine will take: tasks, bytes that travel, and hours by pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.wording import counted, duration
from ckprof_plugins.cluster.dividing import most_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.sweep.plan import Plan

#: bytes of an outcome in a shard, raw samples included; measured
ATTEMPT_BYTES: Final = 2_600
#: bytes of a kernel in a library, where none was built to look at
KERNEL_BYTES: Final = 150_000
#: bytes of a kernel in the description of a job; measured
_JOB_KERNEL_BYTES: Final = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCost:
    """An estimate. What is not known is ``None``."""

    build_slots: int
    run_slots: int
    kernels: int
    #: problems that are left, as often as kernels of different types and layouts compete on them
    units: int
    #: those among them that several cards share, and the parts that these are divided in
    divided: int
    parts: int
    attempts: tuple[int, int]
    library_bytes: int
    run_s: tuple[float, float] | None

    @property
    def download_bytes(self) -> int:
        """Bytes that workers get: each the library and the description of the job once."""
        return self.run_slots * (self.library_bytes + _JOB_KERNEL_BYTES * self.kernels)

    @property
    def upload_bytes(self) -> tuple[int, int]:
        """Bytes of outcomes, at least and at most."""
        least, most = self.attempts
        return ATTEMPT_BYTES * least, ATTEMPT_BYTES * most


def estimate(
    plan: Plan,
    parts: Sequence[int],
    *,
    build_slots: int,
    run_slots: int,
    library_bytes: int | None = None,
) -> ClusterCost:
    """Estimate what is left of a plan.

    :param parts: see :func:`~ckprof_plugins.cluster.dividing.parts_of`.
    :param library_bytes: size of the library, if it is built.
    """
    kernels = len({instance for contest in plan.contests for instance in contest.kernels})
    return ClusterCost(
        build_slots=build_slots,
        run_slots=run_slots,
        kernels=kernels,
        units=len(plan.open_contests),
        divided=sum(count > 1 for count in parts),
        parts=sum(
            min(count, most_parts(len(planned.contest.active)))
            for planned, count in zip(plan.open_contests, parts, strict=True)
            if count > 1
        ),
        attempts=(plan.least_visits, plan.most_visits),
        library_bytes=library_bytes if library_bytes is not None else KERNEL_BYTES * kernels,
        run_s=plan.estimated_s(),
    )


def describe_cost(cost: ClusterCost) -> list[str]:
    """Return the estimate in a few lines for people."""
    low, high = cost.upload_bytes
    builds = f"{counted(cost.build_slots, 'build worker')}" if cost.build_slots else "builds on this machine"
    shared = f", {cost.divided} of them divided in {counted(cost.parts, 'part')}" if cost.divided else ""
    lines = [
        f"tasks: {counted(cost.units, 'problem')}{shared} for {counted(cost.run_slots, 'device')}; "
        f"{builds}, {counted(cost.kernels, 'kernel')}",
        f"bytes: {_size(cost.download_bytes)} to the workers, {_size(low)} to {_size(high)} back",
    ]
    if cost.run_s is None:
        lines.append("time of the devices: unknown, nothing was measured before")
    elif cost.units:
        least, most = cost.run_s
        used = max(1, min(cost.run_slots, cost.units - cost.divided + cost.parts))
        lines.append(
            f"time of the devices: {duration(least)} to {duration(most)} in all, "
            f"{duration(least / used)} to {duration(most / used)} on {used} of them"
        )
    return lines


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return ""
