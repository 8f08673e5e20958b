"""Candidates on a GPU, by a driver and a torch that are neither: memory of two processes, seen when."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ckprof.measure.worker.guards import GUARD_BYTE
from ckprof.python_child import module_folders
from ckprof_plugins.judge.cuda_driver import Gpu, GpuError, written_files
from ckprof_plugins.judge.gpu_stage import ALIGNMENT, GpuStage

FAKE = Path(__file__).parent / "fake_gpu"
RIGHT = "def candidate(a, b):\n    return a @ b.swapaxes(-1, -2)\n"
#: name -> source, verdict and a part of the evidence
CANDIDATES = {
    "right": (RIGHT, "right", ""),
    "keeps-a-result": (
        "kept = []\ndef candidate(a, b):\n    kept.append(a @ b.swapaxes(-1, -2))\n    return kept[0]\n",
        "dishonest",
        "it returns the result of that launch",
    ),
    "no-tail": (
        RIGHT + "def cut(a, b):\n    out = candidate(a, b)\n    out.array[..., 33:] = 0\n    return out\n",
        "wrong",
        "elements differ",
    ),
    "writes-an-operand": (
        RIGHT + "def cut(a, b):\n    out = candidate(a, b)\n    a.array[...] = 0\n    return out\n",
        "wrong",
        "it wrote its operand a",
    ),
}


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """The folder of a library that is called as NVIDIA's driver is."""
    compiler = shutil.which("g++") or shutil.which("clang++-19") or pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("driver")
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, str(FAKE / "libcuda.cpp"), "-o", str(folder / "libcuda.so.1")], check=True)
    # a candidate may not read what is beside the judge
    shutil.copy(FAKE / "torch.py", folder)
    return folder


@pytest.fixture
def gpu(driver):
    return Gpu(0, str(driver / "libcuda.so.1"))


@pytest.mark.compiler
def test_there_is_no_such_gpu(driver):
    with pytest.raises(GpuError, match="there is no device 1, the driver sees 1 GPUs"):
        Gpu(1, str(driver / "libcuda.so.1"))
    with pytest.raises(GpuError, match="no driver of NVIDIA GPUs"):
        Gpu(0, str(driver / "none"))


@pytest.mark.compiler
@pytest.mark.parametrize("size", [4, 512, 70_000, 1 << 16])
@pytest.mark.parametrize("at_end", [False, True])
def test_a_tensor_is_seen_between_publishing_and_wiping_alone(gpu, size, at_end):
    stage = GpuStage(gpu, size, writable=True, at_end=at_end)
    other = gpu.imported(stage.descriptor, size, writable=True)
    seen = np.zeros(other.size_bytes, np.uint8)

    def look():
        gpu.copy_to_host(seen.ctypes.data, other.address, seen.size)
        return seen[stage.offset : stage.offset + size]

    assert stage.offset % ALIGNMENT == 0
    assert (seen.size - stage.offset - size < ALIGNMENT) if at_end else stage.offset == 0
    assert (look() == GUARD_BYTE).all()
    values = np.arange(size, dtype=np.uint32).astype(np.uint8)
    stage.fill(values.ctypes.data)
    stage.upload()
    assert (look() == GUARD_BYTE).all()
    stage.publish()
    assert (look() == values).all() and not stage.is_changed()
    # what the other writes, the tensor or what is behind it
    gpu.fill(other.address + stage.offset, 7, 1)
    assert stage.is_changed() and stage.tensor[0] == values[0]
    behind = seen.size - stage.offset - size
    gpu.fill(other.address + stage.offset + size, 9, min(1, behind))
    stage.take()
    gpu.fill(other.address + stage.offset, 8, 1)
    stage.fetch()
    assert stage.tensor[0] == 7 and (stage.tensor[1:] == values[1:]).all()
    private = np.full(2 * (1 << 18) + size, GUARD_BYTE, np.uint8)
    stage.copy_with_rest(private.ctypes.data + (1 << 18))
    assert private[1 << 18] == 7 and private[(1 << 18) + size] == (9 if behind else GUARD_BYTE)
    stage.wipe()
    assert (look() == GUARD_BYTE).all()
    other.close()
    stage.close()


