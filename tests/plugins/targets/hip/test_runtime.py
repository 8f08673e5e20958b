"""The hip target's runtime on a CPU, against the fake HIP runtime: devices, memory, faults, flushes, time."""

import json
import subprocess
import sys

import numpy as np
import pytest

from ckprof.errors import ToolchainError
from ckprof.events import Level, Message
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.worker.abi import Library, LibraryError
from ckprof.measure.worker.guards import GUARD_BYTES
from ckprof.measure.worker.sampling import PROBE_LAUNCHES, launches_per_sample
from ckprof.model.device import DeviceIdentity
from ckprof.model.outcome import Status
from ckprof_plugins.targets.hip.devices import devices
from tests.cases import Cases
from tests.measure.fakes import ScaleDirection, make_instance, make_problem
from tests.measure.run_instances import run_instances

pytestmark = pytest.mark.compiler

ARCH = "gfx942"
MIB = 1 << 20


@pytest.fixture
def measure(hip_library, tmp_path):
    """Return a function that measures kernels and returns outcomes and events."""

    def call(*kernels, problems=(), **options):
        given = {"rounds": 1, "cache": CacheMode.WARM, "timeout_s": 10.0, "max_time_s": 0.05, **options}
        (tmp_path / "locks").mkdir(exist_ok=True)
        seen = []
        outcomes = run_instances(
            hip_library,
            ARCH,
            ScaleDirection(),
            [make_instance(kernel) for kernel in kernels],
            list(problems) or [make_problem()],
            RunOptions(**given),
            lock_dir=tmp_path / "locks",
            on_event=seen.append,
        )
        return list(outcomes), seen

    return call


def texts(seen):
    return [event.text for event in seen if isinstance(event, Message)]


def losses(seen):
    return [text for text in texts(seen) if text.startswith("worker lost: ")]


def test_a_kernel_is_verified_and_timed_by_events(measure):
    (outcome,), seen = measure("ok")
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.verification.passed
    # 100 us of the device, and the launch that it waits for
    assert outcome.measurement.time_ms == pytest.approx(0.105, abs=1e-6)
    assert (
        texts(seen)[0] == "device: Fake GPU 0 (gfx942:sramecc+:xnack-), 304 compute units at 2100 MHz, 64 MiB"
    )


def test_flushing_is_not_waited_for(measure):
    """A launch that is prepared while the device still writes starts as soon as that is done."""
    (outcome,), _ = measure("ok", cache=CacheMode.COLD, flush_bytes=4 * MIB)
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.measurement.time_ms == pytest.approx(0.100, abs=1e-6)


def test_short_kernels_share_the_launch_latency(measure):
    """12 us of the device behind 5 us of launch: the more launches a sample holds, the less of the latter."""
    (outcome,), _ = measure("brief", warmup=1)
    measured = outcome.measurement
    assert outcome.status is Status.OK, outcome.reason
    # one launch takes 17 us, which may hide a short kernel; a few in a row take less each
    seen_ms = 0.012 + 0.005 / PROBE_LAUNCHES
    assert measured.launches == launches_per_sample(seen_ms, flushed=False) == 16
    assert measured.time_ms == pytest.approx(0.012 + 0.005 / 16, abs=1e-6)


def test_cold_samples_hold_one_launch_which_the_flush_hides(measure):
    (outcome,), _ = measure("brief", cache=CacheMode.COLD, flush_bytes=4 * MIB)
    assert outcome.measurement.launches == 1
    assert outcome.measurement.time_ms == pytest.approx(0.012, abs=1e-6)


def test_the_device_identifies_itself(hip_library):
    library = BenchLibrary(path=hip_library, operation=ScaleDirection(), target="", arch=ARCH, rejections={})
    with KernelBench(library, RunOptions(), lock=None) as bench:
        identity = bench.identity
    assert identity == DeviceIdentity(
        model="Fake GPU 0, gfx942:sramecc+:xnack-",
        driver="6",
        memory_bytes=64 * MIB,
        compute_units=304,
        clock="event",
    )


def test_devices_are_selected_by_index(measure, monkeypatch):
    monkeypatch.setenv("FAKE_HIP_DEVICES", "gfx90a,gfx942")
    (outcome,), seen = measure("ok", device=1)
    assert outcome.status is Status.OK, outcome.reason
    assert any(text.startswith("device: Fake GPU 1 (gfx942)") for text in texts(seen))


