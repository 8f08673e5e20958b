"""A worker in this process: its session without pipes, for kernels that are Python objects."""

import ctypes
import time

import numpy as np

from ckprof.measure.kernel_measurement import KernelMeasurement, KernelRequest
from ckprof.measure.options import timing_settings
from ckprof.measure.worker.guards import CHUNK_BYTES
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.measure.worker.session import KernelSession
from ckprof.model.types import SplitSum

KEY = "kernel"


class HostTarget:
    """Target memory in this process."""

    id = "host"

    def __init__(self):
        self._blocks = {}

    def allocate(self, size_bytes):
        block = ctypes.create_string_buffer(size_bytes)
        self._blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def release(self, address):
        del self._blocks[address]

    def copy_to_device(self, device, host, size_bytes):
        ctypes.memmove(device, host, size_bytes)

    copy_to_host = copy_to_device

    def flush_cache(self, size_bytes):
        pass

    def available_bytes(self):
        return None

    def identify_device(self):
        return None


class HostLibrary:
    """A library with one kernel."""

    info = None

    def __init__(self, kernel, checks=None):
        self.target, self.kernels, self.checks = HostTarget(), {KEY: kernel}, checks

    @property
    def identity(self):
        return self.target.identify_device()

    def units_used(self):
        return ()


class LocalLine:
    """Carries requests to a session, through the same text as pipes do."""

    def __init__(self, session, shared):
        self._session = session
        self.shared = shared
        self.waited_s = 0.0

    def ask(self, request, limit_s):
        start = time.monotonic()
        answer = self._session.answer(request)
        self.waited_s += time.monotonic() - start
        return answer

    def check_silence(self):
        pass


def measured(kernel, prepared, options, *, split_k=1, split_sum=SplitSum.RESULT_TYPE, exact=None):
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
