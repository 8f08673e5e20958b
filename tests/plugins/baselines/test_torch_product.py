"""The baseline torch on products of matrices: a fake torch with a GPU, and the real one on the CPU."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.measure.baselines import Baselines
from ckprof.measure.options import RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.worker.messages import BaselineSource
from ckprof.model.outcome import Status
from ckprof.model.types import ComputeType, DataType
from ckprof_plugins.baselines.torch_baseline import TorchBaseline
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.operations.gemm.problem import (
    GEMM_TYPES,
    LAYOUTS,
    GemmProblem,
    MultiDProblem,
    StridedBatchProblem,
    find_layout,
    types_of,
)

FAKE = Path(__file__).parent / "fake"
#: an engine that computes convolutions alone
OTHER = Path(__file__).parents[2] / "measure" / "engine.py"
TORCH = TorchBaseline().entry
QUICK = RunOptions(max_time_s=0.01, min_samples=3, timeout_s=60.0, cpu_threads=1)
FP16, BF16, FP8, BF8, INT8 = DataType.FP16, DataType.BF16, DataType.FP8, DataType.BF8, DataType.INT8

PLAIN = GemmProblem(m=32, n=48, k=64)
PADDED = GemmProblem(m=19, n=24, k=16, stride_a=80, stride_b=96, stride_e=40)
BATCH = GemmProblem(m=5, n=7, k=6, batch=3)
APART = StridedBatchProblem(m=5, n=7, k=6, batch=3, stride_e=9, batch_stride_a=40, batch_stride_e=50)


def combined(operation, *strides):
    return MultiDProblem(m=12, n=20, k=9, elementwise_op=operation, strides_d=strides)


ADD, MULTIPLY = ElementwiseOp.MULTI_D_ADD, ElementwiseOp.MULTI_D_MULTIPLY
EVERYWHERE = [
    *((FP16, layout.name, one) for layout in LAYOUTS for one in (PLAIN, PADDED, BATCH, APART)),
    *((BF16, "rcr", combined(operation, *strides))
      for operation in (ADD, MULTIPLY) for strides in ((0, 24), (22,))),
    (DataType.FP32, "crr", PADDED),
]  # fmt: skip


@pytest.fixture
def measure(tmp_path):
    """Measure torch, or another engine, on products; return outcomes."""

    def call(cases, on_host, entry=TORCH):
        source = BaselineSource(id="torch", entry=entry, on_host=on_host)
        baselines = Baselines([source])
        with baselines.opened(QUICK, tmp_path):
            for number, (types, name, problem) in enumerate(cases):
                types = types_of(types) if isinstance(types, DataType) else types
                layout, folder = find_layout(name), tmp_path / str(number)
                folder.mkdir()
                prepared = prepare_problem(Gemm(), problem, layout, types, QUICK, folder)
                baselines.measure(number, layout, types.operands[0], prepared, lambda: None)
        return baselines.outcomes

    return call


def assert_right(cases, outcomes):
    for case, found in zip(cases, outcomes, strict=True):
        assert found.outcome.status is Status.OK, (case, found.outcome.reason)
        assert found.outcome.verification.passed and found.outcome.measurement.time_ms > 0


FNUZ = replace(types_of(FP8), ocp=False)
UNSUPPORTED = [
    (FP8, "rrr", PLAIN, "baseline-layout", "in the layout rcr alone, not rrr"),
    (FP8, "rcr", GemmProblem(m=32, n=48, k=40), "baseline-size", "multiples of 16, K is 40"),
    (FP8, "rcr", GemmProblem(m=32, n=48, k=64, stride_b=72), "baseline-size", "multiples of 16, ldb is 72"),
    (FP8, "rcr", replace(PLAIN, batch=2), "baseline-batch", "no batches"),
    (BF8, "rcr", PLAIN, "baseline-type", "bf8 with fp8 alone"),
    (FNUZ, "rcr", PLAIN, "baseline-type", "OCP"),
    (replace(types_of(BF8), ocp=False), "rcr", PLAIN, "baseline-type", "2.0+fake has no float8_e5m2fnuz"),
    (INT8, "rcr", GemmProblem(m=16, n=48, k=64), "baseline-size", "more than 16 rows, M is 16"),
    (INT8, "rcr", GemmProblem(m=32, n=44, k=64), "baseline-size", "multiples of 8, N is 44"),
    (INT8, "rrr", PLAIN, "baseline-library", "CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmul`"),
]  # fmt: skip


def test_products_on_a_gpu(measure, monkeypatch):
    """Right, timed behind a busy device, and what the library cannot do is known beforehand."""
    monkeypatch.syspath_prepend(str(FAKE))
    tf32 = replace(types_of(DataType.FP32), compute_type=ComputeType.TF32)
    right = [*EVERYWHERE, (FP8, "rcr", PLAIN), (INT8, "rcr", PADDED), (tf32, "rrr", PLAIN)]
    outcomes = measure([*right, *(case[:3] for case in UNSUPPORTED)], on_host=False)
    assert_right(right, outcomes[: len(right)])
    for (*_, rule, text), found in zip(UNSUPPORTED, outcomes[len(right) :], strict=True):
        assert found.outcome.status is Status.UNSUPPORTED, found.outcome.reason
        unmet, *_ = found.outcome.unmet_requirements
        assert unmet.rule == rule
        assert text in found.outcome.reason and "\n" not in found.outcome.reason
    assert outcomes[0].description == "torch 2.0+fake, CUDA 13.0, cuDNN 91900, fake GPU"


def test_engines_without_products_are_not_asked_for_any(measure):
    (found,) = measure([(FP16, "rcr", PLAIN)], on_host=True, entry=f"{OTHER}:make_good")
    assert found.outcome.status is Status.UNSUPPORTED
    assert found.outcome.reason == "torch has nothing for the operation gemm"
    assert [one.rule for one in found.outcome.unmet_requirements] == ["baseline-operation"]


@pytest.mark.torch
def test_products_of_every_type_and_layout_on_the_cpu(measure):
    cases = [*EVERYWHERE, *((dtype, layout.name, PADDED) for dtype in GEMM_TYPES for layout in LAYOUTS)]
    # of which oneDNN has had kernels in some versions
    fnuz = [(FNUZ, "rcr", PADDED), (replace(types_of(BF8), ocp=False), "rrr", PLAIN)]
    outcomes = measure([*cases, *fnuz], on_host=True)
    assert_right(cases, outcomes[: len(cases)])
    for case, found in zip(fnuz, outcomes[len(cases) :], strict=True):
        if found.outcome.status is Status.UNSUPPORTED:
            assert [one.rule for one in found.outcome.unmet_requirements] == ["baseline-library"]
        else:
            assert_right([case], [found])
    assert "torch" not in sys.modules
