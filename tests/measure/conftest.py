import ctypes
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

from ckprof.cli.main import main
from ckprof.measure.worker.device_checks import DeviceChecks
from ckprof_plugins.directions._convolution.layout import find_layout
from tests.convolutions import convolution

from .device_checks import build_checks
from .fakes import ARCH, HERE, ScaleDirection, build_library, find_compiler, make_instance, make_problem
from .run_instances import IN_ROUNDS, QUICK, Kept, run_instances
from .summing_kernels import build_sums

#: a kernel that is named by its fields
HAND = (
    *("--instance-spec", "tile=32x32x16,waves=1x1x1,mma=16x16x16,gemm_pipeline=mem,vectors=1,1,1"),
    *("--arch", "gfx942"),
)

#: a problem for them, as a line of a driver as well
PROBLEM = convolution("2 2 2 4 3 3 3 9 7 2 1 1 1 1 1 1 1")
LINE = "2 2 2 4 3 3 3 9 7 2 1 1 1 1 1 1 1"
LAYOUT = find_layout("nhwgc")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Return a function that compiles something, once for all processes of the session."""
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root

    def once(name, build, *given):
        path = root / f"compiled-{name}" / f"lib{name}.so"
        with FileLock(root / f"{name}.lock"):
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                build(path, *given)
        return path

    return once


@pytest.fixture(scope="session")
def library(compiled):
    """The fake kernel library."""
    return compiled("fake", build_library)


@pytest.fixture(scope="session")
def checking_library(compiled):
    """The fake kernel library with the functions that verify on devices."""
    return compiled("checking", build_library, str(HERE / "plain_checks.cpp"))


@pytest.fixture(scope="session")
def checks(compiled):
    """What devices verify with."""
    found = DeviceChecks.of(ctypes.CDLL(str(compiled("checks", build_checks))))
    assert found is not None
    return found


@pytest.fixture(scope="session")
def sums(compiled):
    """Sums of products as kernels add them up."""
    return ctypes.CDLL(str(compiled("sums", build_sums)))


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Keep the tests' objects out of the user's cache, but let the tests share them."""
    if "CKPROF_CACHE_DIR" not in os.environ:
        os.environ["CKPROF_CACHE_DIR"] = str(tmp_path_factory.getbasetemp().parent / "ckprof-cache")


@pytest.fixture(scope="session")
def fwd_library(tmp_path_factory, cache):
    """Return the path of a library with four forward kernels: 1D and 2D, fp32 and bf16."""
    if not (os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("no C++ compiler found")
    root = tmp_path_factory.mktemp("fwd")
    assert (
        main(["build", "fwd", *HAND, "--ndim", "1,2", "--dtype", "fp32,bf16", "--build-dir", str(root)]) == 0
    )
    return Path(root, "libckprof_conv_fwd.so")


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


@pytest.fixture
def start(library, tmp_path, opened):
    """Return the generator of outcomes, and what a run tells and measures."""

    def call(kernels, options=IN_ROUNDS, problems=None):
        seen = Kept()
        outcomes = run_instances(
            library,
            ARCH,
            ScaleDirection(),
            [make_instance(kernel) for kernel in kernels],
            problems or [make_problem()],
            options,
            seen.emit,
            lock_dir=tmp_path,
            on_open=opened.append,
            recorder=seen,
            pace=seen,
        )
        return outcomes, seen

    return call


@pytest.fixture
def opened():
    """What makes outcomes of the visits of :func:`start`."""
    return []
