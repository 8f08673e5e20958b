"""One attempt to measure: its key, what became of it, and the evidence of how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from ckprof.model.dtype import DataType
from ckprof.model.outcome import Measurement, Status, Verification
from ckprof.store.key import MeasurementKey

#: name of what is known of a card in the environment of a session
CARD: Final = "card"
#: name, in the evidence of an attempt, of the time of the reference kernel before it, in milliseconds
REFERENCE_MS: Final = "reference_ms"


class Mark(Enum):
    """A property of an attempt that readers of its time should know."""

    #: the kernel is the one that runs in every round, so that drift shows
    REFERENCE = "reference"
    #: the reference kernel moved by more than the noise in this round, which was repeated
    DRIFT = "drift"
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
    #: the card was found slower than its peers; its times do not count
    SLOW_CARD = "slow_card"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelInfo:
    """What readers want to know of a kernel; determined by its instance key, never part of a key itself."""

    #: kernel name
    name: str
    #: CK Builder's text
    instance_string: str = ""
    pipeline: str = ""
    dtype: DataType | None = None
    #: name of the layout, e.g. ``nhwgc``
    layout: str = ""
    #: identity fields of the instance as plain JSON values; empty where an import does not say
    fields: Mapping[str, object] = field(default_factory=dict)


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

    @property
    def card(self) -> str:
        """Which card of several a worker of a sweep used; empty for commands that use one device."""
        found = self.environment.get(CARD)
        return str(found.get("id", "")) if isinstance(found, Mapping) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Evidence of one attempt. ``None`` and 0 stand for what could not be read."""

    #: seconds since the epoch
    started: float
    #: from 1; attempts of one session, problem and round ran one after the other; 0 where an import has none
    round: int = 0
    #: position within the round, from 0
    order: int = 0
    #: wall seconds of the whole attempt: loading, verification, flushes and samples
    wall_s: float | None = None
    #: load average over one minute
    load: float | None = None
    clock_mhz: float | None = None
    temperature_c: float | None = None
    #: further evidence from observers, as plain JSON values
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt to measure one kernel on one problem, failures included.

    A sweep adds one attempt per kernel, problem, split and round.
    """

    key: MeasurementKey
    session: Session
    #: from 0, unique within the session: (session uid, sequence) identifies the attempt
    sequence: int
    kernel: KernelInfo
    status: Status
    #: why, for every status but ``ok``
    reason: str = ""
    #: for ``unsupported``: ids of the requirements that are not met, the one that decides first
    requirements: tuple[str, ...] = ()
    #: splits of the reduction that ran; ``None`` if it did not come to that
    split_chosen: int | None = None
    #: with the raw samples in ``samples_ms`` unless they were pruned or the import has none
    measurement: Measurement | None = None
    #: ``None``: the output was not compared
    verification: Verification | None = None
    workspace_bytes: int | None = None
    marks: tuple[Mark, ...] = ()
    conditions: Conditions

    @property
    def ranked(self) -> bool:
        """True for a verified ``ok`` attempt with a time: only these may be ranked."""
        return (
            self.status is Status.OK
            and self.measurement is not None
            and self.verification is not None
            and self.verification.passed
        )
