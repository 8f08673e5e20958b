"""Baselines run in workers of their own by the rules of kernels, and what they do wrong costs a row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.errors import ToolchainError
from ckprof.measure.baselines import Baselines
from ckprof.measure.options import CacheMode, RunOptions, visit_timing
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.worker.messages import BaselineSource
from ckprof.model.outcome import Status
from ckprof.model.ranking import kernel_time, unranked_ms
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout

from .fakes import ScaleDirection, make_problem

ENGINE = Path(__file__).parent / "engine.py"
QUICK = RunOptions(timeout_s=20.0, max_time_s=0.02, cache=CacheMode.WARM)
LAYOUT = find_layout("nhwgc")


def source(name, entry=None, on_host=True):
    return BaselineSource(id=name, entry=entry or f"{ENGINE}:make_{name}", on_host=on_host)


@pytest.fixture
def measure(tmp_path):
    """Measure engines of :mod:`.engine` once; return outcomes and events."""

    def call(*sources, options=QUICK):
        seen, told = [], []
        baselines = Baselines(sources)
        baselines.on_measured = told.append
        prepared = prepare_problem(ScaleDirection(), make_problem(), LAYOUT, DataType.FP32, options, tmp_path)
        with baselines.opened(options, tmp_path, seen.append):
            baselines.measure(3, LAYOUT, DataType.FP32, prepared, lambda: prepared)
        assert told == baselines.outcomes
        return told, seen

    return call


def test_a_baseline_is_verified_and_timed_like_a_kernel(measure):
    (found,), seen = measure(source("good"))
    assert (found.baseline, found.layout, found.dtype) == ("good", "nhwgc", DataType.FP32)
    assert found.description == "numpy on the host 0"
    outcome = found.outcome
    assert (outcome.status, outcome.key, outcome.problem_index) == (Status.OK, "good", 3)
    assert outcome.verification.passed and outcome.verification.elements == 3 * 8 * 8
    assert outcome.measurement.samples >= 3
    assert unranked_ms(found.outcome) == outcome.measurement.median_ms > 0
    # the device of a run is what its kernels run on
    assert seen == []


def test_the_tolerance_allows_for_every_rounding_that_an_engine_tells_of(measure):
    (once, often), _ = measure(source("good"), source("stepping"))
    checks = [found.outcome.verification for found in (once, often)]
    unit = 2.0**-24
    assert checks[1].rtol - checks[0].rtol == pytest.approx(8 * unit)
    assert checks[1].atol - checks[0].atol >= 8 * unit * 0.25, "operands are as large as 1 and 0.5"
    assert all(check.passed for check in checks)


def test_the_device_is_passed_on(measure):
    options = RunOptions(timeout_s=20.0, max_time_s=0.02, cache=CacheMode.WARM, device=2)
    (found,), _ = measure(source("good", on_host=False), options=options)
    assert found.description == "numpy on a device 2"


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("wrong", Status.WRONG_RESULT, "192 of 192"),
        ("outside", Status.WRONG_RESULT, "wrote outside the output tensor, after"),
        ("raise", Status.RUN_ERROR, "RuntimeError: no algorithm"),
        ("crash", Status.RUN_ERROR, "exited with status 7"),
        ("picky", Status.UNSUPPORTED, "nothing odd"),
    ],
)
def test_what_goes_wrong_is_an_outcome(measure, name, status, reason):
    outcomes, _ = measure(source(name), source("good"))
    assert [one.baseline for one in outcomes] == [name, "good"]
    assert outcomes[0].outcome.status is status
    assert reason in outcomes[0].outcome.reason
    assert unranked_ms(outcomes[0].outcome) is None
    assert outcomes[1].outcome.status is Status.OK


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (source("unusable"), "no such library; install it"),
        (source("broken"), "OSError: libsomething.so is missing"),
        (source("gone", f"{ENGINE}:make_gone"), "has no attribute 'make_gone'"),
        (source("gone", "no_such_module:make"), "No module named 'no_such_module'"),
        (source("gone", "/no/such/file.py:make"), "No such file"),
    ],
)
def test_what_cannot_be_used_ends_the_run_before_it_begins(measure, given, reason):
    with pytest.raises(ToolchainError, match=f"baseline {given.id} cannot be used") as raised:
        measure(given)
    assert reason in str(raised.value)


def test_the_time_of_several_rounds_is_that_of_kernels(tmp_path):
    """As many rounds as kernels have, each with its share of the samples, and the same definition."""
    baselines = Baselines([source("good")])
    prepared = prepare_problem(ScaleDirection(), make_problem(), LAYOUT, DataType.FP32, QUICK, tmp_path)
    with baselines.opened(QUICK, tmp_path):
        timing = visit_timing(replace(QUICK, rounds=4), in_turn=False)
        baselines.measure(3, LAYOUT, DataType.FP32, prepared, lambda: prepared, rounds=4, timing=timing)
    (found,) = baselines.outcomes
    outcome = found.outcome
    assert len(outcome.rounds) == 4 and outcome.verification.passed
    assert len({one.process for one in outcome.rounds}) == 1
    time = kernel_time(outcome.rounds)
    assert unranked_ms(found.outcome) == outcome.measurement.median_ms == time.time_ms
    assert time.time_ms == min(one.median_ms for one in outcome.rounds), "the first quartile of four"
    assert not outcome.measurement.samples_ms
