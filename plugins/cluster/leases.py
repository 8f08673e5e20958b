"""Who has which unit, and until when: a unit whose worker falls silent is given to another one.

The journal survives the coordinator. A unit may so be measured twice, never not at all, and what is measured
twice are different attempts, each of which is stored once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from ckprof.errors import UsageError
from ckprof.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class LeasePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a worker may be silent; the table ``lease`` of a settings file.

    :raises UsageError: a value is out of range.
    """

    #: seconds without an outcome after which a unit is given to another worker
    silence_s: float = 600.0
    #: seconds without one after which a device that has nothing to do begins with the same unit, in case
    doubt_s: float = 15.0
    #: times that a unit is handed out before it is given up
    attempts: int = 5

    def __post_init__(self) -> None:
        if not self.silence_s > 0:
            raise UsageError(f"silence_s is {self.silence_s}, expected more than 0 seconds")
        if not self.doubt_s > 0:
            raise UsageError(f"doubt_s is {self.doubt_s}, expected more than 0 seconds")
        if self.attempts < 1:
            raise UsageError(f"attempts is {self.attempts}, expected at least 1")


class JournalLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A lease that was given, prolonged or ended."""

    unit: str
    task: str
    #: seconds since the epoch; 0: the lease is over
    until: float = 0.0


class LeaseTable:
    """The leases of a coordinator.

    :param policy: how long they last.
    :param journal: file in which they are noted; ``None`` for nowhere.
    """

    def __init__(self, policy: LeasePolicy, journal: Path | None = None) -> None:
        self._policy = policy
        self._journal = journal
        #: task -> its unit, and until when by the clock of the caller; ``None`` before a sign of life
        self._units: dict[str, str] = {}
        self._until: dict[str, float | None] = {}
        #: ends the line that a coordinator was killed in
        self._line_end = b"\n"

    def give(self, unit: str, task: str) -> None:
        """Note that a unit was handed out; its time begins with the worker's first sign of life."""
        self._units[task], self._until[task] = unit, None

    def renew(self, task: str, now: float, wall: float) -> None:
        """Note a sign of life.

        :param now: seconds of any steady clock.
        :param wall: seconds since the epoch, for a coordinator that comes later.
        """
        if task not in self._units:
            return
        # not for each outcome: within a quarter of its time it makes no difference
        until = self._until[task]
        fresh = until is None or until - now < 0.75 * self._policy.silence_s
        self._until[task] = now + self._policy.silence_s
        if fresh:
            self._note(JournalLine(unit=self._units[task], task=task, until=wall + self._policy.silence_s))

    def end(self, task: str) -> None:
        """Note that a worker has answered."""
        unit, until = self._units.pop(task, ""), self._until.pop(task, None)
        if until is not None:
            self._note(JournalLine(unit=unit, task=task))

    def is_waiting(self, task: str) -> bool:
        """Say whether the worker of a task has given no sign of life yet."""
        return task in self._units and self._until[task] is None

    def expired(self, now: float) -> list[str]:
        """Return the tasks whose workers are silent for too long."""
        return [task for task, until in self._until.items() if until is not None and until <= now]

    def _note(self, line: JournalLine) -> None:
        if self._journal is None:
            return
        try:
            descriptor = os.open(self._journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                os.write(descriptor, self._line_end + msgspec.json.encode(line) + b"\n")
                self._line_end = b""
            finally:
                os.close(descriptor)
        except OSError as exc:
            raise StoreError(f"cannot note a lease: {exc.strerror}", self._journal) from None


def read_journal(path: Path, wall: float) -> dict[str, float]:
    """Return the units that workers of an earlier coordinator may still have, and until when.

    :param wall: seconds since the epoch.
    """
    leases: dict[str, JournalLine] = {}
    for line in _lines(path):
        if line.until > wall:
            leases[line.task] = line
        else:
            leases.pop(line.task, None)
    return {lease.unit: lease.until for lease in leases.values()}


def _lines(path: Path) -> Iterable[JournalLine]:
    try:
        texts = path.read_bytes().splitlines()
    except OSError:
        return
    for text in texts:
        try:
            yield msgspec.json.decode(text, type=JournalLine)
        except msgspec.MsgspecError:
            continue  # the last line of a coordinator that was killed
