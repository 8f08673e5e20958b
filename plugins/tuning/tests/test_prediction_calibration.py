"""Factors by which measured times correct predicted ones."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ckprof
from ckprof.kernels.requests import InstanceQuery
from ckprof_plugins.directions._convolution.problem import default_problems
from ckprof_plugins.tuning.prediction import Calibration, calibration_of, problems_to_learn, read_measured
from plugins.tuning.tests.search.conftest import table_of

FIRST = default_problems()[2]
SECOND, THIRD = replace(FIRST, batch=7), replace(FIRST, batch=9)
TIME = pytest.importorskip("ckprof_plugins.emulator.predicted_time").PredictedTime(
    time_us=10.0, extrapolation_us=1.0, limit="LDS", ceiling_share=0.5, workgroups=4, resident=2, queue=1
)


def _times(values):
    return {(problem, key, 1): time_us for (problem, key), time_us in values.items()}


def test_a_slow_device_is_one_factor_for_all():
    predicted = _times({(p, k): t for p in (FIRST, SECOND) for k, t in (("a", 5.0), ("b", 8.0), ("c", 9.0))})
    found = calibration_of({key: 1.3 * time_us for key, time_us in predicted.items()}, predicted)
    assert found.device == pytest.approx(1.3)
    assert found.pairs == 6
    assert found.kernels == {}
    corrected = found.applied("b", TIME)
    assert (corrected.time_us, corrected.extrapolation_us) == (pytest.approx(13.0), pytest.approx(1.3))
    assert corrected.ceiling_share == pytest.approx(0.5 / 1.3)
    assert corrected.limit == TIME.limit


def test_a_slow_kernel_has_a_factor_that_few_times_do_not_decide():
    predicted = _times(
        {(p, k): t for p in (FIRST, SECOND, THIRD) for k, t in (("a", 5.0), ("b", 5.5), ("c", 4.8))}
    )
    measured = dict(predicted)
    for problem in (FIRST, SECOND):
        measured[problem, "c", 1] = 9.6
    found = calibration_of(measured, predicted)
    # logarithms of 2, 2, 1 and four zeros
    assert found.kernels["c"] == pytest.approx(exp(2 * log(2) / 7))
    assert found.kernels["a"] == pytest.approx(1.0)
    # on one problem alone nothing can be left out
    one = {key: time_us for key, time_us in measured.items() if key[0] == FIRST}
    assert calibration_of(one, predicted).kernels == {}


@pytest.mark.parametrize("of_kernel, least", [(0.0, -0.2), (0.1, 1.0)])
def test_eight_measured_problems_help_or_do_no_harm(of_kernel, least):
    """In points of best / chosen time: errors that a kernel has everywhere are found, others do no harm."""
    table = table_of("gfx950_fwd_bf16_30kernels_even")
    names = list(table.kernels)
    draw, gained = np.random.default_rng(0), []
    for _ in range(12):
        chance = draw.normal(0.0, 0.05, (len(table.problems), len(names))) + draw.normal(
            0.0, of_kernel, len(names)
        )
        predicted = {
            (table.problems[index], name, splits): time_us * exp(chance[index, names.index(name)])
            for (index, name, splits), time_us in table.times.items()
        }
        some = draw.choice(len(table.problems), 8, replace=False)
        measured = {
            (table.problems[index], name, splits): time_us
            for (index, name, splits), time_us in table.times.items()
            if index in some
        }
        found = calibration_of(measured, predicted)
        for problem, row in zip(table.problems, table.rows, strict=True):
            if (problem, *min(row)) not in measured:
                chosen = [
                    row[min(row, key=lambda one: predicted[(problem, *one)] * by.factor(one[0]))]
                    for by in (found, Calibration())
                ]
                gained.append(min(row.values()) / chosen[0] - min(row.values()) / chosen[1])
    assert 100 * np.mean(gained) >= least


def test_times_that_nothing_was_predicted_for_do_not_count():
    measured = _times({(FIRST, "a"): 3.0, (SECOND, "a"): 4.0})
    assert calibration_of(measured, {}) == Calibration()
    assert calibration_of(measured, _times({(FIRST, "a"): 6.0})).device == pytest.approx(0.5)
    assert Calibration().applied("a", TIME) == TIME


@given(st.integers(min_value=1, max_value=400))
def test_not_all_of_many_problems_are_predicted(count):
    problems = [replace(FIRST, batch=number) for number in range(1, count + 1)]
    found = problems_to_learn(_times({(problem, "a"): 1.0 for problem in problems}))
    assert 1 <= len(found) <= 32
    assert set(found) <= set(problems)
    assert len(found) >= min(count, 16)


def test_kernels_of_tables_are_known_by_what_their_names_say(tmp_path):
    profiler = ckprof.Profiler()
    query = InstanceQuery(
        rule_set="default",
        directions="fwd",
        filters="tile_n == 64 and tile_k == 64",
        ndims=(2,),
        arch="gfx950",
    )
    kernels = [one for one in profiler.instances(query).candidates if one.instance.dtype.value == "bf16"]
    assert len(kernels) == 3
    table = tmp_path / "gfx950.csv"
    table.write_text(
        "N,C,K,G,Hi,Wi,Y,X,16x64x64_compv3,64x64x64_compv3,64x64x32_compv3\n1,64,64,1,8,8,1,1,3.0,4.0,5.0\n"
    )
    measured = read_measured(profiler.registry, [table], kernels)
    names = {one.instance.key: (one.instance.fields()["tile_m"], one.name) for one in kernels}
    assert {names[key][0]: time_us for (_, key, _), time_us in measured.items()} == {16: 3.0, 64: 4.0}
    assert read_measured(profiler.registry, [], kernels) == {}
