"""What coordinator and workers tell each other: plain data, so that every engine can carry it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from ckprof.errors import InputError, ToolchainError, UsageError
from ckprof.measure.options import RunOptions
from ckprof.measure.rounds import KernelConfiguration, RoundOptions
from ckprof.model.architecture import use_files
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Outcome
from ckprof.model.problem import Problem
from ckprof.model.problem_types import decode_problem
from ckprof.model.ranking import Resolution
from ckprof.model.types import TypeSet
from ckprof.plugin.manager import Origin, PluginManager
from ckprof.session import Session as ProfilerSession
from ckprof.session import ignore
from ckprof.settings import Settings
from ckprof.store.attempt import Session
from ckprof.store.key import DeviceKey
from ckprof.store.query import PastVisit, SharedKey
from ckprof.version import __version__

T = TypeVar("T")


class ReferencePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a device measures the reference kernel, and when it counts as slow; a table of a settings file.

    :raises UsageError: a value is out of range.
    """

    #: problems between two checks
    every: int = 50
    #: attempts of one check
    samples: int = 5
    #: a device that is slower than its peers by no more than this share does not count as slow
    limit: float = 0.05
    #: standard deviations of the checks that the difference must exceed as well
    sigmas: float = 4.0
    #: seconds that a slow device waits before it is checked again
    park_s: float = 60.0

    def __post_init__(self) -> None:
        for name, least in (("every", 1), ("samples", 3), ("limit", 0), ("sigmas", 0), ("park_s", 0)):
            if not getattr(self, name) >= least:
                raise UsageError(f"{name} is {getattr(self, name)}, expected at least {least}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a coordinator has loaded, and its workers load as well."""

    #: module names and files of plugins that another process finds nowhere else
    plugins: tuple[str, ...] = ()
    #: files with further architectures
    architectures: tuple[str, ...] = ()
    version: str = __version__

    @classmethod
    def of(cls, session: ProfilerSession) -> Loaded:
        """Return what a session has loaded, wherever a worker looks for it."""
        named = (Origin.CONFIG, Origin.COMMAND_LINE)
        plugins = [one for one in session.manager.plugins if one.origin in named and not one.error]
        loose = (one.location for one in plugins)
        return cls(
            plugins=tuple(_absolute(name) if name.endswith(".py") or "/" in name else name for name in loose),
            architectures=tuple(map(_absolute, session.settings.architectures)),
        )

    def load(self) -> PluginManager:
        """Load the same here."""
        use_files(Path(name) for name in self.architectures)
        manager = PluginManager()
        manager.load_all(configured=self.plugins)
        return manager


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
    kernels: tuple[SelectedKernel, ...]
    #: of kernels that were not built
    rejections: tuple[Outcome, ...] = ()
    #: second problems of kernels, which may be known only with the job's plugins; see :data:`SECOND_PROBLEMS`
    second_problems: bytes = b""
    options: RunOptions
    #: environment variables of the processes that run kernels
    worker_variables: tuple[tuple[str, str], ...] = ()
    rounds: RoundOptions
    reference: ReferencePolicy = field(default_factory=ReferencePolicy)
    #: seconds after which a kernel that still runs is suspected to hang
    suspect_s: float = math.inf
    #: what the sessions of all workers have in common
    session: Session
    loaded: Loaded = field(default_factory=Loaded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The kernel that all devices run which share a problem."""

    cell: KernelConfiguration
    #: its time in milliseconds on the device that began, to which all times are scaled
    time_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """The smallest thing that is handed out: kernels of one type and layout on one problem."""

    #: says which problem this is, with kernels of which type and layout; also after a restart
    id: str
    problem: Problem
    problem_index: int
    types: TypeSet
    layout: str
    splits: tuple[int, ...]
    #: what is known already, all of one device
    past: tuple[PastVisit, ...] = ()
    device: str = ""
    fresh: bool = False
    retry_failed: bool = False
    #: number of the part of a sharded problem, never the same again; 0: whatever competes for the first place
    part: int = 0
    #: what competes; empty for all kernels with all splits
    cells: tuple[KernelConfiguration, ...] = ()
    #: of a part: the kernel that all parts run; ``None`` for the part that is to find one
    anchor: Anchor | None = None
    #: of a part: numbers of rounds that earlier ones have taken: a round is known by its number and the
    #: session
    rounds_before: int = 0

    @property
    def lease(self) -> str:
        """What a lease on it is known by."""
        return f"{self.id}/{self.part}" if self.part else self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One order to one worker."""

    id: str
    #: of the coordinator that hands it out: names its request to stop
    run: str
    #: digest of the job
    job: str
    #: an encoded :class:`Unit`, whose problem may be known only with the job's plugins; empty: say who you
    #: are, and measure the reference kernel
    unit: bytes = b""
    #: what all outcomes have in common; ``None`` before the first device has said what it is
    shared: SharedKey | None = None
    #: folder that workers and coordinator see; empty if there is none
    folder: str = ""
    #: of the reference kernel: an encoded unit with its problem, if there is one, and the instance as soon as
    #: one is known to run
    reference_problem: bytes = b""
    reference_instance: str = ""
    #: devices that were found slow
    quarantined: tuple[str, ...] = ()
    #: devices whose last check found them slow: it is repeated
    suspected: tuple[str, ...] = ()
    #: seconds after which no further attempt begins; ``None`` for as long as it takes
    max_time_s: float | None = None
    #: content key of a kernel -> digest of the second problems that it was right on, by the store
    known: Mapping[str, str] = field(default_factory=dict)
    #: digest -> content of objects that travel with the task
    objects: Mapping[str, bytes] = field(default_factory=dict)


class End(Enum):
    """How a worker ended its task."""

    #: the ranking is finished
    FINISHED = "finished"
    #: a stop was requested, or the time is over: the rest is left to somebody else
    STOPPED = "stopped"
    #: the device is quarantined: it waited, and measured the reference kernel again
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
    """The reference kernel, measured on one device."""

    #: content key of the instance
    instance: str
    #: medians of its attempts in milliseconds
    times_ms: tuple[float, ...]
    clock_mhz: float | None = None
    base_clock_mhz: float | None = None
    temperature_c: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDevice:
    """A device, and the worker that has it."""

    #: ``host:label``
    id: str
    key: DeviceKey
    driver: str = ""
    clock: str = "wall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a worker answers. Its outcomes are on the disk by then, or in ``shard``."""

    task: str
    end: End
    device: WorkerDevice | None = None
    #: if it was due and a kernel runs
    check: ReferenceCheck | None = None
    #: what was appended to the worker's shard, if the coordinator cannot read it
    shard: bytes = b""
    attempts: int = 0
    rounds: int = 0
    disturbed: int = 0
    dropped: int = 0
    #: seconds from the first to the last attempt
    wall_s: float = 0.0
    warnings: Mapping[str, int] = field(default_factory=dict)
    #: of a finished unit: what is known of its first place
    resolution: Resolution | None = None
    #: of a finished part: attempts on those of its kernels that may be the fastest
    visits: tuple[PastVisit, ...] = ()
    #: digests of missing objects
    missing: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelText:
    """The sources of one kernel."""

    #: content key of the instance, and of the object that they must give
    instance: str
    object_key: str
    name: str
    symbol: str
    weight: int
    #: (path below the root of the tree, text) of the header and of the translation unit
    header: tuple[str, str]
    entry: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTask:
    """Kernels that one worker compiles."""

    target: str
    arch: str
    api_level: str
    compiler: str = ""
    #: where CK Tile's headers lie; empty for targets that bring their own
    ck_root: str = ""
    #: name of a device that the target brings along, with its settings; empty for those of a machine
    device: str = ""
    library_name: str
    kernels: tuple[KernelText, ...]
    timeout_s: float
    #: folder that workers and coordinator see; empty if there is none
    folder: str = ""
    loaded: Loaded = field(default_factory=Loaded)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedEntry:
    """One object of a cache with its record, on its way to the cache of another machine."""

    key: str
    object: bytes
    record: bytes
    #: (content key, symbol) of each kernel, if the object holds several
    members: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReply:
    """What became of them. A kernel that did not compile is not there."""

    entries: tuple[PackedEntry, ...] = ()
    #: digests in the shared folder of what would stand in ``entries``
    kept: tuple[str, ...] = ()
    #: why nothing could be compiled; empty if something was
    message: str = ""


Message = Job | Unit | Task | Reply | BuildTask | BuildReply | PackedEntry

_UNITS: Final = msgspec.msgpack.Decoder(Unit, dec_hook=decode_problem)
#: content key of an instance -> its second problems
SECOND_PROBLEMS: Final = msgspec.msgpack.Decoder(
    dict[str, tuple[tuple[Problem, ...], ...]], dec_hook=decode_problem
)

# each returns what was encoded
decode_job: Final = msgspec.msgpack.Decoder(Job).decode
decode_task: Final = msgspec.msgpack.Decoder(Task).decode
decode_reply: Final = msgspec.msgpack.Decoder(Reply).decode
decode_build_task: Final = msgspec.msgpack.Decoder(BuildTask).decode
decode_build_reply: Final = msgspec.msgpack.Decoder(BuildReply).decode
decode_entry: Final = msgspec.msgpack.Decoder(PackedEntry).decode


def _absolute(name: str) -> str:
    return str(Path(name).expanduser().absolute())


def worker_session(loaded: Loaded) -> ProfilerSession:
    """Return a session of a worker.

    :raises ToolchainError: the coordinator has another version.
    """
    if loaded.version != __version__:
        raise ToolchainError(
            f"this worker has ckprof {__version__}, the coordinator {loaded.version}: install the same "
            "version"
        )
    return ProfilerSession(settings=Settings(), manager=loaded.load(), emit=ignore)


def encode(message: Message) -> bytes:
    """Return a message as bytes."""
    return msgspec.msgpack.encode(message, order="deterministic")


def decode_unit(data: bytes) -> Unit:
    """Return the unit that was encoded.

    :raises InputError: it has a problem of a type that no loaded plugin brings.
    """
    try:
        return _UNITS.decode(data)
    except msgspec.ValidationError as exc:
        raise InputError(f"the task cannot be read: {exc}") from None


def answer_of(future: Future[bytes], decode: Callable[[bytes], T]) -> T | str:
    """Return what a worker has answered, or why there is no answer.

    :param future: what an engine has returned for a task; it is done.
    """
    if future.cancelled():
        return "the engine cancelled the task"
    error = future.exception()
    if error is not None:
        return str(error).strip() or type(error).__name__
    data: object = future.result()
    try:
        return decode(data if isinstance(data, bytes) else b"")
    except msgspec.DecodeError:
        return f"the engine returned an object of type {type(data).__name__} that is not a reply of a worker"
