"""A worker in this process: its session without pipes, for kernels that are Python objects."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING

import numpy as np

from ckprof.measure.kernel_measurement import KernelMeasurement, KernelRequest
from ckprof.measure.options import timing_settings
from ckprof.measure.worker.guards import CHUNK_BYTES
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.measure.worker.session import KernelSession
from ckprof.model.types import SplitSum

if TYPE_CHECKING:
    from ckprof.measure.options import RunOptions
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.model.outcome import Outcome

KEY = "kernel"


class HostTarget:
    """Target memory in this process."""

    id = "host"

    def __init__(self) -> None:
        self._blocks: dict[int, ctypes.Array] = {}

    def allocate(self, size_bytes: int) -> int:
        block = ctypes.create_string_buffer(size_bytes)
        self._blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def release(self, address: int) -> None:
        del self._blocks[address]

    def copy_to_device(self, device: int, host: int, size_bytes: int) -> None:
        ctypes.memmove(device, host, size_bytes)

    copy_to_host = copy_to_device

    def flush_cache(self, size_bytes: int) -> None:
        pass

    def available_bytes(self) -> int | None:
        return None

    def identify_device(self):
        return None


class HostLibrary:
    """A library with one kernel."""

    info = None

    def __init__(self, kernel: object, checks: object = None) -> None:
        self.target, self.kernels, self.checks = HostTarget(), {KEY: kernel}, checks

    @property
    def identity(self):
        return self.target.identify_device()

    def units_used(self) -> tuple[str, ...]:
        return ()


class LocalLine:
    """Carries requests to a session, through the same text as pipes do."""

    def __init__(self, session: KernelSession, shared: np.ndarray) -> None:
        self._session = session
        self.shared = shared
        self.waited_s = 0.0

    def ask(self, request: bytes, limit_s: float) -> bytes:
        start = time.monotonic()
        answer = self._session.answer(request)
        self.waited_s += time.monotonic() - start
        return answer

    def check_silence(self) -> None:
        pass


def measured(
    kernel: object,
    prepared: PreparedProblem,
    options: RunOptions,
    *,
    split_k: int = 1,
    split_sum: SplitSum = SplitSum.RESULT_TYPE,
    exact: PreparedProblem | None = None,
) -> Outcome:
    """Measure a kernel that has the methods of :class:`~ckprof.measure.worker.abi.Kernel`."""
    shared = np.empty(CHUNK_BYTES, dtype=np.uint8)
    library = HostLibrary(kernel)
    session = KernelSession(shared)
    session._opened = library
    remote = RemoteLibrary(LocalLine(session, shared))
    assert remote.load(1.0, prepared.request) is None
    request = KernelRequest(
        key=KEY,
        split_k=split_k,
        split_sum=split_sum,
        timing=timing_settings(options),
        own_limit_s=10.0,
        exact=exact,
    )
    return KernelMeasurement(remote, prepared, request).measure()
