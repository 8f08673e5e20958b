"""What a worker does for its parent, without a process: the library's kernels are Python objects."""

import ctypes
import math

import msgspec
import numpy as np
import pytest

from ckprof.measure.options import RunOptions, timing_settings
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.worker.abi import DeviceError, DeviceRejectedError, LibraryError
from ckprof.measure.worker.guards import CHUNK_BYTES, GUARD_BYTE, GUARD_BYTES
from ckprof.measure.worker.messages import AbiStatus, Answer, Fault, Support, SupportQuery, encode_call
from ckprof.measure.worker.remote import CallFailed, RemoteLibrary
from ckprof.measure.worker.sampling import KernelFailure
from ckprof.measure.worker.session import KernelSession, timed_run
from ckprof.model.computation import Rounding, Tolerance
from ckprof.model.device import EVENT_CLOCK, DeviceIdentity
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions.fwd import Forward
from tests.cases import Cases

from ..device_checks import ON_DEVICE, SCALE, CheckedWorker
from ..fakes import ScaleDirection, make_problem
from ..local_worker import KEY, HostLibrary, HostTarget, LocalLine

QUICK = RunOptions(warmup=2, min_samples=3, max_time_s=5.0, flush_bytes=2**22)


class Kernel:
    """Writes ones, and takes as long as it says."""

    def __init__(self, time_ms=0.5, status=AbiStatus.OK, reason="", workspace_bytes=0):
        self.time_ms, self.status, self.reason = time_ms, status, reason
        self.workspace_bytes, self.seen = workspace_bytes, []

    def is_supported(self, problem):
        return Support(status=AbiStatus.OK, split_k=problem.split_k, workspace_bytes=self.workspace_bytes)

    def instance_string(self):
        return self.status, self.reason

    def run(self, problem, buffers, launches=1):
        result = (ctypes.c_float * 192).from_address(buffers.tensors[2])
        # was it poisoned before?
        self.seen.append(math.isnan(result[0]))
        result[:] = (1.0,) * 192
        return self.status, self.reason, self.time_ms


def served(kernel=None, target=None, **library):
    """Return a worker in this process, and its session."""
    shared = np.empty(CHUNK_BYTES, dtype=np.uint8)
    session = KernelSession(shared)
    session._opened = HostLibrary(kernel or Kernel())
    if target is not None:
        session._opened.target = target
    return RemoteLibrary(LocalLine(session, shared)), session


@pytest.fixture
def prepared(tmp_path):
    return prepare_problem(
        ScaleDirection(), make_problem(), find_layout("nhwgc"), DataType.FP32, QUICK, tmp_path
    )


def test_what_makes_no_sense_or_fails_is_a_fault_not_an_end():
    def raising(error):
        session = KernelSession(None)

        def fail():
            raise error

        session.describe = fail
        return session

    expected = {
        KernelSession(None): (Fault.CALL, "ValueError: the first call must open a library"),
        raising(LibraryError("gone")): (Fault.LIBRARY, "gone"),
        raising(DeviceRejectedError("busy")): (Fault.DEVICE, "busy"),
        raising(DeviceError("lost")): (Fault.DEVICE, "DeviceError: lost"),
        raising(KeyError("x")): (Fault.CALL, "KeyError: 'x'"),
        raising(OSError("no file")): (Fault.CALL, "OSError: no file"),
        raising(MemoryError()): (Fault.CALL, "MemoryError: "),
    }  # fmt: skip
    with Cases() as cases:
        for session, (fault, reason) in expected.items():
            with cases.case(reason):
                answer = msgspec.json.decode(session.answer(encode_call("describe", (), {})), type=Answer)
                assert (answer.fault, answer.reason) == (fault, reason)
    with pytest.raises(ZeroDivisionError):
        raising(ZeroDivisionError()).answer(encode_call("describe", (), {}))


def test_nothing_runs_without_a_problem_or_a_kernel_of_that_key(prepared):
    remote, _ = served()
    for call in (lambda: remote.run(1.0, KEY, 1, 0), lambda: remote.copy_out(1.0, "input", 0, 1)):
        with pytest.raises(CallFailed, match="ValueError: no problem is loaded"):
            call()
    with pytest.raises(CallFailed, match="ValueError: the device has no reference"):
        remote.check(1.0, Tolerance(rtol=0, atol=0), (Rounding.NEAREST,))
    assert remote.load(1.0, prepared.request) is None
    with pytest.raises(CallFailed, match="the kernel library has no kernel with key other") as failed:
        remote.run(1.0, "other", 1, 0)
    assert failed.value.fault is Fault.LIBRARY
    assert remote.instance_string(1.0, "other") == (
        *(AbiStatus.FAILED, "the library has no kernel with key other"),
    )


