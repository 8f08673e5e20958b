"""What bias and clamp cost on an NVIDIA GPU, as ``ckprof run --epilogue-cost`` measures it.

The kernels are those of the other benchmarks with the operation fused to them, in bf16, each beside the same
one without it in the same rounds. Of each case the kernel counts that is the fastest without the operation.
Goals are printed beside what was reached; ratios above the limit fail.

Needs a GPU and nvcc: ``pytest -s plugins/cuda/tests/benchmarks/test_cuda_epilogue.py -m cuda``.
"""

import json

import pytest

from tests.benchmarks.conftest import ckprof_json

from .cuda_cases import CASES, TILES, Case, gemm_record, waves_of

#: bound by memory: an output pixel costs little besides being written
FLAT = {
    "J": Case(batch=128, out_channels=256, in_channels=64, filter=(1, 1), input=(56, 56), pad=0),
    "K": Case(batch=128, out_channels=64, in_channels=256, filter=(1, 1), input=(56, 56), pad=0),
    "L": Case(batch=64, out_channels=128, in_channels=512, filter=(1, 1), input=(28, 28), pad=0),
}
OPERATION = "AddClamp,floor=0,ceiling=6,bias=channel"
#: time with the operation by time without it: what fails, and the goal
LIMIT, GOAL = 1.10, 1.03
#: results of operations are compared on the host, which takes longer than all that is measured here
MEASUREMENT = ("--rounds", "9", "--max-time", "0.1", "--no-verify")


def fused_records():
    """Yield the tiles of the other benchmarks with bias and clamp."""
    tiles = [(tile, pipeline) for tile, pipelines in TILES["fwd"].items() for pipeline in pipelines]
    for number, (tile, pipeline) in enumerate(tiles):
        record = gemm_record(number, tile, pipeline, waves_of(tile))
        yield record | {"elementwise_op": "AddClamp", "d_layouts": "NHWGK"}


def line_of(case):
    """Return a problem line with the operation."""
    p = case.problem
    sizes = (p.groups, p.batch, p.out_channels, p.in_channels, *p.filter, *p.input)
    windows = (*p.strides, *p.dilations, *p.left_pads, *p.right_pads)
    return f"{len(p.filter)} {' '.join(map(str, (*sizes, *windows)))} --elementwise-op {OPERATION}"


@pytest.mark.cuda
@pytest.mark.timeout(1800)
def test_bias_and_clamp_cost_little(bench_cache, tmp_path):
    catalog = tmp_path / "bias_clamp.json"
    header = {"variant": "forward", "ndim_spatial": 2, "layout": "nhwgc", "datatype": "bf16"}
    catalog.write_text(json.dumps(header | {"instances": list(fused_records())}))
    cases = {name: case for name, case in (CASES | FLAT).items() if len(case.filter) == 2}
    asked = [word for case in cases.values() for word in ("--problem", line_of(case))]
    report = ckprof_json(
        bench_cache,
        "fwd",
        "--conf",
        str(catalog),
        "--target",
        "cuda",
        "--epilogue-cost",
        *asked,
        *MEASUREMENT,
    )
    names = {one["key"]: one["name"] for one in report["instances"]}
    fused = [problem for problem in report["problems"] if "epilogue_costs" in problem]
    assert len(fused) == len(cases)
    missed = []
    for name, problem in zip(cases, fused, strict=True):
        costs = problem["epilogue_costs"]
        cost = min(costs, key=lambda one: one["unfused_ms"])
        best = min(one["time_ms"] for one in costs)
        print(
            f"\n{name} {problem['text']}: {cost['unfused_ms'] * 1e3:.1f} us, with bias and clamp "
            f"{cost['time_ms'] * 1e3:.1f} us, {cost['ratio']:.3f} "
            f"[{cost['ratio_low']:.3f}, {cost['ratio_high']:.3f}] (goal {GOAL}); best kernels "
            f"{best / cost['unfused_ms']:.3f}; {names[cost['key']]}",
            end="",
        )
        if cost["ratio"] > LIMIT:
            missed.append(name)
    print()
    assert not missed
