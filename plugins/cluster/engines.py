"""What an engine is: it runs one function on payloads, somewhere, and returns what that returned.

Nothing else is asked of an engine, so that any scheduler can be one: no shared memory, no order, no delivery
exactly once. What must not be lost is written by the workers; see :mod:`ckprof_plugins.cluster.coordinator`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from ckprof.errors import CkprofError, PluginError, UsageError
from ckprof.plugin.additions import Kind

if TYPE_CHECKING:
    from ckprof.testing.contract import Trials
    from ckprof.testing.samples import Samples
    from ckprof_plugins.cluster.settings import ClusterSettings


class Pool(Enum):
    """What a worker is good for."""

    #: compiles: a worker has some CPUs
    BUILD = "build"
    #: measures: a worker has one device for itself
    RUN = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a worker runs, as the engine knows it."""

    #: index of the device within the worker's process
    device: int = 0
    #: what the device is called on its host: equal for all processes that use it
    label: str = "0"
    #: CPUs that the worker is bound to; empty for all that the host gives it
    cpus: tuple[int, ...] = ()


class WorkerLost(Exception):
    """A worker ended, or cannot be reached any more, before it had answered."""


#: runs a payload in a worker; what it is called is all that workers need to know
Handler = Callable[[bytes, Slot], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRequest:
    """What an engine is opened for."""

    #: ``module:name`` of the :data:`Handler` of workers that measure, and of those that compile
    handler: str
    build_handler: str = ""
    #: pools that are opened
    wanted: tuple[Pool, ...] = (Pool.RUN,)
    #: indices of devices that the user named; empty for those that the settings say
    devices: tuple[int, ...] = ()
    #: the kernels compute on the host's CPUs, which workers then share out among themselves
    embedded: bool = False
    #: what ``--cluster`` says; ``None`` without it
    settings: ClusterSettings | None = None
    #: where the engine may keep logs
    folder: Path = Path()


@runtime_checkable
class EngineSession(Protocol):
    """An engine with its workers, opened."""

    @property
    def outlives_coordinator(self) -> bool:
        """Whether workers go on for a while when the process that opened the engine was killed."""

    @property
    def shares_files(self) -> bool:
        """Whether workers see the files of the machine on which the engine was opened."""

    def slots(self, pool: Pool) -> int:
        """Return how many payloads of a pool run at once at most; 0 for a pool that there is not."""

    def submit(self, pool: Pool, payload: bytes) -> Future[bytes]:
        """Have a payload run by one worker of a pool.

        :returns: what the handler returned. Any exception says that the payload may not have been run to its
            end; whether it was run in part, or is still being run, is not known then.
        """

    def close(self, *, now: bool) -> None:
        """End the workers.

        :param now: do not wait for payloads that are being run.
        """


@runtime_checkable
class Engine(Protocol):
    """Where sweeps run. Plugins add their own."""

    @property
    def id(self) -> str:
        """What users type with ``--engine``."""

    @property
    def label(self) -> str:
        """A few words for help texts."""

    def pools(self, request: EngineRequest) -> Mapping[Pool, int]:
        """Return how many workers each pool has at most, without starting or asking anything.

        :raises CkprofError: the settings are wrong, or something that the engine needs is not installed.
        """

    def open(self, request: EngineRequest) -> EngineSession:
        """Start whatever takes payloads; workers may come later.

        :raises CkprofError: as :meth:`pools`.
        """


#: seconds that an engine may take for one payload of a trial
_TRIAL_S: Final = 60.0


def echo(payload: bytes, slot: Slot) -> bytes:
    """Return a payload backwards: the least that a worker can run."""
    del slot
    return payload[::-1]


def trials(samples: Samples, engine: Engine) -> Trials:
    """Yield the trials of an engine: one payload."""
    yield "runs a payload", lambda: _echoed(samples, engine)


def _echoed(samples: Samples, engine: Engine) -> str:
    from ckprof.testing.contract import CannotTry

    request = EngineRequest(handler=f"{__name__}:echo", embedded=True, folder=samples.folder)
    try:
        session = engine.open(request)
    except UsageError as exc:
        raise CannotTry(str(exc)) from None
    try:
        answer = session.submit(Pool.RUN, b"payload").result(timeout=_TRIAL_S)
    except FutureTimeout:
        raise PluginError(f"no answer within {_TRIAL_S:g} s") from None
    except CkprofError:
        raise
    except Exception as exc:
        raise PluginError(f"the worker was lost: {exc}") from exc
    finally:
        session.close(now=True)
    if answer != b"daolyap":
        raise PluginError(f"answered {answer!r}, expected b'daolyap'")
    return f"{session.slots(Pool.RUN)} workers"


ENGINES: Final = Kind[Engine]("engine", Engine, f"{__name__}:trials")
