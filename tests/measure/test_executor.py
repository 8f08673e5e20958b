import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ckprof.errors import InputError, ToolchainError
from ckprof.events import Level, Message
from ckprof.measure import prepare
from ckprof.measure.executor import Executor
from ckprof.measure.kernel_measurement import KernelMeasurement
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.verify.operands import InitKind
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.measure.workers import DeviceLostError
from ckprof.model.outcome import Status
from ckprof.model.types import DataType
from tests.faults import failing_with
from tests.interrupts import heed_interrupts

from .fakes import ARCH, ScaleDirection, make_instance, make_problem
from .run_instances import IN_ROUNDS, QUICK, run_instances, texts

pytestmark = pytest.mark.compiler


def test_workers_reach_the_target(run):
    _, seen, _ = run(["ok"], options=RunOptions(cpu_threads=3, cache=CacheMode.WARM, max_time_s=0.02))
    assert seen[0].text == "device: fake device, 3 workers"


def test_cold_mode_flushes_and_reports_it(run, monkeypatch):
    sampled, sample = [], RemoteLibrary.sample

    def noted(*given):
        sampled.append(sample(*given))
        return sampled[-1]

    monkeypatch.setattr(RemoteLibrary, "sample", noted)
    options = RunOptions(flush_bytes=2**24, min_samples=5, max_time_s=0.3, keep_samples=True)
    outcomes, seen, _ = run(["ok"], options=options)
    assert not any(event.level is Level.WARNING for event in seen if isinstance(event, Message))
    (timed,) = sampled
    assert timed.flush_bytes == 2**24 and 0 < timed.flush_s <= timed.wall_s
    assert len(outcomes[0].measurement.samples_ms) == outcomes[0].measurement.samples >= 5


@pytest.mark.parametrize(("whole", "launched"), [("3", True), ("16", False)])
def test_a_workspace_that_others_have_taken_is_no_property_of_the_kernel(run, monkeypatch, whole, launched):
    monkeypatch.setenv("FAKE_MEMORY_GIB", whole)
    (outcome,), _, _ = run(["wants_workspace"])
    assert outcome.launched is launched
    assert outcome.status is (Status.UNSUPPORTED if launched else Status.RUN_ERROR)
    assert ("others use the device's memory now" in outcome.reason) is not launched


def test_too_large_for_the_target(run, monkeypatch):
    monkeypatch.setattr(prepare, "check_memory", lambda *_: None)
    big = make_problem(size=2048, batch=5)
    options = RunOptions(rounds=1, verify=False, init=InitKind.ZEROS, max_time_s=0.02)
    outcomes, seen, _ = run(["ok", "ok"], [big], options)
    assert [outcome.status for outcome in outcomes] == [Status.UNSUPPORTED] * 2
    assert "not enough memory: target fake cannot allocate 84410368" in outcomes[0].reason
    assert not texts(seen, "worker lost: ")


def test_what_ends_a_run_at_once(run, monkeypatch):
    with pytest.raises(ToolchainError, match="there is no device 0 of architecture other"):
        run(["ok"], arch="other")
    monkeypatch.setenv("FAKE_DIE_AT_START", "1")
    with pytest.raises(ToolchainError, match=r"cannot be used: .*SIGABRT"):
        run(["ok"])


def test_workers_that_no_longer_start_end_the_run(library, tmp_path, monkeypatch):
    options = RunOptions(rounds=1, max_time_s=0.02, cache=CacheMode.WARM)
    direction = ScaleDirection()
    instances = [make_instance("ok"), make_instance("segfault")]
    results = run_instances(library, ARCH, direction, instances, [make_problem()], options, lock_dir=tmp_path)
    assert next(results).status is Status.OK
    monkeypatch.setenv("FAKE_DIE_AT_START", "1")
    # not an outcome of the kernel in whose time that happened
    with pytest.raises(ToolchainError, match="cannot be used any more"):
        next(results)