@pytest.mark.parametrize(
    ("listed", "device", "message"),
    [
        ("gfx90a,gfx942", 0, "device 0 is gfx90a, the kernels were built for gfx942"),
        ("gfx942,gfx942", 2, "there is no device 2, the last one is 1"),
        ("", 0, "no AMD GPU was found: no ROCm-capable device is detected"),
    ],
)
def test_devices_that_cannot_be_used(measure, monkeypatch, listed, device, message):
    monkeypatch.setenv("FAKE_HIP_DEVICES", listed)
    with pytest.raises(ToolchainError, match=message):
        measure("ok", device=device)


def test_a_fault_costs_the_kernel_that_caused_it(measure):
    (first, faulty, last), seen = measure("ok", "faults", "ok")
    assert (first.status, last.status) == (Status.OK, Status.OK)
    assert faulty.status is Status.RUN_ERROR
    assert faulty.reason == "an illegal memory access was encountered"
    assert losses(seen)


def test_a_fault_that_a_launcher_does_not_notice(measure):
    (first, faulty, last), _ = measure("ok", "faults_quietly", "ok")
    assert (first.status, last.status) == (Status.OK, Status.OK)
    assert faulty.status is Status.RUN_ERROR
    assert "failed to copy from the device: an illegal memory access was encountered" in faulty.reason


def test_a_fault_in_a_timed_run(measure):
    (faulty, last), _ = measure("faults_later", "ok")
    assert faulty.status is Status.RUN_ERROR
    assert faulty.reason == "failed in a timed run: an illegal memory access was encountered"
    assert last.status is Status.OK


def test_an_error_that_a_kernel_before_has_left(measure):
    """Whoever launches next meets it; measured alone, it is not to blame."""
    outcomes, _ = measure("leaves_error", "ok")
    assert outcomes[1].status is Status.OK, outcomes[1].reason


def test_a_problem_that_does_not_fit(measure, monkeypatch):
    monkeypatch.setenv("FAKE_HIP_MEMORY", str(GUARD_BYTES))
    (outcome,), _ = measure("ok")
    assert outcome.status is Status.UNSUPPORTED
    assert outcome.reason.startswith("not enough memory: target hip cannot allocate")


def test_a_device_that_fails_is_not_short_of_memory(measure, monkeypatch):
    monkeypatch.setenv("FAKE_HIP_FAIL", "hipMalloc:1:719")
    with pytest.raises(ToolchainError, match="unspecified launch failure") as error:
        measure("ok")
    assert "not enough memory" not in str(error.value)


#: what fails once while a kernel is alone in its worker: before its launch, beside it, in it, after it
@pytest.mark.parametrize(
    "fails", ["hipMalloc:1:719", "hipMemcpy:3:719", "hipMemcpy:9:719", "hipEventRecord:1:719"]
)
def test_a_device_that_fails_once_says_nothing_of_the_kernel(measure, monkeypatch, tmp_path, fails):
    once = tmp_path / "once"
    once.touch()
    monkeypatch.setenv("FAKE_HIP_FAIL", fails)
    monkeypatch.setenv("FAKE_HIP_ONCE", str(once))
    (outcome,), seen = measure("ok")
    assert not once.exists(), "it did not come to that"
    assert outcome.status is Status.OK, outcome.reason
    assert len(losses(seen)) == 1


def test_memory_that_a_kernel_keeps_is_there_for_the_next_problem(measure):
    problems = [make_problem(size=8), make_problem(size=512)]
    outcomes, _ = measure("keeps_memory", "ok", problems=problems)
    assert [outcome.status for outcome in outcomes if outcome.key == "ok"] == [Status.OK, Status.OK]


def test_a_flush_that_does_not_fit_is_smaller(measure, monkeypatch):
    monkeypatch.setenv("FAKE_HIP_MEMORY", str(8 * MIB))
    (outcome,), seen = measure("ok", cache=CacheMode.COLD, flush_bytes=16 * MIB)
    assert outcome.status is Status.OK, outcome.reason
    (reduced,) = (event for event in seen if isinstance(event, Message) and event.level is Level.WARNING)
    assert reduced.text.startswith("16 MiB to flush the caches") and "4 MiB are used" in reduced.text