def test_tensors_hold_what_was_loaded_and_kernels_find_poison(prepared):
    kernel = Kernel()
    remote, session = served(kernel)
    remote.load(1.0, prepared.request)
    size = prepared.tensors[0].size_bytes
    raw = remote.copy_out(1.0, "input", -GUARD_BYTES, GUARD_BYTES + size)
    assert (raw[:GUARD_BYTES] == GUARD_BYTE).all()
    assert np.array_equal(raw[GUARD_BYTES:].view(np.float32), prepared.tensors[0].values[0:192])
    assert remote.run(1.0, KEY, 1, 0) == (AbiStatus.OK, "", 0.5)
    assert (remote.copy_out(1.0, "output", 0, 768).view(np.float32) == 1).all()
    remote.run(1.0, KEY, 1, 0)
    assert kernel.seen == [True, True]
    held = len(session._library.target._blocks)
    remote.load(1.0, prepared.request)
    assert len(session._library.target._blocks) == held


def test_a_run_ends_as_the_launcher_says_and_its_time_is_one(prepared):
    expected = {
        Kernel(0.5, AbiStatus.REJECTED, "no grid"): (AbiStatus.REJECTED, "no grid"),
        Kernel(0.5, AbiStatus.FAILED, "bad launch"): (AbiStatus.FAILED, "bad launch"),
        Kernel(0.0): (AbiStatus.FAILED, "the launcher reported a duration of 0.0 ms"),
        Kernel(math.nan): (AbiStatus.FAILED, "the launcher reported a duration of nan ms"),
    }
    for kernel, said in expected.items():
        remote, _ = served(kernel)
        remote.load(1.0, prepared.request)
        assert remote.run(1.0, KEY, 1, 0) == (*said, 0.0)
        with pytest.raises(KernelFailure, match=said[1]):
            timed_run(kernel, None, _buffers(remote, prepared))
    with pytest.raises(KernelFailure, match="failed in a timed run: no reason given"):
        timed_run(Kernel(1.0, AbiStatus.FAILED), None, _buffers(remote, prepared))


def _buffers(remote, prepared):
    return remote._line._session._tensors.buffers


def sampled(remote, timing=None, first_ms=0.5):
    return remote.sample(1.0, KEY, 1, timing or timing_settings(QUICK), first_ms, 0.001, None)


def test_samples_are_taken_after_warmup_with_poison_and_flushes(prepared):
    kernel, flushed = Kernel(), []

    class Target(HostTarget):
        def flush_cache(self, size_bytes):
            flushed.append(size_bytes)

    remote, _ = served(kernel, Target())
    remote.load(1.0, prepared.request)
    found = sampled(remote)
    assert (found.samples_ms, found.warmup, found.flush_bytes) == ((0.5,) * 3, 2, 2**22)
    # the first launch and the first sample find no result of runs before
    assert kernel.seen == [False, False, True, False, False]
    assert flushed == [2**22] * 4 and found.audit.launches == 0
    kernel.status, kernel.reason = AbiStatus.FAILED, "third time unlucky"
    assert sampled(remote) == "failed in a timed run: third time unlucky"


@pytest.mark.parametrize(("fitting", "used"), [(2**22, 2**22), (2**21, 2**21), (2**20, 2**20), (2**19, 0)])
def test_half_as_much_is_flushed_until_there_is_memory(prepared, fitting, used):
    asked = []

    class Target(HostTarget):
        def flush_cache(self, size_bytes):
            asked.append(size_bytes)
            if size_bytes > fitting:
                raise MemoryError

    remote, _ = served(target=Target())
    remote.load(1.0, prepared.request)
    assert sampled(remote).flush_bytes == used
    failed = [size for size in asked if size > fitting]
    assert sampled(remote).flush_bytes == used
    assert [size for size in asked if size > fitting] == failed, "what does not fit is known"


def test_flushing_gives_its_memory_to_a_problem_that_needs_it(prepared):
    class Target(HostTarget):
        full = True

        def allocate(self, size_bytes):
            if self.full:
                raise MemoryError("full")
            return super().allocate(size_bytes)

        def flush_cache(self, size_bytes):
            self.full = size_bytes > 0 and self.full

    remote, _ = served(target=Target())
    assert remote.load(1.0, prepared.request) is None


