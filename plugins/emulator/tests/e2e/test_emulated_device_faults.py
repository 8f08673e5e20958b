"""What becomes of runs and sweeps when the emulated device fails: out of memory, hang, fault, abort.

A load of arguments is taken out of the compiled kernel, so that it reads through an address that is none.
"""

import json
import os
import subprocess
import sys

import pytest

from ckprof.model.outcome import Status
from ckprof.store.store import Store
from plugins.emulator.tests.e2e.conftest import PROBLEM, TARGET
from tests.e2e.catalogs import write_catalog

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

#: of the kernel, not of what computes the reference or checks results
NO_ADDRESS = {"CKPROF_EMULATED_OMIT": "s_load_dwordx8:1:2d_compv1"}


@pytest.fixture
def two_kernels(tmp_path):
    return write_catalog(tmp_path / "two.json", "forward", [{"pipeline": "compv1"}, {"pipeline": "mem"}])


@pytest.fixture
def run(ckprof):
    """Run kernels on a device; return exit code, and status and reason of each kernel by its pipeline."""

    def outcomes(catalog, device, *more, problem=PROBLEM, env=None):
        called = ckprof(
            *("run", "fwd", "--conf", catalog, *TARGET, "--device", device, "--problem", problem),
            *("--format", "json", "--max-time", "0", *more),
            env=env,
            timeout=1200,
        )
        assert called.code in (0, 1), called.err
        report = json.loads(called.out)
        (answer,) = report["problems"]
        pipelines = ("compv1", "mem")
        found = {
            pipelines[one["instance"]]: (one["status"], one.get("reason") or "") for one in answer["outcomes"]
        }
        return called.code, found

    return outcomes


def test_out_of_memory(run, catalog):
    code, found = run(catalog, "emulated:memory=5000")
    status, reason = found["compv1"]
    assert (code, status) == (1, "unsupported")
    assert "not enough memory: target hip cannot allocate" in reason


def test_a_hang_within_the_budget(run, catalog):
    code, found = run(catalog, "emulated:budget=200")
    status, reason = found["compv1"]
    assert (code, status) == (1, "run_error")
    assert "no end after" in reason
    assert "of kernel" in reason and "compv1" in reason


def test_a_hang_without_a_budget_ends_by_the_time_limit(run, catalog):
    """The device says nothing then: the process is killed."""
    long = "convfp16 -n 64 -c 256 -H 56 -W 56 -k 256 -y 3 -x 3 -p 1 -q 1 -F 1"
    options = ("--timeout", "4", "--no-verify", "--check", "all")
    code, found = run(catalog, "emulated:budget=0", *options, problem=long)
    status, _ = found["compv1"]
    assert (code, status) == (1, "run_timeout")


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("emulated:faults=error", "memory access fault: read of"),
        ("emulated:faults=abort", "memory access fault: read of"),
    ],
)
def test_a_memory_fault(run, catalog, device, message):
    code, found = run(catalog, device, env=NO_ADDRESS)
    status, reason = found["compv1"]
    assert (code, status) == (1, "run_error")
    assert message in reason
    assert "buffer_load" in reason and "compv1" in reason


def test_an_abort_that_is_injected(run, catalog):
    code, found = run(catalog, "emulated", env={"CKPROF_EMULATED_FAIL": "hipLaunchKernel:2:abort"})
    status, reason = found["compv1"]
    assert (code, status) == (1, "run_error")
    assert "SIGABRT" in reason and "Memory access fault by GPU node-1" in reason


LAUNCH = """
import sys
from pathlib import Path
from ckprof.measure.worker.abi import CBuffers, CProblem, Library
from ckprof_plugins.directions._convolution.problem import ConvProblem

problem = ConvProblem(
    groups=1, batch=1, out_channels=24, in_channels=40, filter=(3, 3), input=(5, 7), strides=(1, 1),
    dilations=(1, 1), left_pads=(1, 1), right_pads=(1, 1),
)
library = Library.load(Path(sys.argv[1]))
library.target.select_device("gfx942", 0)
elements = (problem.input_elements, problem.weight_elements, problem.output_elements)
sizes = [2 * count for count in elements]
sizes[2] -= int(sys.argv[2])
buffers = CBuffers.of(*map(library.target.allocate, sizes))
(kernel,) = library.kernels.values()
status, reason, _ = kernel.run(CProblem.of(problem, 1), buffers)
print(status.name, reason)
"""


@pytest.mark.parametrize(
    ("missing", "answer"), [(0, "OK"), (1, "the last of them past the end of an allocation")]
)
def test_the_memory_of_a_launch_is_checked_by_the_byte(ckprof, catalog, missing, answer):
    """A result of one byte less than the kernel writes."""
    built = ckprof("build", "fwd", "--conf", catalog, *TARGET, "--device", "emulated", timeout=1200).ok()
    called = subprocess.run(
        [sys.executable, "-c", LAUNCH, built.out.strip(), str(missing)],
        env={**os.environ, "CKPROF_EMULATED_CHECKS": "bounds"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert answer in called.stdout + called.stderr


@pytest.mark.slow
@pytest.mark.parametrize("faults", ["error", "abort"])
def test_the_next_kernel_runs_in_a_worker_of_its_own(run, two_kernels, faults):
    code, found = run(two_kernels, f"emulated:faults={faults}", env=NO_ADDRESS)
    assert code == 1
    assert found["compv1"][0] == "run_error"
    assert found["mem"] == ("ok", "")


@pytest.mark.slow
@pytest.mark.parametrize("faults", ["error", "abort"])
def test_a_sweep_goes_on(ckprof, two_kernels, tmp_path, faults):
    store = tmp_path / "results.db"
    command = (
        *("sweep", "fwd", "--conf", two_kernels, *TARGET, "--device", f"emulated:faults={faults}"),
        *("--problem", PROBLEM, "--store", store, "--min-rounds", "1", "--max-rounds", "1"),
    )
    called = ckprof(*command, env=NO_ADDRESS, timeout=1200)
    assert called.code == 1, called.err
    with Store(store) as opened:
        found = {attempt.kernel.name: (attempt.status, attempt.reason) for attempt in opened}
    failed = next(value for name, value in found.items() if "compv1" in name)
    assert failed[0] is Status.RUN_ERROR
    assert "memory access fault" in failed[1]
    assert next(value for name, value in found.items() if "2d_mem" in name)[0] is Status.OK
    # without the fault, what failed is tried again when asked to, and nothing else
    ckprof(*command, "--retry-failed", timeout=1200).ok()
