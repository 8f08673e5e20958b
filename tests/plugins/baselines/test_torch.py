"""The baseline torch: every direction, type and layout against ckprof's own reference, on the CPU."""

import sys

import pytest

from ckprof.errors import ToolchainError
from ckprof.measure.baselines import Baselines
from ckprof.measure.options import RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.worker.messages import BaselineSource
from ckprof.model.computation import Computation
from ckprof.model.outcome import Status
from ckprof.model.types import SHARED_TYPES, DataType, TypeSet
from ckprof.testing import registry_with
from ckprof_plugins.baselines import torch_baseline
from ckprof_plugins.baselines.torch_baseline import TorchBaseline
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions._convolution.problem import ConvProblem

needs_torch = pytest.mark.torch
QUICK = RunOptions(max_time_s=0.02, timeout_s=60.0, cpu_threads=1)


def problem(ndim, **changes):
    values = {
        **{"groups": 2, "batch": 3, "out_channels": 4, "in_channels": 8},
        **{"filter": (3, 2, 1)[:ndim], "input": (7, 6, 5)[:ndim], "strides": (2, 1, 1)[:ndim]},
        **{"dilations": (1, 2, 1)[:ndim], "left_pads": (1, 0, 0)[:ndim], "right_pads": (1, 0, 0)[:ndim]},
    }
    return ConvProblem(**{**values, **changes})


CASES = [
    *(
        (direction, "nhwgc", dtype)
        for direction in ("fwd", "bwd_data", "bwd_weight")
        for dtype in SHARED_TYPES
    ),
    *(("fwd", layout, DataType.FP32) for layout in ("nwgc", "ndhwgc", "ngchw")),
    *(("bwd_weight", layout, DataType.FP32) for layout in ("nwgc", "ndhwgc")),
]


@needs_torch
def test_every_direction_type_and_layout_is_computed_as_asked(tmp_path):
    directions = registry_with().operations
    baselines = Baselines([BaselineSource(id="torch", entry=TorchBaseline().entry, on_host=True)])
    with baselines.opened(QUICK, tmp_path):
        for number, (direction, name, dtype) in enumerate(CASES):
            layout = find_layout(name)
            folder = tmp_path / str(number)
            folder.mkdir()
            given = problem(layout.ndim)
            prepared = prepare_problem(directions.find(direction), given, layout, dtype, QUICK, folder)
            baselines.measure(number, layout, dtype, prepared, lambda: None)
        uneven = problem(2, left_pads=(1, 0), right_pads=(0, 1))
        layout, folder = find_layout("nhwgc"), tmp_path / "uneven"
        folder.mkdir()
        prepared = prepare_problem(directions.find("fwd"), uneven, layout, DataType.FP32, QUICK, folder)
        baselines.measure(len(CASES), layout, DataType.FP32, prepared, lambda: None)
    *regular, last = baselines.outcomes
    for case, found in zip(CASES, regular, strict=True):
        assert found.outcome.status is Status.OK, (case, found.outcome.reason)
        assert found.outcome.verification.passed and found.outcome.measurement.time_ms > 0
    assert last.outcome.status is Status.UNSUPPORTED
    assert [one.rule for one in last.outcome.unmet_requirements] == ["baseline-pads"]
    assert "torch 2" in last.description and "1 CPU threads" in last.description
    assert "torch" not in sys.modules


@needs_torch
@pytest.mark.parametrize(
    ("direction", "dtype", "dilation", "on_gpu", "roundings"),
    [
        ("bwd_weight", DataType.BF16, 12, True, 2),
        ("bwd_weight", DataType.FP16, 2, True, 2),
        ("bwd_weight", DataType.BF16, 1, True, 1),
        ("bwd_weight", DataType.FP32, 12, True, 1),
        ("bwd_weight", DataType.BF16, 12, False, 1),
        ("bwd_data", DataType.BF16, 12, True, 1),
    ],
)
def test_parts_of_a_sum_may_be_rounded_before_they_are_added(direction, dtype, dilation, on_gpu, roundings):
    from ckprof_plugins.baselines import torch_convolution

    given = problem(2, dilations=(1, dilation), input=(7, 60))
    operation = registry_with().operations.find(direction)
    layout = find_layout("nhwgc")
    specs = [given.tensor(name, layout) for name in operation.tensors]
    work = Computation.of(direction, layout.name, given, specs, TypeSet.shared(dtype))
    assert torch_convolution.roundings(work, on_gpu=on_gpu) == roundings


@needs_torch
def test_a_gpu_that_torch_cannot_use_is_reported(tmp_path):
    baselines = Baselines([BaselineSource(id="torch", entry=TorchBaseline().entry, on_host=False)])
    options = RunOptions(device=99)
    with pytest.raises(ToolchainError, match="baseline torch cannot be used: torch 2") as raised:
        with baselines.opened(options, tmp_path):
            pass
    assert "GPU" in str(raised.value)


def test_without_torch_the_baseline_says_what_to_install(monkeypatch):
    monkeypatch.setattr(torch_baseline, "find_spec", lambda name: None)
    assert "pip install 'ckprof[torch]'" in TorchBaseline().missing()
    monkeypatch.setattr(torch_baseline, "find_spec", lambda name: object())
    assert TorchBaseline().missing() == ""