def test_a_workspace_must_fit_beside_the_one_there_is(prepared):
    class Target(HostTarget):
        def available_bytes(self):
            return 2**31

    kernel = Kernel(workspace_bytes=3 * 2**30)
    remote, _ = served(kernel, Target())
    remote.load(1.0, prepared.request)
    queries = (SupportQuery(make_problem(), 4),)
    (answer,) = remote.support(1.0, KEY, queries)
    assert (answer.status, answer.split_k) == (AbiStatus.REJECTED, 4)
    text = "the kernel needs a workspace of 3.0 GiB, 2.0 GiB of memory are available"
    assert answer.unmet_requirements == (UnmetRequirement(rule="workspace", message=text),)
    # 1 GiB is there already, which leaves 2 to be allocated
    remote.run(1.0, KEY, 1, 2**30)
    assert remote.support(1.0, KEY, queries)[0].status is AbiStatus.OK
    kernel.workspace_bytes += 1
    assert remote.support(1.0, KEY, queries)[0].status is AbiStatus.REJECTED


def test_a_device_without_checks_makes_no_reference(tmp_path):
    given = Forward(), SCALE, find_layout("nhwgc"), DataType.FP32, ON_DEVICE, tmp_path
    remote, _ = served()
    with pytest.raises(CallFailed, match="the library's target does not verify on its device"):
        remote.load(1.0, prepare_problem(*given, can_check=True).request)


def test_a_text_is_there_or_why_there_is_none():
    said = {
        Kernel(status=AbiStatus.OK, reason="Kernel<1>"): (AbiStatus.OK, "Kernel<1>"),
        Kernel(status=AbiStatus.FAILED, reason="none"): (AbiStatus.FAILED, "none"),
        Kernel(status=AbiStatus.FAILED): (AbiStatus.FAILED, "the kernel gave no text and no reason"),
        Kernel(status=AbiStatus.OK): (AbiStatus.OK, ""),
    }
    for kernel, expected in said.items():
        assert served(kernel)[0].instance_string(1.0, KEY) == expected


@pytest.mark.parametrize(("available", "size"), [(None, 2**30), (2**40, 2**30), (2**20, 2**17)])
def test_a_peak_is_measured_with_an_eighth_of_the_memory_at_most(available, size):
    remote, session = served()
    session._opened.target.available_bytes = lambda: available
    asked = []
    session._opened.measure_peak = lambda *given: asked.append(given) or 5.0
    assert remote.measure_peak(1.0, DataType.FP16, 2**30, 0.25) == 5.0
    assert asked == [(DataType.FP16, size, 0.25)]


def test_short_kernels_are_launched_in_a_row_where_the_device_measures(prepared):
    for clock, launches in ((EVENT_CLOCK, True), ("wall", False)):
        target = HostTarget()
        target.identify_device = lambda clock=clock: DeviceIdentity(model="one", clock=clock)
        remote, _ = served(Kernel(0.004), target)
        remote.load(1.0, prepared.request)
        warm = timing_settings(RunOptions(min_samples=3, max_time_s=5.0, flush_bytes=0))
        assert (sampled(remote, warm, 0.004).launches > 1) is launches


@pytest.mark.parametrize(
    ("memory_bytes", "available", "rule"),
    [
        (0, None, "memory"),
        (2**30, None, "device-memory"),
        # nobody else holds much of it; others do; it is too small for the problem
        (2**30, 0.95 * 2**30, "device-memory"),
        (2**30, 2**20, "memory-in-use"),
        (2**10, 0, "device-memory"),
    ],
)
def test_memory_of_the_device_is_told_apart(checks, tmp_path, monkeypatch, memory_bytes, available, rule):
    worker = CheckedWorker(checks)

    def allocate(self, size_bytes):
        raise MemoryError("none left")

    identity = DeviceIdentity(model="one", memory_bytes=memory_bytes)
    monkeypatch.setattr(HostTarget, "allocate", allocate)
    monkeypatch.setattr(HostTarget, "identify_device", lambda self: identity)
    monkeypatch.setattr(HostTarget, "available_bytes", lambda self: available)
    prepared = prepare_problem(
        Forward(), SCALE, find_layout("nhwgc"), DataType.FP32, ON_DEVICE, tmp_path, can_check=True
    )
    lacking = worker.remote.load(1.0, prepared.request)
    assert lacking == UnmetRequirement(rule=rule, message="none left")
