from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from ckprof.errors import InputError, PluginError, ToolchainError
from ckprof.events import Level, Message
from ckprof.measure import bench, prepare
from ckprof.measure.executor import Executor
from ckprof.measure.host import last_level_cache_bytes
from ckprof.measure.options import CacheMode, RunOptions, timing_settings
from ckprof.measure.prepare import InsufficientMemoryError
from ckprof.measure.verify.operands import InitKind
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.measure.workers import DeviceLostError
from ckprof.model.outcome import Status
from ckprof.model.types import DataType
from tests.faults import failing_with
from tests.interrupts import heed_interrupts

from .fakes import ARCH, ScaleDirection, make_instance, make_problem
from .run_instances import run_instances

pytestmark = pytest.mark.compiler

QUICK = RunOptions(rounds=1, timeout_s=2.0, max_time_s=0.02, cache=CacheMode.WARM)


@pytest.fixture
def run(library, tmp_path, monkeypatch):
    """Call ``run_instances`` with defaults; return outcomes, events and direction."""
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "work"))

    def call(kernels, problems=None, options=QUICK, direction=None, arch=ARCH):
        direction = direction or ScaleDirection()
        instances = [make_instance(kernel) if isinstance(kernel, str) else kernel for kernel in kernels]
        seen = []
        outcomes = list(
            run_instances(
                library,
                arch,
                direction,
                instances,
                problems or [make_problem()],
                options,
                seen.append,
                lock_dir=tmp_path,
            )
        )
        assert list((tmp_path / "work").iterdir()) == []
        return outcomes, seen, direction

    return call


def texts(seen, start=""):
    """Return the messages among events that begin so."""
    return [event.text for event in seen if isinstance(event, Message) and event.text.startswith(start)]


def test_operands_and_reference_are_computed_once_per_problem_layout_and_type(run):
    instances = [
        make_instance("ok"),
        make_instance("segfault"),
        make_instance("ok", layout="ngchw"),
        make_instance("ok"),
    ]
    outcomes, seen, direction = run(instances, [make_problem(8), make_problem(5)])
    prepared = [text for text in texts(seen, "problem ") if " operands and reference in " in text]
    assert direction.references == 2 * len(prepared) == 8
    assert [outcome.problem_index for outcome in outcomes] == [0] * 4 + [1] * 4
    assert [outcome.status.value for outcome in outcomes[:4]] == ["ok", "run_error", "ok", "ok"]
    # each crash is tried once more in a worker that has run nothing else
    assert len(texts(seen, "worker lost: ")) == 4


def test_events_of_a_run(library, tmp_path):
    begun, seen, given = [], [], (library, ARCH, ScaleDirection(), [make_instance("ok")])
    before = lambda problem, index: begun.append((problem, index))  # noqa: E731
    list(
        run_instances(*given, [make_problem()], QUICK, seen.append, lock_dir=tmp_path, before_problem=before)
    )
    device, operands, timed, progress = seen
    assert device == Message("device: fake device, 0 workers", Level.DETAIL)
    assert operands.text.startswith("problem 0: fp32 nhwgc operands and reference in ")
    assert timed.text.startswith("round 1: ") and timed.text.endswith(" ms ok")
    assert {operands.level, timed.level} == {Level.DETAIL}
    assert (progress.done, progress.total, progress.name) == (1, 1, "ok")
    assert begun == [(make_problem(), 0)]


def test_workers_reach_the_target(run):
    _, seen, _ = run(["ok"], options=RunOptions(cpu_threads=3, cache=CacheMode.WARM, max_time_s=0.02))
    assert seen[0].text == "device: fake device, 3 workers"


def test_a_problem_of_other_dimensions_is_unsupported(run):
    outcomes, _, direction = run(["ok", make_instance("ok", layout="ndhwgc")], [make_problem(ndim=3)])
    assert [outcome.status for outcome in outcomes] == [Status.UNSUPPORTED, Status.OK]
    assert outcomes[0].reason == "a kernel for 2D problems, this one is 3D"
    assert direction.references == 2


def test_without_verification(run):
    options = RunOptions(rounds=1, verify=False, max_time_s=0.02, cache=CacheMode.WARM)
    outcomes, _, direction = run(["ok", "wrong", "writes_after", "changes_input"], options=options)
    assert direction.references == 0
    assert [outcome.status.value for outcome in outcomes] == ["ok", "ok", "wrong_result", "wrong_result"]
    assert outcomes[0].verification is None and outcomes[0].measurement is not None


def test_all_zero_operands_verify(run):
    outcomes, _, _ = run(["ok", "wrong"], options=RunOptions(rounds=1, init=InitKind.ZEROS, max_time_s=0.02))
    assert [outcome.status.value for outcome in outcomes] == ["ok", "wrong_result"]


def test_without_memory_for_exact_operands_the_run_goes_on_and_says_so(run, monkeypatch):
    prepare = bench.prepare_problem

    def limited(*given, exact=None, **further):
        if exact is not None:
            raise InsufficientMemoryError("the tensors need about 9.0 GiB of memory, 1.0 GiB are available")
        return prepare(*given, exact=exact, **further)

    monkeypatch.setattr(bench, "prepare_problem", limited)
    outcomes, seen, _ = run(["ok", "wrong"], options=RunOptions(rounds=1, max_time_s=0.02))
    assert [outcome.status.value for outcome in outcomes] == ["ok", "wrong_result"]
    assert all("need about 9.0 GiB" in outcome.one_set for outcome in outcomes)
    (warning,) = texts(seen, "ok on problem ")
    assert warning == (
        "ok on problem 0 is checked with one set of operands only, not with exact ones as well: "
        "the tensors need about 9.0 GiB of memory, 1.0 GiB are available"
    )


