"""One attempt to measure: its key, what became of it, and the evidence of how it came about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, TypeVar

from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, KernelResult, Outcome, RoundTime
from ckprof.sanitize import encodable
from ckprof.store.key import MeasurementKey

T = TypeVar("T")

#: name of what is known of a worker's device in the environment of a session
DEVICE: Final = "card"
#: name, in the environment of a session of a worker, of what all workers of the sweep have in common
SWEEP: Final = "sweep"
#: name, in the environment of a session of a sweep, of how many of its outcomes the store has when it begins,
#: and how many it lacks
PLANNED: Final = "planned"
#: name of the canaries' object and device in the environment of a session
CANARIES: Final = "canaries"
#: name of the digests of what computed and measured, in the environment of a session: ckprof and its plugins
SOURCES: Final = "sources"
#: name, in the evidence of an attempt, of the time of the reference kernel before it, in milliseconds
REFERENCE_MS: Final = "reference_ms"
#: name of the device's power limit in watts, in the same evidence
POWER_LIMIT: Final = "power_limit_w"
#: name, in the evidence of an attempt, of the number of its worker process within the session, from 0
PROCESS: Final = "process"
#: names, in the evidence of an attempt on a problem that several devices share: the kernel that all of them
#: run; its time on this device when the round began, in milliseconds; and its time on the device that began
#: with the problem, divided by that: what times of this device are multiplied by to be those of that one
ANCHOR: Final = "anchor"
ANCHOR_MS: Final = "anchor_ms"
SCALE: Final = "scale"
#: name, in the evidence of an attempt that is not launched by its mark, of whether the device was lost beside
#: the kernel
DEVICE_LOST: Final = "device_lost"
#: name, in the cell of a row that holds the evidence, of how many of the kernel's launches were checked, and
#: how many there were; it is no evidence of an :class:`Attempt`, whose verification has both
CHECKED: Final = "checked"
#: name, in the same cell, of the units that computed the timed launches: the measurement has them
UNITS: Final = "units"
#: the same for :attr:`~ckprof.model.outcome.Verification.spacing`
SPACING: Final = "spacing"
#: times that a device may be lost beside a kernel on a problem before sweeps leave the kernel out
MOST_DEVICES_LOST: Final = 2


class Mark(Enum):
    """A property of an attempt that readers of its time should know."""

    #: the canaries of its visit were off by more than their scatter; the visit was repeated once
    DISTURBED = "disturbed"
    #: the kernel left the rounds after this attempt: surely slower than the best by more than asked for
    DROPPED = "dropped"
    #: spread of the samples is large
    NOISY = "noisy"
    #: samples fall into two groups
    BIMODAL = "bimodal"
    #: sampling ended because its time was over, before its criterion held
    CUT_OFF = "cut_off"
    #: more runnable processes than cores
    BUSY_HOST = "busy_host"
    #: the clock was below its base
    LOW_CLOCK = "low_clock"
    #: other processes used the device
    SHARED_DEVICE = "shared_device"
    #: the device was found slower than its peers; its times do not count
    SLOW_DEVICE = "slow_card"
    #: the device ran a part of the problem's kernels only; the time counts where one device did not run all
    #: that may be the fastest
    PART = "part"
    #: nothing is known of the kernel: device or worker had failed before its launch, or the device was lost
    #: beside it; it counts as not measured
    NOT_LAUNCHED = "not_launched"


def encode_marks(marks: tuple[Mark, ...]) -> str:
    """Return marks as text, in the order of their definition, each once."""
    return ",".join(mark.value for mark in Mark if mark in marks)


def decode_marks(text: str) -> tuple[Mark, ...]:
    """Return the marks of a text."""
    return tuple(Mark(value) for value in text.split(",")) if text else ()


#: the same as :attr:`Attempt.moment` in SQL, of attempts ``a`` and sessions ``s``
IN_ORDER: Final = "ORDER BY a.started, s.uid, a.sequence"

#: marks of times that do not count where there are others with less doubt
_DOUBT: Final = {Mark.PART: 1, Mark.DISTURBED: 2, Mark.SLOW_DEVICE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Evidence that all attempts of one command share."""

    #: 32 hexadecimal digits, random: tells the attempts of two commands apart, also after a merge
    uid: str
    #: seconds since the epoch
    started: float
    host: str = ""
    ckprof_version: str = ""
    argv: tuple[str, ...] = ()
    git_commit: str = ""
    git_dirty: bool = False
    seed: int = 0
    #: given by the user with ``--tag``
    tags: tuple[str, ...] = ()
    #: where imported attempts come from, e.g. ``csv results.csv``; empty for measurements of this program
    origin: str = ""
    #: what else is known of the host and the options, as plain JSON values
    environment: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of_file(
        cls, path: Path, data: bytes, kind: str, tags: tuple[str, ...], started: float | None = None
    ) -> Session:
        """Return the session that an imported file becomes.

        Its uid follows from the content, so that importing the same file again adds nothing.

        :param kind: what the file is, for people.
        :param started: seconds since the epoch; without it, when the file was changed.
        """
        return cls(
            uid=hashlib.blake2b(data, digest_size=16, person=b"ckprof import").hexdigest(),
            started=path.stat().st_mtime if started is None else started,
            tags=tags,
            origin=encodable(f"{kind} {path.name}"),
        )

    @property
    def device_id(self) -> str:
        """Which device of several a worker of a sweep used; empty for commands that use one device."""
        card = self.environment.get(DEVICE)
        return str(card.get("id", "")) if isinstance(card, Mapping) else ""

    @property
    def canary_digest(self) -> str:
        """What identifies the canaries and the device that they ran on; empty where there were none."""
        kept = self.environment.get(CANARIES)
        said = json.dumps(kept, sort_keys=True).encode()
        return hashlib.blake2b(said, digest_size=16).hexdigest() if isinstance(kept, Mapping) else ""

    @property
    def command(self) -> str:
        """What tells the command apart: its sessions are several where it used several devices."""
        sweep = self.environment.get(SWEEP)
        return sweep if isinstance(sweep, str) and sweep else self.uid


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(KernelResult):
    """One attempt to measure one kernel on one problem, failures included.

    A sweep adds one attempt per kernel, problem, split and round.
    """

    key: MeasurementKey
    session: Session
    #: from 0, unique within the session: (session uid, sequence) identifies the attempt
    sequence: int
    kernel: KernelRef
    #: for ``unsupported``: ids of the requirements that are not met, the one that decides first
    requirements: tuple[str, ...] = ()
    #: splits of the reduction that ran; ``None`` if it did not come to that
    split_chosen: int | None = None
    workspace_bytes: int | None = None
    marks: tuple[Mark, ...] = ()
    conditions: Conditions

    def outcome(self, problem_index: int) -> Outcome:
        """Return it as the outcome of a run.

        :param problem_index: position of its problem in the run.
        """
        return Outcome(
            key=self.key.kernel.instance,
            problem_index=problem_index,
            status=self.status,
            reason=self.reason,
            split_k=self.split_chosen if self.split_chosen is not None else self.key.split_k,
            split_k_deduced=self.key.split_k < 1,
            measurement=self.measurement,
            verification=self.verification,
            conditions=self.conditions,
        )

    @property
    def lost_device(self) -> bool:
        """True where the device was lost beside the kernel, which is no outcome of it."""
        return self.conditions.extra.get(DEVICE_LOST) is True

    @property
    def moment(self) -> tuple[float, str, int]:
        """By which attempts are in order, the latest one last; see :data:`IN_ORDER`."""
        return self.conditions.started, self.session.uid, self.sequence

    @property
    def round_time(self) -> RoundTime | None:
        """What the attempt says of its kernel's time; ``None`` unless it may be ranked."""
        measured, seen = self.measurement, self.conditions
        if not self.ranked or measured is None:
            return None
        scale = seen.extra.get(SCALE)
        return marked_round_time(
            measured.time_ms,
            measured.spread_ms,
            self.session.uid,
            seen.round,
            seen.started,
            self.marks,
            seen.extra.get(PROCESS, 0),
            scale if isinstance(scale, float) else None,
        )