@pytest.mark.compiler
def test_threads_have_the_same_gpu(gpu):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(gpu.synchronize).result()
        memory = pool.submit(gpu.allocated, 5).result()
    os.close(memory.descriptor)
    memory.close()


@pytest.mark.compiler
def test_too_much_memory_is_said(gpu):
    with pytest.raises(MemoryError, match="the GPU has no memory left"):
        gpu.allocated(1 << 31)


@pytest.mark.compiler
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("right", False),
        ("right", True),
        *(pytest.param(name, False, marks=pytest.mark.slow) for name in CANDIDATES if name != "right"),
        # others are no different where memory cannot be read alone
        pytest.param("writes-an-operand", True, marks=pytest.mark.slow),
    ],
)
def test_candidates_are_judged(ckprof, driver, tmp_path, monkeypatch, name, writes):
    source, verdict, evidence = CANDIDATES[name]
    if name == "writes-an-operand" and not writes:
        evidence = "wrote an operand"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    monkeypatch.syspath_prepend(str(driver))
    if writes:
        monkeypatch.setenv("FAKE_GPU_WRITES", "1")
    file = tmp_path / "candidate.py"
    file.write_text(source)
    function = "cut" if "def cut" in source else "candidate"
    what = (
        "judge",
        "gemm",
        f"{file}:{function}",
        "--problem",
        "24x40x64",
        "--dtype",
        "fp32",
        "--device",
        "0",
    )
    called = ckprof(*what, "--budget", "6s", "--format", "json")
    said = json.loads(called.out or json.dumps({"error": called.err}))
    assert said.get("verdict") == verdict, said
    assert called.code == (verdict != "right") and evidence in str(said["finding"])
    if verdict == "right":
        assert said["judge"]["device"].endswith("a GPU that is none") and said["times"]


@pytest.mark.parametrize("source", ['ARRAYS = "numpy"\n' + RIGHT])
@pytest.mark.compiler
def test_numpy_has_nothing_on_a_gpu(ckprof, driver, tmp_path, monkeypatch, source):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    monkeypatch.syspath_prepend(str(driver))
    file = tmp_path / "candidate.py"
    file.write_text(source)
    called = ckprof("judge", "gemm", str(file), "--problem", "24x40x64", "--dtype", "fp32", "--device", "0")
    assert called.code == 3 and "numpy has no arrays on a GPU" in called.err


_PROGRAM = """
import sys, threading
from pathlib import Path
from ckprof_plugins.judge.confine import confine
from ckprof_plugins.judge.cuda_driver import written_files
below = Path(sys.argv[1])
print(confine(written_files(below)))
over = threading.Event()
thread = threading.Thread(target=over.wait)
thread.start()
for name in [f"/proc/self/task/{thread.native_id}/comm", *sys.argv[2:]]:
    try:
        with (below / name).open("r+b", 0) as file:
            file.write(b"named")
        print("yes")
    except OSError:
        print("no")
over.set()
"""


def test_what_a_gpu_needs_can_be_written_and_nothing_else(tmp_path):
    ours = ["nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps/nvidia-cap1"]
    others = ["nvme0", "nvidia-other", "kmsg"]
    (tmp_path / "nvidia-caps").mkdir()
    for name in (*ours, *others):
        (tmp_path / name).write_bytes(b"")
    assert written_files(tmp_path) == [*sorted(str(tmp_path / name) for name in ours), "/proc/self/task"]
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path), *ours, *others],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(module_folders())},
    )
    isolation, *answers = ended.stdout.splitlines()
    if not isolation:
        pytest.skip("this kernel has no Landlock")
    # names of threads as well: the driver gives its own some
    assert answers == ["yes", *["yes"] * len(ours), *["no"] * len(others)]
