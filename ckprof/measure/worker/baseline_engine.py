"""What a baseline implements in its worker process, and how the worker gets hold of it.

The engine is imported by that process alone: libraries that take seconds to load, or that hold a device,
never get into the process that the user has started.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from types import ModuleType

    from ckprof.model.computation import Computation
    from ckprof.model.requirement import UnmetRequirement


class BaselineUnusable(Exception):
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
    path = Path(source)
    if path.suffix != ".py":
        return importlib.import_module(source)
    spec = importlib.util.spec_from_file_location(f"ckprof_baseline_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
