"""Convolutions with what follows them by torch, against ckprof's own reference, on the CPU."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from ckprof.measure.baselines import Baselines
from ckprof.measure.options import RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.worker.messages import BaselineSource
from ckprof.model.outcome import Status
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof.testing import registry_with
from ckprof_plugins.baselines.torch_baseline import TorchBaseline
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import UNARY, DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp
from tests.plugins.baselines.test_torch import problem

pytestmark = pytest.mark.torch

QUICK = RunOptions(max_time_s=0.005, min_samples=1, timeout_s=60.0, cpu_threads=1)
FP16, BF16, FP32 = DataType.FP16, DataType.BF16, DataType.FP32


@dataclass(frozen=True)
class Case:
    combination: Combination
    layout: str = "nhwgc"
    dtype: DataType = FP16


def extents(operation):
    """Return the kinds of D tensors to try: all of the one kind, all of the other, and the usual ones."""
    usual = Combination.usual(operation).extents
    return dict.fromkeys([usual, *((extent,) * len(usual) for extent in DExtent)])


ALL = "floor=-max,ceiling=max"
#: values that change results, in every operation that has them
SETTINGS = {
    "Clamp": ("floor=-0.5,ceiling=0.75", "floor=-max,ceiling=0.1", "floor=0.1,ceiling=max", ALL),
    "AddClamp": ("floor=-1,ceiling=2",),
    "BiasNormalizeInInferClamp": ("floor=-3,ceiling=3,epsilon=0.01", ALL),
    "Scale": ("scale=-0.37",),
    "Bilinear": ("alpha=0.7,beta=-1.9", "beta=0"),
    "ScaleAddScaleAddRelu": ("alpha1=-0.5,alpha2=3",),
    **dict.fromkeys(
        ("ConvScale", "ConvScaleRelu", "ConvScaleAdd", "ConvInvscale"),
        ("scale_in=0.5,scale_wei=-3,scale_out=0.11",),
    ),
    "DynamicUnaryOp": (
        *(f"function={name},alpha=0.75,beta=1.25,gamma=3" for name in UNARY),
        "function=Logistic,alpha=0",
        "function=Logistic",
        "function=SoftRelu,alpha=-2",
        "function=ClippedRelu,alpha=0.5,beta=-0.5",
    ),
}  # fmt: skip


def combinations():
    for operation in ElementwiseOp:
        for of_d in extents(operation):
            yield Combination.usual(operation, of_d)
            for settings in SETTINGS.get(operation.value, ()):
                yield replace(Combination.parse(f"{operation.value},{settings}"), extents=of_d)
    yield Combination.parse("MultiDAdd,d0=channel,d1=full")
    yield Combination.parse("MultiDMultiply,d0=full,d1=channel")


def measured(cases, folder):
    """Return what became of torch on each case."""
    forward = registry_with().operations.find("fwd")
    baselines = Baselines([BaselineSource(id="torch", entry=TorchBaseline().entry, on_host=True)])
    with baselines.opened(QUICK, folder):
        for number, case in enumerate(cases):
            layout, here = find_layout(case.layout), folder / str(number)
            here.mkdir()
            fused = FusedConvProblem.of(problem(layout.ndim), case.combination)
            tensors = forward, fused, layout, case.dtype
            prepared = prepare_problem(*tensors, QUICK, here)
            baselines.measure(number, layout, case.dtype, prepared, lambda: None)
    return [one.outcome for one in baselines.outcomes]


def test_every_operation_is_computed_in_every_type(tmp_path):
    cases = [Case(one, dtype=dtype) for one in combinations() for dtype in SHARED_TYPES]
    wrong = [
        (case.combination.text, case.dtype, found.reason)
        for case, found in zip(cases, measured(cases, tmp_path), strict=True)
        if found.status is not Status.OK or not found.verification.passed
    ]
    assert wrong == []
    assert {case.combination.operation for case in cases} == set(ElementwiseOp)


def test_d_tensors_are_read_in_every_layout(tmp_path):
    texts = (
        "MultiDMultiply,d0=channel,d1=full",
        "BiasNormalizeInInferClamp,mean=channel,beta=channel,floor=-max",
    )
    cases = [
        Case(Combination.parse(text), layout=layout, dtype=FP32)
        for text in texts
        for layout in ("nwgc", "nhwgc", "ndhwgc", "ngchw")
    ]
    for case, found in zip(cases, measured(cases, tmp_path), strict=True):
        assert found.status is Status.OK, (case.layout, found.reason)


def test_what_torch_cannot_do_is_refused_by_name(tmp_path):
    beyond = "floor=1e5,ceiling=max"
    cases = [
        Case(Combination.parse(f"Clamp,{beyond}")),
        Case(Combination.parse("AddClamp,floor=-max,ceiling=-7e4")),
        Case(Combination.parse("DynamicUnaryOp,function=ClippedRelu,alpha=1e5,beta=2e5")),
    ]
    outcomes = measured([*cases, replace(cases[0], dtype=BF16)], tmp_path)
    for found in outcomes[:-1]:
        assert found.status is Status.UNSUPPORTED
        (unmet,) = found.unmet_requirements
        assert unmet.rule == "baseline-operation" and "float16 to no limits beyond it" in unmet.message
    assert outcomes[-1].status is Status.OK


def test_operations_that_are_not_in_the_table_are_refused(monkeypatch):
    torch = pytest.importorskip("torch")
    from ckprof_plugins.baselines import torch_elementwise

    monkeypatch.delitem(torch_elementwise._STEPS, ElementwiseOp.SCALE)
    with pytest.raises(torch_elementwise.NotInTorchError, match="not told how to compute Scale"):
        torch_elementwise.steps_of(Combination.parse("scale"), torch.float32)
    monkeypatch.delitem(torch_elementwise._UNARY_STEPS, "Elu")
    with pytest.raises(torch_elementwise.NotInTorchError, match="compute the function Elu"):
        torch_elementwise.steps_of(Combination.parse("dynamic_op,function=Elu"), torch.float32)
