"""A baseline in a worker process: an engine that is served as if it were a library with one kernel.

So operands, guards, poison, flushes, sampling and verification are the very ones of kernels.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ckprof.files import module_of_file
from ckprof.measure.worker.abi import Library, LibraryError
from ckprof.measure.worker.messages import AbiStatus, Support
from ckprof.model.computation import Computation
from ckprof.model.requirement import UnmetRequirement

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from types import ModuleType
    from typing import Any

    from ckprof.measure.worker.abi import CBuffers, CProblem
    from ckprof.measure.worker.device_checks import DeviceChecks
    from ckprof.measure.worker.messages import BaselineSource, DeviceChoice
    from ckprof.model.device import DeviceIdentity
    from ckprof.model.types import DataType


class BaselineUnusable(LibraryError):
    """The library is not installed, or cannot use the device; the message says what to do."""


class BaselineRejection(Exception):
    """The library has found while it computed that it cannot do this; the message says why."""


class BaselineEngine(Protocol):
    """A library of somebody else that computes what operations are, in memory that it provides.

    Memory is named by its address, and an address may lie anywhere inside of a piece.
    """

    @property
    def description(self) -> str:
        """Library, versions and device in one line."""

    def allocate(self, size_bytes: int) -> int:
        """Return the address of new memory of the device.

        :raises MemoryError: there is not enough.
        """

    def release(self, address: int) -> None:
        """Give a piece of memory back."""

    def copy_to_device(self, device: int, host: int, size_bytes: int) -> None:
        """Copy from host memory to memory of the device, both given by address."""

    def copy_to_host(self, host: int, device: int, size_bytes: int) -> None:
        """Copy from memory of the device to host memory, both given by address."""

    def flush_cache(self, size_bytes: int) -> None:
        """Evict the caches by touching that many bytes; 0 frees the memory for that.

        :raises MemoryError: there is not that much.
        """

    def available_bytes(self) -> int | None:
        """Return how much memory can still be allocated, or ``None`` if that is not known."""

    @property
    def operations(self) -> Collection[str]:
        """Ids of the operations that it computes."""

    def unmet_requirements(self, work: Computation) -> list[UnmetRequirement]:
        """Return why the library cannot compute this; empty if it can.

        :param work: of one of :attr:`operations`.
        """

    def run(self, work: Computation, addresses: Mapping[str, int]) -> float:
        """Compute the result once.

        Whatever the library does beyond its computation, such as a copy of the result to where it belongs, is
        not part of the time.

        :param work: as in :meth:`unmet_requirements`.
        :param addresses: of the computation's tensors, by name.
        :returns: milliseconds, by the device's own clock where it has one.
        :raises BaselineRejection: the library cannot do this.
        :raises Exception: it failed; the text is the reason.
        """


@runtime_checkable
class SteppingEngine(Protocol):
    """An engine that computes what follows a sum of products in several steps, and stores each."""

    def roundings(self, work: Computation) -> int:
        """Return how often a sum is rounded to the type of the result until it is an element of it.

        :param work: one without unmet requirements.
        """


def load_engine(entry: str) -> object:
    """Return what makes an engine.

    :param entry: ``module:function``, or ``path/of/a/file.py:function``.
    :raises BaselineUnusable: there is no such module or function, or it cannot be imported.
    """
    source, _, name = entry.rpartition(":")
    try:
        return getattr(_module(source), name)
    except (ImportError, AttributeError, OSError) as exc:
        raise BaselineUnusable(f"{entry} cannot be loaded: {exc}") from exc


def _module(source: str) -> ModuleType:
    if Path(source).suffix == ".py":
        return module_of_file(Path(source), "ckprof_baseline")
    return importlib.import_module(source)


class EngineKernel:
    """The part of an engine that computes, as a kernel."""

    def __init__(self, id_: str, engine: BaselineEngine) -> None:
        self.key = self.name = id_
        self._engine = engine
        self._work: Computation | None = None
        self._tensors: tuple[str, ...] = ()

    def set_work(self, work: Computation, tensors: tuple[str, ...]) -> None:
        """Compute this from now on.

        :param tensors: names, in the order in which kernels take them.
        """
        self._work, self._tensors = work, tensors

    def is_supported(self, problem: CProblem) -> Support:
        """Say what the library cannot do."""
        work, engine = self._loaded_work(), self._engine
        if work.operation not in engine.operations:
            message = f"{self.name} has nothing for the operation {work.operation}"
            unmet = [UnmetRequirement(rule="baseline-operation", message=message)]
        else:
            unmet = engine.unmet_requirements(work)
        if unmet:
            return Support(status=AbiStatus.REJECTED, unmet_requirements=tuple(unmet), split_k=1)
        roundings = int(engine.roundings(work)) if isinstance(engine, SteppingEngine) else 0
        return Support(status=AbiStatus.OK, split_k=1, roundings=roundings)

    def instance_string(self) -> tuple[AbiStatus, str]:
        """Return nothing: there is no such text."""
        return AbiStatus.FAILED, "a baseline has no instance string"

    def run(self, problem: CProblem, buffers: CBuffers, launches: int = 1) -> tuple[AbiStatus, str, float]:
        """Run once; return the status, its reason and the time in milliseconds."""
        addresses = {name: int(buffers.tensors[position]) for position, name in enumerate(self._tensors)}
        try:
            return AbiStatus.OK, "", float(self._engine.run(self._loaded_work(), addresses))
        except BaselineRejection as exc:
            return AbiStatus.REJECTED, f"baseline-library: {exc}", 0.0
        except Exception as exc:  # whatever the library raises is the outcome
            return AbiStatus.FAILED, f"{type(exc).__name__}: {exc}", 0.0

    def _loaded_work(self) -> Computation:
        if self._work is None:
            raise ValueError("no problem is loaded")
        return self._work


class EngineLibrary:
    """An engine as a library with one kernel.

    :raises LibraryError: the engine cannot be used.
    """

    info = None
    #: a baseline is launched once per sample, by whatever clock
    identity: DeviceIdentity | None = None

    def __init__(self, source: BaselineSource, device: DeviceChoice) -> None:
        try:
            make: Any = load_engine(source.entry)
            engine: BaselineEngine = make(device, source.on_host)
            self.description = engine.description
        except BaselineUnusable:
            raise
        except Exception as exc:  # a broken installation must be a message, not a traceback
            raise LibraryError(f"{type(exc).__name__}: {exc}") from exc
        self.checks = _checks_of(source, device)
        self.target = engine
        self.kernel = EngineKernel(source.id, engine)
        self.kernels = {source.id: self.kernel}

    def measure_peak(self, dtype: DataType | None, size_bytes: int, seconds: float) -> float:
        """Return 0: nobody measures it with an engine."""
        return 0.0

    def units_used(self) -> tuple[str, ...]:
        """Return nothing: an engine does not say it."""
        return ()


def _checks_of(source: BaselineSource, device: DeviceChoice) -> DeviceChecks | None:
    """Return what verifies results on the engine's device: functions of the kernels' library.

    The engine's memory is theirs as well: both use the process's one context of the device.
    """
    if not source.checks or source.on_host:
        return None
    try:
        library = Library.load(Path(source.checks))
        built_for = library.info.arch if library.info else ""
        library.target.select_device(device.arch or built_for, device.index)
    except LibraryError:
        return None
    return library.checks
