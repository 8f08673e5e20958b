"""A library that is linked with the emulated device or runs on the CPU, in a process that has it for itself.

What kernels read and write is memory of that process: nothing is copied, and a kernel that brings the process
down costs one answer.
"""

from __future__ import annotations

import ctypes
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ckprof.errors import CkprofError, ToolchainError
from ckprof.measure.kernel_library import library_kernels
from ckprof.measure.worker.abi import Library, LibraryError
from ckprof.plugin.manager import installed_registry
from ckprof_plugins.targets.hip.rocm import RUNTIME_LIBRARY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof.plugin.protocols import Operation

_T = TypeVar("_T")

#: what libraries of kernels for the CPU have
_HOST_SAMPLE: Final = "ckprof_host_model_sample"


class OpenedLibrary:
    """The library, and the device that it is linked with; or a library of kernels for the CPU.

    :raises LibraryError: it is not one of ckprof, or it cannot be loaded.
    :raises AttributeError: it is not linked with the device.
    """

    def __init__(self, library: str, arch: str) -> None:
        self.library = Library.load(Path(library))
        info = self.library.info
        if info is None:
            raise LibraryError("not a kernel library of ckprof: it does not say what it holds")
        self.operation: Operation = installed_registry().operation(info.direction)
        self.kernels = {kernel.key: kernel for kernel in library_kernels(self.operation, info)}
        self.arch = arch
        # kernels for the CPU have what executes them in their library
        host = ctypes.CDLL(library)
        self._sample: Any = getattr(host, _HOST_SAMPLE, None)
        self._order: Any = None
        if self._sample is None:
            runtime = ctypes.CDLL(RUNTIME_LIBRARY)
            self._sample, self._order = runtime.ckprof_emulator_sample, runtime.ckprof_emulator_order
        self._sample.restype = ctypes.c_uint64
        self.library.target.select_device(arch, 0)

    def choose(self, *places: float) -> bool:
        """Have launches execute the workgroups at these places; say whether memory was set before."""
        return bool(self._sample((ctypes.c_double * len(places))(*places), ctypes.c_size_t(len(places))))

    def order(self, *, reverse: bool = False, seed: int = 0) -> None:
        """Have launches execute workgroups and waves as they are numbered, the other way round, or as drawn.

        :param seed: not 0: draws the order.
        """
        self._order(ctypes.c_int(reverse), ctypes.c_uint64(seed))


#: of this process
_opened: list[OpenedLibrary] = []


def opened() -> OpenedLibrary:
    """Return the library of this process."""
    return _opened[0]


def _open(library: str, arch: str, variables: Mapping[str, str]) -> str:
    """Load a library in this process; return why that cannot be done, empty if it was."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the process that asked
    os.environ.update(variables)
    try:
        _opened.append(OpenedLibrary(library, arch))
    except (CkprofError, LibraryError, OSError, AttributeError) as error:
        return str(error) or "the library cannot be loaded"
    return ""


class LibraryProcess:
    """Has a process of its own run kernels of a library; a context manager.

    :param library: built for the emulated device, or for the CPU.
    :param arch: what it was built for, with features.
    :param variables: settings of the device, as its ``variables()`` returns them.
    :raises ToolchainError: the library cannot be loaded, or is not linked with the device.
    """

    def __init__(self, library: Path, arch: str, variables: Mapping[str, str] | None = None) -> None:
        self._library = str(library.resolve()), arch, dict(variables or {})
        self._pool = self._start()

    def __enter__(self: _T) -> _T:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:  # the kernel that runs is not waited for
            os.kill(self._process, signal.SIGKILL)
        self._pool.shutdown(cancel_futures=True)

    def _answer(self, ask: Callable[..., _T], *arguments: object, broken: Callable[[str], _T]) -> _T:
        """Return what a function says in the process, or what stands for a process that has ended."""
        try:
            return self._pool.submit(ask, *arguments).result()
        except BrokenProcessPool:
            self._pool = self._start()
            return broken("the kernel ended its process")

    def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(1, get_context("spawn"))
        if why := pool.submit(_open, *self._library).result():
            pool.shutdown()
            raise ToolchainError(f"{self._library[0]}: its kernels cannot be sampled: {why}")
        self._process = pool.submit(os.getpid).result()
        return pool
