"""What is handed out next, and what follows from answers, from silence and from kernels that hang.

Nothing here knows engines, files or clocks: the coordinator drives it, and so does the model of a cluster.
"""

from __future__ import annotations

from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.measure.rounds import KernelConfiguration
    from ckprof_plugins.cluster.folder import LeaseTable
    from ckprof_plugins.cluster.messages import Reply
    from ckprof_plugins.cluster.units import OpenUnit, UnitQueue

#: tasks that wait at the engine, so that no worker waits for the coordinator: one, or one for so many slots
_LEAST_AHEAD: Final = 1
_AHEAD_SHARE: Final = 16


class State(Enum):
    """What is expected of a task that was handed out."""

    WANTED = "wanted"
    #: wanted, though its worker is a suspected straggler, or runs a kernel that hangs: no further device is
    #: asked for the same. A unit that ends its workers shall not end one after the other
    SUSPECTED = "suspected"
    #: its lease is over: whatever comes of it is welcome, but nobody waits for it
    ABANDONED = "abandoned"


class InFlight:
    """A task that was handed out.

    :param objects: digests of what travels with it.
    :param now: when it was handed out, in seconds of the driver's clock.
    """

    def __init__(self, task: str, unit: OpenUnit, objects: frozenset[str], now: float) -> None:
        self.id = task
        self.open = unit
        self.objects = objects
        self.state = State.WANTED
        #: the same unit on another device: the first one to finish counts
        self.copy: InFlight | None = None
        #: shard of its worker, and its size at the last look
        self.shard, self.size = "", 0
        #: when that was, and when the worker gave its last sign of life
        self.looked = self.seen = now
        #: ids of devices that were found slow meanwhile: what one of them had measured of the unit is marked
        self.slow_on: set[str] = set()

    @property
    def abandoned(self) -> bool:
        return self.state is State.ABANDONED

    def pair(self, other: InFlight) -> None:
        """Have another device do the same: the first one to finish counts."""
        self.copy, other.copy = other, self
        self.state = other.state = State.SUSPECTED

    def part(self) -> bool:
        """Be the only one again; say whether another device does the same."""
        copy, self.copy = self.copy, None
        if copy is not None:
            copy.copy = None
        return copy is not None


class Dispatcher:
    """The tasks that are handed out, and those that are to be.

    :param doubt_s: seconds of silence after which an idle device gets a copy; ``None``: silence is not seen.
    """

    def __init__(self, units: UnitQueue, leases: LeaseTable, doubt_s: float | None) -> None:
        self._units, self._leases, self._doubt_s = units, leases, doubt_s
        self.tasks: dict[str, InFlight] = {}
        #: there are more devices than units
        self.idle = False
        self._abandoned = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left, and nobody is waited for."""
        return not len(self._units) and len(self.tasks) == self._abandoned

    def due(self, slots: int, now: float) -> Iterator[tuple[OpenUnit, InFlight | None]]:
        """Yield what is to be handed out now; each is noted by :meth:`add` before the next one.

        :param slots: tasks that the engine runs at once.
        :returns: units, and what each is a speculative copy of.
        """
        # who was abandoned may be stuck for ever
        slots = max(1, slots - self._abandoned)
        most = slots + max(_LEAST_AHEAD, slots // _AHEAD_SHARE)
        while len(self.tasks) - self._abandoned < most and (unit := self._units.pop()) is not None:
            yield unit, None
        free = slots + self._abandoned - len(self.tasks)
        self.idle = free > 0
        if self.idle and self._doubt_s is not None:
            silent_since = now - self._doubt_s
            suspects = (
                sent
                for sent in self.tasks.values()
                if sent.state is State.WANTED
                and sent.seen <= silent_since
                and not self._leases.is_waiting(sent.id)
            )
            for sent in list(islice(suspects, free)):
                yield self._units.copy(sent.open), sent

    def add(self, sent: InFlight, original: InFlight | None = None) -> None:
        """Note that a task was handed out."""
        self.tasks[sent.id] = sent
        self._leases.give(sent.open.unit.lease, sent.id)
        if original is not None:
            original.pair(sent)

    def take(self, task: str) -> InFlight:
        """Return a task that is over; what follows depends on its answer."""
        sent = self.tasks.pop(task)
        self._abandoned -= sent.abandoned
        self._leases.end(task)
        return sent

    def finish(self, sent: InFlight, device: str, reply: Reply) -> None:
        """Take what a finished unit leaves; another device that does the same is not waited for."""
        if sent.copy is not None:
            self.abandon(sent.copy)
            self.leave(sent.copy)
        if sent.open.unit.part:
            self._units.finish_part(sent.open, device, reply)
        else:
            self._units.finish(sent.open, reply.resolution)

    def put_back(self, sent: InFlight, reason: str = "") -> None:
        """Hand a unit out again that was not finished, unless another device is at it.

        :param reason: what failed; empty if nothing did.
        :raises ToolchainError: as :meth:`UnitQueue.fail`.
        """
        if self.leave(sent):
            return
        if reason:
            self._units.fail(sent.open, reason)
        else:
            self._units.requeue(sent.open)

    def leave(self, sent: InFlight) -> bool:
        """Wait no longer for a task if another device does the same, and say whether one does."""
        if left := sent.part():
            self._units.drop(sent.open)
        return left

    def abandon(self, sent: InFlight) -> None:
        """Wait no longer for a task, whatever comes of it."""
        self._leases.end(sent.id)
        self._abandoned += not sent.abandoned
        sent.state = State.ABANDONED

    def split(self, sent: InFlight, cell: KernelConfiguration) -> bool:
        """Have others do what waits behind a kernel that hangs, and nobody else run that kernel.

        :returns: whether the device that has it shall end with that kernel.
        """
        if sent.state is not State.WANTED:
            return False
        sent.state = State.SUSPECTED
        return self._units.split(sent.open, cell)