def telling(attempts: Sequence[T], marks: Callable[[T], Collection[Mark]]) -> Sequence[T]:
    """Return the attempts that say something of a kernel; the status of the latest of them is the kernel's.

    What was never launched says nothing, unless there is nothing else.

    :param attempts: in any form and order, which stays.
    :param marks: returns those of an attempt.
    """
    return [one for one in attempts if Mark.NOT_LAUNCHED not in marks(one)] or attempts


#: marks of attempts that others, or a low clock, may have slowed down
CONTENDED: Final = frozenset({Mark.BUSY_HOST, Mark.LOW_CLOCK, Mark.SHARED_DEVICE})


def marked_round_time(
    time_ms: float,
    spread_ms: float,
    session: str,
    round: int,
    started: float,
    marks: tuple[Mark, ...],
    process: object = 0,
    scale: float | None = None,
) -> RoundTime:
    """Return what a verified attempt says of its kernel's time.

    Here, and nowhere else, times of several devices that share a problem are made comparable; what is stored
    is what was measured.

    :param session: its uid.
    :param process: number of its worker process within the session.
    :param scale: what its evidence says as :data:`SCALE`; ``None`` where one device had the problem for
    itself.
    """
    return RoundTime(
        time_ms=time_ms * (scale or 1.0),
        spread_ms=spread_ms * (scale or 1.0),
        place=(session, round) if round else None,
        doubtful=max((_DOUBT.get(mark, 0) for mark in marks), default=0),
        started=started,
        contended=not CONTENDED.isdisjoint(marks),
        process=f"{session}/{process}",
        pruned=Mark.DROPPED in marks,
    )