def test_exact_operands_leave_no_tolerance(run):
    outcomes, _, _ = run(
        ["ok", "wrong"], options=RunOptions(rounds=1, init=InitKind.EXACT, splits=(64,), max_time_s=0.02)
    )
    assert [outcome.status.value for outcome in outcomes] == ["ok", "wrong_result"]
    for outcome in outcomes:
        assert outcome.verification.rtol == outcome.verification.atol == 0


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


def test_flush_exceeds_the_cache_of_a_device():
    device = RunOptions(last_level_cache_bytes=256 * 2**20)
    assert timing_settings(device).flush_bytes > 256 * 2**20
    assert timing_settings(RunOptions(last_level_cache_bytes=2**28, flush_bytes=0)).flush_bytes == 0


def test_flush_exceeds_the_last_level_cache():
    assert timing_settings(RunOptions()).flush_bytes == 2 * last_level_cache_bytes()
    assert timing_settings(RunOptions(cache=CacheMode.WARM)).flush_bytes == 0


def test_split_k_is_recorded(run):
    outcomes, _, _ = run(
        ["ok", "segfault", make_instance("ok", layout="ndhwgc")], options=RunOptions(splits=(4, -1))
    )
    assert Counter(outcome.split_k for outcome in outcomes if not outcome.split_k_deduced) == {4: 3}
    # the fake kernels choose 7, also the one that then crashes; the one of other dimensions is not asked
    assert Counter(outcome.split_k for outcome in outcomes if outcome.split_k_deduced) == {7: 2, -1: 1}


def test_a_workspace_that_does_not_fit_is_unsupported(run):
    (outcome,), _, _ = run(["wants_workspace"])
    assert outcome.status is Status.UNSUPPORTED
    assert outcome.unmet_requirements[0].rule == "workspace"
    assert outcome.reason == ("the kernel needs a workspace of 3.0 GiB, 2.0 GiB of memory are available")


@pytest.mark.parametrize(("whole", "launched"), [("3", True), ("16", False)])
def test_a_workspace_that_others_have_taken_is_no_property_of_the_kernel(run, monkeypatch, whole, launched):
    monkeypatch.setenv("FAKE_MEMORY_GIB", whole)
    (outcome,), _, _ = run(["wants_workspace"])
    assert outcome.launched is launched
    assert outcome.status is (Status.UNSUPPORTED if launched else Status.RUN_ERROR)
    assert ("others use the device's memory now" in outcome.reason) is not launched


def test_too_large_for_memory(run, monkeypatch):
    monkeypatch.setattr(prepare.psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    outcomes, _, direction = run(["ok", "ok"])
    assert [outcome.status for outcome in outcomes] == [Status.UNSUPPORTED] * 2
    assert "of memory, 0.0 GiB are available" in outcomes[0].reason
    assert direction.references == 0


def test_too_large_for_the_target(run, monkeypatch):
    monkeypatch.setattr(prepare, "check_memory", lambda *_: None)
    big = make_problem(size=2048, batch=5)
    options = RunOptions(rounds=1, verify=False, init=InitKind.ZEROS, max_time_s=0.02)
    outcomes, seen, _ = run(["ok", "ok"], [big], options)
    assert [outcome.status for outcome in outcomes] == [Status.UNSUPPORTED] * 2
    assert "not enough memory: target fake cannot allocate 84410368" in outcomes[0].reason
    assert not texts(seen, "worker lost: ")


def test_unknown_device_ends_the_run_at_once(run):
    with pytest.raises(ToolchainError, match="there is no device 0 of architecture other"):
        run(["ok"], arch="other")


def test_library_that_crashes_at_start_ends_the_run_at_once(run, monkeypatch):
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


@pytest.mark.parametrize("name", ["save", "unnamed"])
def test_a_full_scratch_folder_ends_the_run_with_a_message(run, monkeypatch, name):
    where = prepare.np if name == "save" else prepare.StoredFile
    monkeypatch.setattr(where, name, failing_with(errno.ENOSPC))
    with pytest.raises(
        ToolchainError, match="operands cannot be written: No space left on device; free some"
    ):
        run(["ok"])


def test_missing_library(tmp_path):
    executor = Executor(tmp_path / "no.so", arch=ARCH, options=RunOptions(), work_dir=tmp_path)
    with executor, pytest.raises(ToolchainError, match=r"no\.so"):
        executor.open()


class MisshapenDirection(ScaleDirection):
    def reference(self, problem, layout, operands):
        return super().reference(problem, layout, operands).reshape(-1)


def test_broken_reference_is_the_plugins_error(run):
    with pytest.raises(PluginError, match=r"has shape \(192,\), expected \(3, 8, 8, 1, 1\)"):
        run(["ok"], direction=MisshapenDirection())


@pytest.mark.parametrize("dtype", [DataType.FP16, DataType.BF16])
def test_kernel_of_another_type_is_caught(run, dtype):
    """The fake kernels compute in fp32: on 16-bit tensors they run over the end."""
    outcomes, _, _ = run([make_instance("ok", dtype=dtype)])
    assert outcomes[0].status is Status.WRONG_RESULT


def test_closing_the_generator_ends_the_worker(library, tmp_path):
    results = run_instances(
        library,
        ARCH,
        ScaleDirection(),
        [make_instance("ok")] * 2,
        [make_problem()],
        QUICK,
        lock_dir=tmp_path,
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
