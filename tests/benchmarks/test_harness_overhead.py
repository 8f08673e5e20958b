"""What the harness costs beside a kernel of 10 ms in warm mode: at most 5 %."""

import statistics

import pytest

from ckprof.measure.executor import Executor
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.model.outcome import Status
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout

from ..measure.fakes import ARCH, ScaleDirection, build_library, find_compiler, make_problem

pytestmark = pytest.mark.compiler

SAMPLES = 40
LARGEST_SHARE = 0.05


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    return build_library(tmp_path_factory.mktemp("library") / "libfake.so")


@pytest.mark.parametrize("criterion", ["stdrel", "entropy", "sample-count"])
def test_harness_overhead(benchmark, library, tmp_path, monkeypatch, criterion):
    """Compare the wall time of the sampling with the sum of the samples."""
    options = RunOptions(
        cache=CacheMode.WARM,
        warmup=0,
        criterion=criterion,
        # Out of reach, so that every criterion has to check_validity all samples.
        criterion_parameters={
            "stdrel": (("max-noise", 1e-12), ("max-drift", 1e-12)),
            "entropy": (("resolution", 1e-9), ("max-slope", 1e-12)),
            "sample-count": (("count", 1e6),),
        }[criterion],
        min_samples=1,
        max_time_s=SAMPLES * 0.010,
        keep_samples=True,
    )
    timed, sample = [], RemoteLibrary.sample

    def noted(*given):
        timed.append(sample(*given))
        return timed[-1]

    monkeypatch.setattr(RemoteLibrary, "sample", noted)

    layout = find_layout("nhwgc")
    problem = prepare_problem(ScaleDirection(), make_problem(), layout, DataType.FP32, options, tmp_path)
    with Executor(library, arch=ARCH, options=options, work_dir=tmp_path) as executor:
        executor.open()
        executor.set_problem(problem)
        outcome = benchmark.pedantic(executor.measure, args=("ok_10ms", 0), rounds=3, warmup_rounds=1)
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.measurement.stopped_by == "max-time"
    # other work disturbs one of them
    overhead = statistics.median(one.wall_s / (sum(one.samples_ms) / 1e3) - 1 for one in timed[1:])
    benchmark.extra_info["overhead_percent"] = 100 * overhead
    assert overhead <= LARGEST_SHARE


@pytest.mark.parametrize("size", [64, 1024])
def test_verification_overhead(benchmark, library, tmp_path, size):
    """Measure what a right kernel costs beside its timing: two verifications, guards, and the way there."""
    options = RunOptions(
        cache=CacheMode.WARM,
        warmup=0,
        criterion="sample-count",
        criterion_parameters=(("count", 1),),
        min_samples=1,
        max_time_s=0.0,
    )
    layout = find_layout("nhwgc")
    problem = prepare_problem(ScaleDirection(), make_problem(size), layout, DataType.FP32, options, tmp_path)
    with Executor(library, arch=ARCH, options=options, work_dir=tmp_path) as executor:
        executor.open()
        executor.set_problem(problem)
        outcome = benchmark.pedantic(executor.measure, args=("ok", 0), rounds=9, warmup_rounds=1)
    assert outcome.status is Status.OK, outcome.reason
    benchmark.extra_info["tensor_bytes"] = [tensor.size_bytes for tensor in problem.tensors]
