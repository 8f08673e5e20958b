"""Kernels on a GPU that want to be taken for faster, or for more right, than they are: each is found."""

import re
import shutil
import subprocess

import pytest

from ckprof.measure.options import CacheMode, RunOptions
from ckprof.model.outcome import DEVICE_REFERENCE, Status

from .fakes import ABI_FOLDER, ARCH, HERE, make_instance, make_problem
from .run_instances import run_instances
from .test_cheats import TIME, WRONG, Scaling

HONEST = ("honest", "honest_atomics", "honest_side_stream")
CHEATS = {
    "flaky_1_in_3": WRONG,
    "flaky_1_in_50": WRONG,
    "first_three_calls": WRONG,
    "cached_by_pointer": WRONG,
    "cached_by_samples": WRONG,
    "side_stream_unseen": f"{WRONG}|{TIME}",
    "side_stream_settled": TIME,
    "computes_when_poisoned": WRONG,
    "patched_events": TIME,
}


def build(folder):
    """Compile the kernels."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc")
    library = folder / "libcheats.so"
    flags = ["-std=c++20", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", f"-I{ABI_FOLDER}"]
    source = HERE / "cheating_device_library.cu"
    subprocess.run([nvcc, *flags, str(source), "-o", str(library)], check=True, timeout=300)
    return library


@pytest.mark.thorough
@pytest.mark.compiler
def test_they_compile(tmp_path):
    assert build(tmp_path).stat().st_size > 0


@pytest.fixture(scope="module", params=[CacheMode.COLD, CacheMode.WARM], ids=["cold", "warm"])
def outcomes(request, tmp_path_factory):
    """Each of them on one problem, in one run with the usual options."""
    folder = tmp_path_factory.mktemp("cheats")
    found = run_instances(
        build(folder),
        ARCH,
        Scaling(),
        [make_instance(name) for name in (*HONEST, *CHEATS)],
        [make_problem(size=40, batch=16)],
        RunOptions(cache=request.param),
        lock_dir=folder,
    )
    return {outcome.key: outcome for outcome in found}


@pytest.mark.cuda
@pytest.mark.parametrize("kernel", CHEATS)
def test_a_cheat_is_found(outcomes, kernel):
    outcome = outcomes[kernel]
    assert outcome.status in (Status.WRONG_RESULT, Status.RUN_ERROR), outcome
    assert re.search(CHEATS[kernel], outcome.reason), outcome.reason


@pytest.mark.cuda
@pytest.mark.parametrize("kernel", HONEST)
def test_an_honest_kernel_is_not_refused(outcomes, kernel):
    outcome = outcomes[kernel]
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.verification.reference == DEVICE_REFERENCE
    assert outcome.verification.checked >= 4