#: what fails on this machine -> with what, and what is said
FAULTS = {
    "ckprof.measure.worker.process.subprocess.Popen": (errno.EAGAIN, "temporarily unavailable.*'ulimit -u'"),
    "ckprof.measure.worker.process.os.pipe": (errno.EMFILE, "Too many open files; raise 'ulimit -n'"),
    "ckprof.measure.workers.tempfile.mkdtemp": (errno.ENOSPC, "No space left.*set TMPDIR"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("begun", [False, True])
def test_a_machine_that_cannot_start_workers_ends_the_run_with_a_message(
    library, tmp_path, monkeypatch, fault, begun
):
    given = [make_instance("ok"), make_instance("segfault")], [make_problem()], QUICK
    number, said = FAULTS[fault]
    with monkeypatch.context() as patched:
        results = run_instances(library, ARCH, ScaleDirection(), *given, lock_dir=tmp_path)
        if begun:
            assert next(results).status is Status.OK
        with pytest.raises((ToolchainError, InputError), match=said) as raised:
            patched.setattr(fault, failing_with(number))
            list(results)
    # of the kernel that was in use then there is nothing to remember
    assert not isinstance(raised.value, DeviceLostError)


def test_missing_library(tmp_path):
    executor = Executor(tmp_path / "no.so", arch=ARCH, options=RunOptions(), work_dir=tmp_path)
    with executor, pytest.raises(ToolchainError, match=r"no\.so"):
        executor.open()


@pytest.mark.parametrize("dtype", [DataType.FP16, DataType.BF16])
def test_kernel_of_another_type_is_caught(run, dtype):
    """The fake kernels compute in fp32: on 16-bit tensors they run over the end."""
    outcomes, _, _ = run([make_instance("ok", dtype=dtype)])
    assert outcomes[0].status is Status.WRONG_RESULT


def test_closing_the_generator_ends_the_worker(library, tmp_path):
    results = run_instances(
        library, ARCH, ScaleDirection(), [make_instance("ok")] * 2, [make_problem()], QUICK, lock_dir=tmp_path
    )
    next(results)
    assert worker_processes(os.getpid())
    results.close()
    assert not worker_processes(os.getpid())


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from tests.measure.fakes import *
from tests.measure.run_instances import run_instances
from ckprof.measure.options import RunOptions
for outcome in run_instances(Path(sys.argv[1]), ARCH, ScaleDirection(),
                             [make_instance("ok"), make_instance("hangs")], [make_problem()],
                             RunOptions(rounds=1, max_time_s=0.02),
                             lock_dir=Path(sys.argv[2])):
    print(outcome.status.value, flush=True)
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_parent(library, tmp_path, end):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", SCRIPT, str(library), str(tmp_path), str(root)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=heed_interrupts
    ) as parent:
        assert parent.stdout.readline() == b"ok\n"
        time.sleep(0.2)
        (worker,) = worker_processes(parent.pid)
        parent.send_signal(end)
        parent.wait(30)
        gone, alive = psutil.wait_procs([worker], timeout=30)
    assert gone and not alive


def worker_processes(parent_pid):
    return [
        child
        for child in psutil.Process(parent_pid).children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and "ckprof.measure.worker.child" in child.cmdline()
    ]


@pytest.mark.parametrize("when", ["before", "beside a kernel that fails", "beside a kernel that works"])
def test_a_lost_device_ends_the_run_and_is_no_outcome(start, tmp_path, monkeypatch, when):
    lost = tmp_path / "lost"
    monkeypatch.setenv("FAKE_LOST", str(lost))
    found = []
    if when == "before":
        lost.touch()
        outcomes, _ = start(["ok", "prints"])
    else:
        last = "segfault" if "fails" in when else "prints"
        outcomes, _ = start(["ok", last], replace(IN_ROUNDS, rounds=1))
        found.append(next(outcomes))
        lost.touch()
    with pytest.raises(
        ToolchainError, match="cannot be used any more: a problem could not be loaded: DeviceError"
    ) as raised:
        found.extend(outcomes)
    # of a kernel that was in use it is remembered, of others there is nothing to remember
    beside = isinstance(raised.value, DeviceLostError)
    assert beside is ("beside" in when)
    if beside:
        assert raised.value.outcome.key == last and not raised.value.outcome.launched
        assert raised.value.outcome.reason.startswith("the device failed beside this kernel, ")
    assert [one.key for one in found] == ["ok"] * (when != "before")
    if when == "before":
        lost.unlink()
        found = list(start(["ok", "segfault"], replace(IN_ROUNDS, rounds=1))[0])
        assert {one.key: (one.status, one.launched) for one in found} == {
            "ok": (Status.OK, True),
            "segfault": (Status.RUN_ERROR, True),
        }


def test_an_abort_is_measured_again_once(start):
    """Runtimes of devices abort where they know no other way: that may pass."""
    outcomes, seen = start(["aborts", "ok"], replace(IN_ROUNDS, rounds=1))
    first, last = outcomes
    assert first.status is Status.RUN_ERROR and "SIGABRT" in first.reason
    assert last.status is Status.OK
    assert len(seen.losses) == 2


def test_a_crash_is_not_repeated_with_more_launches(start, monkeypatch):
    """Those are for what is wrong now and then; what dies in its first launch dies in the next one."""
    requests = []

    class Noted(KernelMeasurement):
        def __init__(self, library, prepared, request):
            requests.append(request)
            super().__init__(library, prepared, request)

    monkeypatch.setattr("ckprof.measure.executor.KernelMeasurement", Noted)
    list(start(["aborts", "wrong", "ok"], replace(IN_ROUNDS, rounds=1))[0])
    attempts = {key: [one for one in requests if one.key == key] for key in ("aborts", "wrong")}
    assert [one.suspected for one in attempts["aborts"]] == [False, False]
    assert len({one.timing.min_samples for one in attempts["aborts"]}) == 1
    # alone in its worker there is nobody else to blame
    assert [one.suspected for one in attempts["wrong"]] in ([False], [False, True])
