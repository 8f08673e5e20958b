"""Costs of epilogues from rounds whose truth is known, and what reports say of them."""

import csv
import dataclasses
import io
import math
import random
from dataclasses import replace

import pytest

from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Measurement, Outcome, RoundTime, Status, Verification
from ckprof.model.results import BuildSummary, RunResults
from ckprof.model.types import DataType, TypeSet
from ckprof.report.epilogue_cost import epilogue_costs, without_cost
from ckprof.report.run_data import as_json, render_csv
from ckprof.report.run_summary import terminal_document
from ckprof.report.run_table import run_document
from ckprof.report.table import Terminal
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.layout import types_of
from ckprof_plugins.elementwise.combination import Combination
from tests.convolutions import convolution

PLAIN = convolution("2 2 3 8 4 1 1 5 5 1 1 1 1 0 0 0 0")
SHARED = TypeSet.shared(DataType.FP16)
FUSED = FusedConvProblem.of(PLAIN, Combination.parse("Bilinear"))
PASSED = Verification(max_error=0.0, wrong_elements=0, elements=10, rtol=0.0, atol=0.0)


def outcome(key, times, problem, *, side="", split=1, deduced=False, status=Status.OK, processes=3):
    """Return an outcome of rounds in so many processes.

    :param times: number of the round -> milliseconds.
    """
    rounds = tuple(
        RoundTime(time_ms=time, place=("0", number), process=f"{side}{number % processes}")
        for number, time in times.items()
    )
    middle = sorted(times.values())[len(times) // 2]
    measured = Measurement(
        time_ms=middle, spread_ms=0.0, min_ms=middle, mean_ms=middle, samples=9, stopped_by="stdrel"
    )
    return Outcome(
        key=key,
        problem_index=problem,
        status=status,
        measurement=measured,
        verification=PASSED,
        rounds=rounds,
        split_k=split,
        split_k_deduced=deduced,
    )


def results(*outcomes, pairs, types=SHARED):
    instances = tuple(
        SelectedKernel(
            key=key,
            index=number,
            id=number,
            name=key,
            instance_string=key,
            pipeline="tiles",
            dtype=DataType.FP16,
            types=types,
            ndim=2,
            source="list",
        )
        for number, key in enumerate((*pairs, *dict.fromkeys(pairs.values())))
    )
    return RunResults(
        direction="fwd",
        target="cpu",
        arch="gfx950",
        environment={},
        conversions=(),
        instances=instances,
        problems=(FUSED, PLAIN),
        build=BuildSummary(),
        outcomes=outcomes,
        unfused_instances=pairs,
        unfused_problems={0: 1},
    )


def test_what_disturbs_a_round_moves_both_and_not_their_ratio():
    noise = {1: 1.0, 2: 1.7, 3: 1.01, 4: 3.0, 5: 0.98, 6: 1.2}
    without = {number: 2.0 * factor for number, factor in noise.items()}
    fused = {number: 1.05 * time for number, time in without.items()}
    (cost,) = epilogue_costs(
        results(outcome("f", fused, 0), outcome("p", without, 1, side="x"), pairs={"f": "p"}), 0
    )
    assert cost.ratio == pytest.approx(1.05)
    assert cost.interval is not None and cost.interval[0] < 1.05 < cost.interval[1]
    assert cost.time_ms / cost.unfused_ms == pytest.approx(1.05)
    tensors = 2 * 3 * 5 * 5 * 4 + 2 * 8 * 4 + 2 * 3 * 5 * 5 * 8
    assert cost.bytes_share == pytest.approx(1 - tensors / (tensors + 2 * 3 * 5 * 5 * 8))


def test_bytes_are_those_of_each_tensors_type():
    """A result of 8 bits, combined with fp32."""
    types = types_of(DataType.FP8, d_tensors=(DataType.FP32,))
    times = dict.fromkeys(range(1, 7), 2.0)
    both = outcome("f", times, 0), outcome("p", times, 1, side="x")
    (cost,) = epilogue_costs(results(*both, pairs={"f": "p"}, types=types), 0)
    tensors = 2 * 3 * 5 * 5 * 4 + 2 * 8 * 4 + 2 * 3 * 5 * 5 * 8
    assert cost.bytes_share == pytest.approx(1 - tensors / (tensors + 4 * 2 * 3 * 5 * 5 * 8))


@pytest.mark.parametrize(("processes", "noise", "widest"), [(3, 0.01, 0.06), (1, 0.01, 0.06), (1, 0.15, 0.6)])
def test_intervals_hold_the_truth(processes, noise, widest):
    """Of 400 pairs with noise of each round and 2 % of what both share, in 20 runs."""
    chance, held, width = random.Random(7), 0, 0.0
    for _ in range(20):
        truth, outcomes, pairs = {}, [], {}
        shared = {number: math.exp(chance.gauss(0, 0.02)) for number in range(1, 10)}
        for kernel in range(20):
            name = f"f{kernel}"
            pairs[name], truth[name] = f"p{kernel}", chance.uniform(1.0, 1.3)
            time = chance.uniform(0.5, 5.0)
            plain = {n: time * one * math.exp(chance.gauss(0, noise)) for n, one in shared.items()}
            fused = {
                n: time * truth[name] * one * math.exp(chance.gauss(0, noise)) for n, one in shared.items()
            }
            outcomes += [
                outcome(name, fused, 0, processes=processes),
                outcome(pairs[name], plain, 1, side="x", processes=processes),
            ]
        costs = epilogue_costs(results(*outcomes, pairs=pairs), 0)
        assert len(costs) == 20
        for cost in costs:
            assert cost.interval is not None
            low, high = cost.interval
            held += low <= truth[cost.fused.key] <= high
            width += high / low - 1
    assert held >= 0.93 * 400
    assert width / 400 < widest


def test_pairs_have_the_same_splits_and_right_results():
    times = {1: 1.0, 2: 1.0, 3: 1.0}
    found = results(
        outcome("f", times, 0),
        outcome("f", times, 0, split=4),
        outcome("f", times, 0, split=8, deduced=True),
        outcome("g", times, 0),
        outcome("p", times, 1, side="x"),
        outcome("p", times, 1, side="x", split=2, deduced=True),
        outcome("q", times, 1, side="x", status=Status.WRONG_RESULT),
        pairs={"f": "p", "g": "q"},
    )
    costs = epilogue_costs(found, 0)
    assert {(cost.fused.key, cost.fused.split_k, cost.unfused.split_k) for cost in costs} == {
        ("f", 1, 1),
        ("f", 8, 2),
    }
    assert without_cost(found, 0) == 2
    assert epilogue_costs(found, 1) == []


def test_costs_need_no_verification():
    times = {1: 1.0, 2: 1.1, 3: 0.9}
    both = (outcome("f", times, 0), outcome("p", times, 1, side="x"))
    unverified = [dataclasses.replace(one, verification=None) for one in both]
    found = results(*unverified, pairs={"f": "p"})
    assert [cost.ratio for cost in epilogue_costs(found, 0)] == [pytest.approx(1.0)]


TIMES = {1: 2.0, 2: 2.2, 3: 2.1}


SLOWER = {number: 1.25 * time for number, time in TIMES.items()}


@pytest.fixture
def run():
    return results(outcome("f", SLOWER, 0), outcome("p", TIMES, 1, side="x"), pairs={"f": "p", "g": "q"})


@pytest.mark.parametrize(
    "render",
    [
        lambda run: run_document(run).text(),
        lambda run: run_document(run).markdown(),
        lambda run: terminal_document(run).text(Terminal(width=200)),
    ],
)
def test_people_see_times_ratio_interval_and_bytes(run, render):
    shown = render(run)
    (row,) = [line for line in shown.splitlines() if "1.250" in line]
    assert all(text in row for text in ("[0] f", "2.6250", "2.1000", "39.2 %", " to "))
    assert "Problem 1, problem 0 without what is fused to it" in shown
    assert "no cost" not in shown


def test_kernels_without_a_cost_are_counted(run):
    shown = run_document(replace(run, outcomes=(*run.outcomes, outcome("g", SLOWER, 0)))).text()
    assert "1 kernel has no cost: the same without the epilogue has no time on problem 1" in shown


def test_programs_get_every_figure(run):
    first, second = as_json(run)["problems"]
    (cost,) = first["epilogue_costs"]
    assert (cost["key"], cost["unfused_key"], cost["unfused_problem"]) == ("f", "p", 1)
    assert cost["ratio"] == pytest.approx(1.25) and cost["ratio_low"] < 1.25 < cost["ratio_high"]
    assert "epilogue_costs" not in second
    rows = list(csv.DictReader(io.StringIO(render_csv(run))))
    assert float(rows[0]["epilogue_ratio"]) == pytest.approx(1.25)
    assert float(rows[0]["epilogue_unfused_ms"]) == 2.1
    assert rows[1]["epilogue_ratio"] == ""


def test_other_runs_say_nothing_of_it(run):
    plain = replace(run, unfused_instances={}, unfused_problems={})
    assert "epilogue" not in render_csv(plain) + run_document(plain).text()
    assert all("epilogue_costs" not in problem for problem in as_json(plain)["problems"])
