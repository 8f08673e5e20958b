"""``ckprof run --baseline``: a library of a plugin beside the kernels, from the command to the report."""

import json

import pytest

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

SMALL = "conv -n 1 -c 16 -H 10 -W 10 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1"

PLUGIN = """
import ctypes, time
import numpy as np
from ckprof import hookimpl
from ckprof.model.problem_types import problem_from
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof.measure.verify.storage import decode, encode, storage_type
from ckprof_plugins.directions.fwd import Forward

class Numpy:
    id = "numpy"
    label = "ckprof's own reference"
    entry = __file__ + ":Engine"

    def missing(self):
        return MISSING

@hookimpl
def ckprof_register(registry):
    registry.add(Numpy())

class Engine:
    operations = ("fwd",)

    def __init__(self, device, on_host):
        self.description = "numpy " + np.__version__
        self.blocks = {}

    def allocate(self, size):
        block = ctypes.create_string_buffer(size)
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def release(self, address):
        del self.blocks[address]

    def copy_to_device(self, device, host, size):
        ctypes.memmove(device, host, size)

    copy_to_host = copy_to_device

    def flush_cache(self, size): ...

    def available_bytes(self):
        return None

    def unmet_requirements(self, work):
        return []

    def run(self, work, addresses):
        tensors = {}
        for view in work.tensors:
            kind = storage_type(view.dtype)
            size = int(np.prod(view.lengths)) * kind.itemsize
            raw = (ctypes.c_char * size).from_address(addresses[view.name])
            tensors[view.name] = np.frombuffer(raw, dtype=kind).reshape(view.lengths)
        dtype = work.tensors[-1].dtype
        start = time.perf_counter()
        operands = {name: decode(tensors[name], dtype) for name in ("input", "weight")}
        result = Forward().reference(problem_from(work.problem), find_layout(work.layout), operands)
        tensors["output"][...] = encode(result, dtype)
        return (time.perf_counter() - start) * 1e3
"""


def plugin(folder, missing=""):
    path = folder / "vendor.py"
    path.write_text(f"MISSING = {missing!r}\n{PLUGIN}")
    return path


def test_a_baseline_is_a_row_and_every_time_has_a_ratio(ckprof, short_list, tmp_path):
    called = ckprof(
        *("run", "fwd", "--conf", short_list, "--instance", "1", "--problem", SMALL, "--max-time", "0.02"),
        *("--plugin", plugin(tmp_path), "--baseline", "numpy", "--json", "r.json"),
    ).ok()
    assert "vs numpy" in called.out and "baseline numpy: numpy " in called.out
    problem = json.loads((tmp_path / "r.json").read_text())["problems"][0]
    (own,) = problem["baselines"]
    assert own["status"] == "ok" and own["verification"]["passed"]
    (row,) = problem["outcomes"]
    expected = own["measurement"]["time_ms"] / row["measurement"]["time_ms"]
    assert row["ratios"]["numpy"] == pytest.approx(expected)


def test_what_cannot_be_compared_is_said_before_anything_is_built(ckprof, short_list, tmp_path):
    arguments = ("run", "fwd", "--conf", short_list, "--problem", SMALL, "--plugin")
    there, absent = plugin(tmp_path), tmp_path / "absent"
    absent.mkdir()
    ckprof(*arguments, there, "--baseline", "nunpy").fails_with(2, "'nunpy'", "numpy")
    gone = plugin(absent, "numpy is not installed")
    ckprof(*arguments, gone, "--baseline", "numpy").fails_with(5, "baseline numpy: numpy is not installed")
    ckprof("run", "--tree", tmp_path, "--baseline", "torch").fails_with(2, "--baseline and --tree")
    planned = ckprof(*arguments, there, "--baseline", "numpy", "--dry-run")
    assert "and compare them with numpy" in planned.out