def test_lack_of_memory_is_no_error_of_the_next_launch(measure, monkeypatch):
    """The fourth piece of memory is that for the flush."""
    monkeypatch.setenv("FAKE_HIP_FAIL", "hipMalloc:4:2")
    (outcome,), seen = measure("ok", cache=CacheMode.COLD, flush_bytes=4 * MIB)
    assert outcome.status is Status.OK, outcome.reason
    (reduced,) = (event for event in seen if isinstance(event, Message) and event.level is Level.WARNING)
    assert reduced.text.startswith("4 MiB to flush the caches") and "2 MiB are used" in reduced.text


def test_a_flush_makes_room_for_a_problem(measure, monkeypatch):
    """Two tensors of 3 MiB and guards of 1.5 MiB fit only beside no memory for flushing."""
    monkeypatch.setenv("FAKE_HIP_MEMORY", str(8 * MIB))
    problems = [make_problem(size=8), make_problem(size=512)]
    outcomes, seen = measure("ok", cache=CacheMode.COLD, flush_bytes=6 * MIB, problems=problems)
    assert not losses(seen)
    assert [outcome.status for outcome in outcomes] == [Status.OK, Status.OK], outcomes[1].reason


#: variables that choose devices, and the first one that they leave of three
CHOICES = [
    ({"HIP_VISIBLE_DEVICES": "1"}, "gfx90a"),
    ({"HIP_VISIBLE_DEVICES": "1,0"}, "gfx90a"),
    ({"HIP_VISIBLE_DEVICES": "2,2,0"}, "gfx942"),
    ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "1"}, "gfx90a"),
    ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, "gfx950"),
    ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, "gfx942"),
    ({"ROCR_VISIBLE_DEVICES": "2", "HIP_VISIBLE_DEVICES": "5"}, ""),
    ({"ROCR_VISIBLE_DEVICES": ""}, ""),
]
#: prints how processes with the runtime, one for each choice, describe device 0
DESCRIBE = """
import json, os, sys
from pathlib import Path
from ckprof.measure.worker.abi import Library, LibraryError
for variables, arch in json.loads(sys.argv[2]):
    if os.fork():
        os.wait()
        continue
    os.environ.update(variables)
    target = Library.load(Path(sys.argv[1])).target
    try: target.select_device(arch, 0)
    except LibraryError as exc: print(repr(str(exc)), flush=True)
    else: print(repr(target.describe_device()), flush=True)
    os._exit(0)
"""


def test_variables_that_choose_devices(hip_library, topology, monkeypatch):
    """What is listed without the runtime is what the runtime numbers."""
    monkeypatch.setenv("FAKE_HIP_DEVICES", "gfx950,gfx90a,gfx942")
    command = [sys.executable, "-c", DESCRIBE, str(hip_library), json.dumps(CHOICES)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    nodes = topology(90500, 90010, 90402)
    with Cases() as cases:
        for (variables, first), line in zip(CHOICES, done.stdout.splitlines(), strict=True):
            with cases.case(variables), monkeypatch.context() as patched:
                for name, value in variables.items():
                    patched.setenv(name, value)
                found = devices(nodes)
                assert (found[0].arch if found else "") == first
                assert (f"Fake GPU 0 ({first})" if first else "no AMD GPU was found") in line


def test_copies_are_checked(hip_library):
    """The fake runtime itself: bounds, direction and errors that are read once."""
    target = Library.load(hip_library).target
    values = np.arange(64, dtype=np.uint8)
    result = np.zeros_like(values)
    device = target.allocate(64)
    target.copy_to_device(device, values.ctypes.data, 64)
    target.copy_to_host(result.ctypes.data, device, 64)
    assert (result == values).all()
    with pytest.raises(OSError, match="failed to copy from the device: invalid argument"):
        target.copy_to_host(result.ctypes.data, device + 1, 64)
    with pytest.raises(OSError, match="copy to the device: invalid copy direction"):
        target.copy_to_device(device, device, 64)
    with pytest.raises(MemoryError):
        target.allocate(1 << 40)
    with pytest.raises(LibraryError, match="there is no device 7, the last one is 0"):
        target.select_device(ARCH, 7)
    target.release(device)
