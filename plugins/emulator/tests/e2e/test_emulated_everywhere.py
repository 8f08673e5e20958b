"""The emulated device wherever devices can be named: engines, tune, programs, Python, stores."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ckprof.kernels
import ckprof_plugins.directions._convolution
from ckprof.store.store import Store
from plugins.emulator.tests.e2e.conftest import PROBLEM, TARGET
from tests.e2e.catalogs import write_catalog

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

ONE_ROUND = ("--min-rounds", "1", "--max-rounds", "1")
ABI_FOLDER = Path(ckprof.kernels.__file__).parent / "abi"
C_INTERFACE = next(
    Path(ckprof_plugins.directions._convolution.__file__).parent.rglob("ckprof_conv_api.h")
).parent


@pytest.fixture
def library(ckprof, catalog):
    """The kernel's library: the object comes from the cache that all of these tests share."""
    called = ckprof("build", "fwd", "--conf", catalog, *TARGET, "--device", "emulated", timeout=1200).ok()
    return Path(called.out.strip())


def sweep(ckprof, catalog, store, *more, device="emulated"):
    return ckprof(
        *("sweep", "fwd", "--conf", catalog, *TARGET, "--device", device, "--problem", PROBLEM),
        *("--store", store, *ONE_ROUND, *more),
        timeout=1200,
    )


def test_a_sweep_on_the_local_engine(ckprof, catalog, tmp_path):
    store = tmp_path / "results.db"
    sweep(ckprof, catalog, store, "--engine", "local", device="emulated:seed=5,check=bounds").ok()
    with Store(store) as opened:
        (device,) = opened.devices()
    assert device.model == "emulated gfx942, gfx942"
    assert device.is_emulated
    assert device.host.endswith("seed=5,check=bounds")
    # settings reach the processes that run kernels, too
    called = sweep(ckprof, catalog, tmp_path / "small.db", "--engine", "local", device="emulated:memory=5000")
    assert called.code == 1, called.err
    with Store(tmp_path / "small.db") as opened:
        assert ["not enough memory" in (attempt.reason or "") for attempt in opened] == [True]


@pytest.mark.slow
def test_a_sweep_on_parsl_with_a_build_pool(ckprof, tmp_path):
    """The pool compiles the kernel, which the cache must not have: it is another one."""
    catalog = write_catalog(tmp_path / "one.json", "forward", [{"pipeline": "compv1", "vector_size_c": 4}])
    settings = tmp_path / "cluster.toml"
    settings.write_text(
        'engine = "parsl"\n[pools.build]\nprovider = "local"\nworkers = 1\n'
        '[pools.run]\nprovider = "local"\ngpus = 1\n'
    )
    store = tmp_path / "results.db"
    # the object comes from the pool's own cache, the emulator from the one that all tests share
    called = sweep(ckprof, catalog, store, "--cluster", settings).ok()
    assert "left to this machine" not in called.err
    with Store(store) as opened:
        (device,) = opened.devices()
    assert device.is_emulated


def test_stores_of_emulated_times(ckprof, catalog, tmp_path):
    store, checked = tmp_path / "results.db", tmp_path / "checked.db"
    for path, device in ((store, "emulated"), (checked, "emulated:check=bounds")):
        sweep(ckprof, catalog, path, device=device).ok()
    # resumed: nothing is measured again
    called = sweep(ckprof, catalog, store, "--dry-run").ok()
    assert "left: 0 of 1 ranking" in called.out
    compared = ckprof("compare", store, checked)
    # other conditions: whatever the verdict, it is not one of the kernels
    assert "device.host" in compared.out
    assert compared.code in (0, 1), compared.err
    model = tmp_path / "model.json"
    # a model needs more problems; what it would be of is read before
    trained = ckprof("train", store, "--direction", "fwd", "--dtype", "fp16", "-o", model)
    assert trained.code == 3, trained.err


@pytest.mark.slow
def test_tune(ckprof, catalog, tmp_path):
    ckprof(
        *("tune", "fwd", "--conf", catalog, *TARGET, "--device", "emulated", "--problem", PROBLEM),
        *("--store", tmp_path / "tuned.db", *ONE_ROUND),
        timeout=1200,
    ).ok()
    with Store(tmp_path / "tuned.db") as opened:
        assert [device.is_emulated for device in opened.devices()] == [True]


PYTHON = """
import sys
import numpy as np
import ckprof

problem = ckprof.Problem.parse("2 1 1 24 40 3 3 5 7 1 1 1 1 1 1 1 1", direction="fwd")
generator = np.random.default_rng(1)
operands = {
    "input": generator.integers(-4, 5, (1, 5, 7, 1, 40)).astype(np.float16),
    "weight": generator.integers(-4, 5, (1, 24, 3, 3, 40)).astype(np.float16),
}
library = ckprof.ConvLibrary(sys.argv[1])
result = library.run(problem, operands).output
padded = np.pad(operands["input"][0, :, :, 0].astype(float), ((1, 1), (1, 1), (0, 0)))
weight = operands["weight"][0].astype(float)
expected = np.zeros((5, 7, 24))
for y in range(3):
    for x in range(3):
        expected += padded[y : y + 5, x : x + 7] @ weight[:, y, x].T
assert np.array_equal(result.reshape(5, 7, 24), expected), abs(result.reshape(5, 7, 24) - expected).max()
print(library.describe_device())
"""


def test_a_library_in_python(library, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PYTHON)
    done = subprocess.run(
        [sys.executable, script, library], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("emulated gfx942")


def test_what_doctor_says(ckprof):
    called = ckprof("doctor")
    assert "emulated device" in called.out
    assert "compiled (headers:" in " ".join(called.out.split())


def test_a_program_that_links_a_library(library, tmp_path):
    """No variable is set: the library finds the emulated device by itself."""
    source = Path(__file__).with_name("linked_program.cpp")
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    headers = (f"-I{ABI_FOLDER}", f"-I{C_INTERFACE}")
    linked = (str(library), f"-Wl,-rpath,{library.parent}", "-o", str(tmp_path / "program"))
    subprocess.run([compiler, "-std=c++20", "-Wall", *headers, str(source), *linked], check=True, timeout=300)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert done.stdout.startswith("emulated gfx942")
    assert done.stdout.endswith("right\n")


@pytest.mark.slow
def test_the_tree_that_programs_embed(ckprof, catalog, tmp_path):
    """Compiles the kernel again: CMake does not share ckprof's cache."""
    tree = tmp_path / "tree"
    called = ckprof(
        *("build", "fwd", "--conf", catalog, *TARGET, "--device", "emulated", "--link", "--build-dir", tree),
        timeout=1200,
    ).ok()
    called = ckprof(
        "call", "fwd", called.out.strip(), "--problem", PROBLEM, "--device", "emulated:seed=2", timeout=600
    ).ok()
    assert json.loads(called.out)["verified"]
