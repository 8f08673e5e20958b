"""A kernel library whose device is the fake HIP runtime in ``fake_hip``."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import ckprof.kernels
import ckprof_plugins.targets.hip

HERE = Path(__file__).parent / "fake_hip"
ABI_FOLDER = Path(ckprof.kernels.__file__).parent / "abi"
RUNTIME = Path(ckprof_plugins.targets.hip.__file__).parent / "src" / "target.cpp"
FLAGS = ("-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def build():
    """The command that compiles and links for the fake runtime."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    return (compiler, *FLAGS, f"-I{HERE}", f"-I{ABI_FOLDER}")


@pytest.fixture(scope="session")
def amdhip(build, tmp_path_factory):
    """The fake runtime."""
    library = tmp_path_factory.mktemp("amdhip") / "libamdhip64.so"
    subprocess.run([*build, str(HERE / "fake_hip.cpp"), "-o", str(library)], check=True, timeout=120)
    return library


@pytest.fixture(scope="session")
def hip_library(build, amdhip, tmp_path_factory):
    """The hip target's own runtime source and a few kernels, linked against the fake runtime."""
    library = tmp_path_factory.mktemp("hip") / "libkernels.so"
    folder = amdhip.parent
    linked = ["-Wl,-z,defs", f"-L{folder}", f"-Wl,-rpath,{folder}", "-lamdhip64", "-o", str(library)]
    sources = [str(HERE / "kernels.cpp"), str(RUNTIME)]
    subprocess.run([*build, *sources, *linked], check=True, timeout=120)
    return library


@pytest.fixture(autouse=True)
def visible_devices(monkeypatch):
    """Leave the choice of devices to the test."""
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def topology(tmp_path):
    """Return a function that writes the driver's description of a machine."""

    def write(*versions):
        for index, version in enumerate(versions):
            node = tmp_path / "nodes" / str(index)
            node.mkdir(parents=True)
            simds = 0 if version == 0 else 1216
            text = f"cpu_cores_count 8\nsimd_count {simds}\nsimd_per_cu 4\ngfx_target_version {version}\n"
            text += f"unique_id {1234 + index - (versions[0] == 0)}\n"
            (node / "properties").write_text(text)
        return tmp_path / "nodes"

    return write
