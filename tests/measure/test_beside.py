"""Kernels beside others, on another problem: the same rounds, every pair in each of them."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import pytest

from ckprof.errors import UsageError
from ckprof.measure.baselines import UNFUSED, BesideBench, PairedRounds, problems_beside
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.requests import Unfused
from ckprof.measure.rounds import Ending, KernelConfiguration, RoundOptions
from ckprof.measure.run_outcomes import RunRounds, run_groups
from ckprof.model.outcome import Status
from ckprof.model.problem_case import ProblemCase, as_case
from ckprof.session import ignore
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.elementwise.combination import Combination

from .device import SimulatedDevice, run
from .fakes import ARCH, ScaleDirection, make_instance, make_problem
from .run_instances import selected


def pairs_of(names):
    return [
        (KernelConfiguration(name, 1), KernelConfiguration(f"plain {name}", 1, UNFUSED)) for name in names
    ]


def played(pairs, rounds=6, **device):
    times = {cell: number + 1.0 for number, pair in enumerate(pairs) for cell in pair if cell}
    ranking, simulated = (
        PairedRounds(pairs, RoundOptions(max_rounds=rounds)),
        SimulatedDevice(times, **device),
    )
    assert run(ranking, simulated)
    assert ranking.ending is Ending.MAX_ROUNDS and ranking.remaining_visits == 0
    return ranking, simulated.visits


def test_the_kernels_of_a_pair_follow_one_another_and_take_turns_at_being_first():
    pairs = pairs_of("abcdefgh")
    ranking, visits = played(pairs)
    assert set(Counter(visit.cell for visit in visits).values()) == {6}
    assert ranking.dropped == set(), "the last one takes eight times as long as the first"
    at = {(visit.cell, visit.round): visit.order for visit in visits}
    for fused, plain in pairs:
        first = [at[fused, number] - at[plain, number] for number in range(1, 7)]
        assert {abs(step) for step in first} == {1}
        assert all(one == -other for one, other in pairwise(first))
    orders = [[visit.cell for visit in visits if visit.round == number] for number in (1, 3)]
    assert orders[0] != orders[1]


def test_a_pair_leaves_when_one_of_it_fails_and_all_have_an_outcome():
    (a, plain_a), b = pairs_of("ab")
    _, visits = played([(a, plain_a), b], failing={plain_a})
    assert Counter(visit.cell for visit in visits) == {a: 1, plain_a: 1, b[0]: 6, b[1]: 6}


def test_one_that_nothing_runs_beside_runs_alone():
    alone = KernelConfiguration("alone", 1)
    _, visits = played([(alone, None), *pairs_of("a")])
    assert Counter(visit.cell for visit in visits)[alone] == 6


def fused(**changes):
    return FusedConvProblem.of(replace(make_problem(), **changes), Combination.parse("Clamp"))


def test_sums_alone_stand_behind_the_problems_that_ask_for_more():
    given = [
        as_case(make_problem()),
        ProblemCase(problem=fused(batch=2), instances=frozenset("b")),
        as_case(fused()),
    ]
    cases, unfused = problems_beside(given, frozenset("abc"), {"a": "x", "b": "y"})
    assert [case.problem for case in cases] == [
        *(make_problem(), fused(batch=2), make_problem(batch=2), fused(), make_problem())
    ]
    assert [case.instances for case in cases] == [*map(frozenset, ("abc", "b", "y", "abc", "xy"))]
    assert unfused.problems == {1: cases[2], 3: cases[4]}
    with pytest.raises(UsageError, match="no problem asks for more than its sums"):
        problems_beside(given[:1], frozenset("abc"), {"a": "x"})


QUICK = RunOptions(rounds=4, sessions=2, timeout_s=5.0, max_time_s=0.05, cache=CacheMode.WARM)


@pytest.mark.compiler
def test_each_side_computes_its_own_problem_in_the_same_rounds(library, tmp_path):
    first, other, broken = (make_instance(name) for name in ("ok", "ok_10ms", "wrong"))
    cases = [as_case(make_problem(8)), as_case(make_problem(5))]
    beside = replace(cases[1], instances=frozenset({other.key}))
    own = replace(cases[0], instances=frozenset({first.key, broken.key}))
    unfused = Unfused(instances={first.key: other.key, broken.key: other.key}, problems={0: beside})
    opened = BenchLibrary(path=library, operation=ScaleDirection(), target="", arch=ARCH, rejections={})
    kernels = [selected(one) for one in (first, other, broken)]
    with (
        KernelBench(opened, QUICK, (), ignore, lock_folder=tmp_path) as one,
        KernelBench(opened, QUICK, (), ignore, lock=None) as second,
    ):
        bench = BesideBench(one, second)
        groups = run_groups(opened, QUICK, kernels, [own, beside], unfused)
        running = RunRounds(bench, QUICK, ignore).outcomes(groups)
        with closing(running):
            found = {(outcome.problem_index, outcome.key): outcome for outcome in running}
    assert {key: outcome.status for key, outcome in found.items()} == {
        (0, first.key): Status.OK,
        (0, broken.key): Status.WRONG_RESULT,
        (1, other.key): Status.OK,
    }
    ours, theirs = found[0, first.key], found[1, other.key]
    assert (ours.verification.elements, theirs.verification.elements) == (3 * 64, 3 * 25)
    assert [one.place for one in ours.rounds] == [("0", number) for number in range(1, 5)]
    assert {one.place for one in theirs.rounds} == {one.place for one in ours.rounds}
    processes = [{one.process for one in outcome.rounds} for outcome in (ours, theirs)]
    assert len(processes[1]) == 2 <= len(processes[0]), "a wrong kernel costs a worker"
    assert not processes[0] & processes[1]
