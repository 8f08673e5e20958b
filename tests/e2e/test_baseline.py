"""``--baseline`` and ``--epilogue-cost``: what stands beside the kernels, from the command to the report."""

import csv
import json

import pytest

from ckprof.store.store import Store

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


FUSED = "forward/bias_clamp/tests/nhwgc_fp16"
PLAIN = "2 1 2 16 16 3 3 8 8 1 1 1 1 1 1 1 1"
ASKED = f"{PLAIN} --elementwise-op bias_clamp,ceiling=0.25"
QUICK = ("--rounds", "3", "--passes", "1", "--max-time", "0.02")


def test_both_sides_are_run_verified_stored_and_shown(ckprof, tmp_path):
    called = ckprof(
        *(
            "run",
            "fwd",
            "--conf",
            FUSED,
            "--instance",
            "8,13",
            "--problem",
            ASKED,
            "--problem",
            PLAIN,
            *QUICK,
        ),
        *("--epilogue-cost", "--store", "r.db", "--json", "r.json", "-o", "csv=r.csv"),
    )
    # on the last problem no kernel runs: what is fused was not asked for
    assert called.code == 1, called.err
    fused, beside, other = json.loads((tmp_path / "r.json").read_text())["problems"]
    assert {cost["key"] for cost in fused["epilogue_costs"]} == {one["key"] for one in fused["outcomes"]}
    assert {cost["unfused_key"] for cost in fused["epilogue_costs"]} == {
        one["key"] for one in beside["outcomes"]
    }
    for problem, count in ((fused, 2), (beside, 2)):
        assert [one["verification"]["passed"] for one in problem["outcomes"]] == [True] * count
        assert [one["standing"]["taken"] for one in problem["outcomes"]] == [3] * count
    for cost in fused["epilogue_costs"]:
        assert 0 < cost["ratio_low"] <= cost["ratio"] <= cost["ratio_high"]
        # input 2*16*64, weight 16*16*9, result and bias 2*16*64 each
        assert cost["bytes_share"] == pytest.approx(2048 / (3 * 2048 + 2304))
    assert {one["status"] for one in other["outcomes"]} == {"unsupported"}
    assert "epilogue_costs" not in beside and "epilogue_costs" not in other
    assert called.out.count("without [ms]") == 1
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert sum(bool(row["epilogue_ratio"]) for row in rows) == 2
    with Store(tmp_path / "r.db") as store:
        keys = {(one.key.kernel.instance, one.key.problem.describe()) for one in store if one.ranked}
    assert len({instance for instance, _ in keys}) == len(keys) == 4
    ckprof("compare", "r.db", "r.db", "--format", "json").ok()


def test_a_cost_is_that_of_two_problems(ckprof):
    fused = ("run", "fwd", "--conf", FUSED, "--epilogue-cost", "--dry-run", "--instance", "8")
    assert "and run on 2 problems" in ckprof(*fused, "--problem", ASKED).out


def test_kernels_that_convolve_alone_refuse_problems_that_ask_for_more(ckprof):
    sizes = "2 8 8 1 1 3 3 8 8 1 1 1 1 1 1 1 1"
    called = ckprof(
        *("run", "fwd", "--conf", "forward/tests/ngchw_depthwise", "--instance", "0", "--format", "json"),
        *("--problem", sizes, "--problem", f"{sizes} --elementwise-op bias", *QUICK),
    )
    plain, asked = json.loads(called.out)["problems"]
    assert [one["status"] for one in plain["outcomes"]] == ["ok"]
    (refused,) = asked["outcomes"]
    assert refused["status"] == "unsupported"
    assert "convolution alone" in refused["reason"] and "Add" in refused["reason"]
