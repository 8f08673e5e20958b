"""What coordinator and workers tell each other: plain data, so that every engine can carry it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof.model.accumulation import SplitSum
from ckprof.model.dtype import DataType
from ckprof.model.outcome import Status
from ckprof.model.problem import Problem
from ckprof.model.problem_types import decode_problem
from ckprof.rounds.options import RoundOptions
from ckprof.run.options import RunOptions
from ckprof.store.key import DeviceKey
from ckprof.store.query import PastVisit, SharedKey
from ckprof.sweep.plan import PlannedKernel
from ckprof.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKernel:
    """A kernel of a job."""

    planned: PlannedKernel
    split_sum: SplitSum
    #: status, reason and requirements of one that has its outcome already: it was not built
    rejection: tuple[Status, str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePolicy:
    """When a card measures the reference kernel, and when it counts as slow.

    :raises UsageError: a value is out of range.
    """

    #: problems between two checks
    every: int = 50
    #: attempts of one check
    samples: int = 5
    #: a card that is slower than its peers by less has nothing to fear
    limit: float = 0.05
    #: standard deviations of the checks that the difference must exceed as well
    sigmas: float = 4.0
    #: seconds that a slow card waits before it is checked again
    park_s: float = 60.0

    def __post_init__(self) -> None:
        for name, least in (("every", 1), ("samples", 3), ("limit", 0), ("sigmas", 0), ("park_s", 0)):
            if not getattr(self, name) >= least:
                raise UsageError(f"{name} is {getattr(self, name)}, expected at least {least}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything that workers need beside their unit. It travels once per worker, by its digest."""

    direction: str
    target: str
    arch: str
    #: what ``-march=native`` meant where the library was built
    machine_identity: str
    #: model of the CPU that the library was built for; empty if it runs on a device
    cpu_model: str
    #: digest of the library's file; empty if not a single kernel compiled
    library: str
    library_name: str
    kernels: tuple[JobKernel, ...]
    options: RunOptions
    rounds: RoundOptions
    reference: ReferencePolicy = field(default_factory=ReferencePolicy)
    tags: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    git_commit: str = ""
    git_dirty: bool = False
    #: module names and files
    plugins: tuple[str, ...] = ()
    #: files with further architectures
    architectures: tuple[str, ...] = ()
    version: str = __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """The smallest thing that is handed out: all kernels of one type and layout on one problem."""

    #: says which unit this is, also after a restart
    id: str
    problem: Problem
    problem_index: int
    dtype: DataType | None
    layout: str
    splits: tuple[int, ...]
    #: what is known already, all of one card
    past: tuple[PastVisit, ...] = ()
    card: str = ""
    last_round: int = 0
    fresh: bool = False
    retry_failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One order to one worker."""

    id: str
    #: of the coordinator that hands it out: names its request to stop
    run: str
    #: digest of the job
    job: str
    #: ``None``: say who you are, and measure the reference kernel
    unit: Unit | None
    #: what all outcomes have in common; ``None`` before the first device has said what it is
    shared: SharedKey | None = None
    #: folder that workers and coordinator see; empty if there is none
    folder: str = ""
    #: of the reference kernel: the problem, and the instance as soon as one is known to run
    reference_problem: Unit | None = None
    reference_instance: str = ""
    #: cards that were found slow
    quarantined: tuple[str, ...] = ()
    #: cards whose last check found them slow: it is repeated
    suspected: tuple[str, ...] = ()
    #: seconds after which no further attempt begins; ``None`` for as long as it takes
    max_time_s: float | None = None
    #: digest -> content of objects that travel with the task
    objects: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHead:
    """What a worker must know of a task before it has the plugins that the rest may need."""

    id: str
    job: str
    folder: str = ""
    objects: Mapping[str, bytes] = field(default_factory=dict)


class End(Enum):
    """How a worker ended its task."""

    #: the ranking is finished
    FINISHED = "finished"
    #: a stop was requested, or the time is over: the rest is left to somebody else
    STOPPED = "stopped"
    #: the card is quarantined: it waited, and measured the reference kernel again
    PARKED = "parked"
    #: nothing was asked but who the worker is
    PROBED = "probed"
    #: objects are missing that the worker cannot reach
    MISSING = "missing"
    #: the device is another one than the outcomes are filed under
    OTHER_DEVICE = "other_device"
    #: an error that another worker would have as well, or that concerns this one alone
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceCheck:
    """The reference kernel, measured on one card."""

    card: str
    #: seconds since the epoch, by the worker's clock
    started: float
    #: content key of the instance, and the kernel's name
    instance: str
    kernel: str
    #: medians of its attempts in milliseconds
    times_ms: tuple[float, ...]
    clock_mhz: float | None = None
    base_clock_mhz: float | None = None
    temperature_c: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A device, and the worker that has it."""

    #: ``host:label``
    id: str
    host: str
    device: DeviceKey
    driver: str = ""
    clock: str = "wall"
    #: what the library says of it
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a worker answers. Its outcomes are on the disk by then, or in ``shard``."""

    task: str
    end: End
    card: Card | None = None
    checks: tuple[ReferenceCheck, ...] = ()
    #: what was appended to the worker's shard, if the coordinator cannot read it
    shard: bytes = b""
    attempts: int = 0
    rounds: int = 0
    drifted_rounds: int = 0
    dropped: int = 0
    #: seconds from the first to the last attempt
    wall_s: float = 0.0
    warnings: Mapping[str, int] = field(default_factory=dict)
    #: digests of missing objects
    missing: tuple[str, ...] = ()
    message: str = ""


_JOBS: Final = msgspec.msgpack.Decoder(Job)
_TASKS: Final = msgspec.msgpack.Decoder(Task, dec_hook=decode_problem)
_TASK_HEADS: Final = msgspec.msgpack.Decoder(TaskHead)
_REPLIES: Final = msgspec.msgpack.Decoder(Reply)


def encode(message: Job | Task | Reply) -> bytes:
    """Return a message as bytes."""
    return msgspec.msgpack.encode(message, order="deterministic")


def decode_job(data: bytes) -> Job:
    """Return the job that was encoded."""
    return _JOBS.decode(data)


def decode_task_head(data: bytes) -> TaskHead:
    """Return the head of the task that was encoded."""
    return _TASK_HEADS.decode(data)


def decode_task(data: bytes) -> Task:
    """Return the task that was encoded.

    :raises InputError: it has a problem of a type that no loaded plugin brings.
    """
    try:
        return _TASKS.decode(data)
    except msgspec.ValidationError as exc:
        raise InputError(f"the task cannot be read: {exc}") from None


def decode_reply(data: bytes) -> Reply:
    """Return the reply that was encoded."""
    return _REPLIES.decode(data)
