"""Baselines run in workers of their own by the rules of kernels, and what they do wrong costs a row."""

import math
import random
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median, stdev
from types import SimpleNamespace

import pytest

from ckprof.errors import ToolchainError, UsageError
from ckprof.measure.baselines import UNFUSED, Baselines, PairedBench, PairedRounds, paired_problems
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.options import CacheMode, RunOptions, round_timing
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.requests import Unfused
from ckprof.measure.rounds import Ending, KernelConfiguration, RoundOptions
from ckprof.measure.run_outcomes import RunRounds, run_groups
from ckprof.measure.worker.messages import BaselineSource
from ckprof.model.outcome import Outcome, RoundTime, Status
from ckprof.model.problem_case import ProblemCase, as_case
from ckprof.model.ranking import kernel_time, summarise, unranked_ms
from ckprof.model.types import DataType
from ckprof.session import ignore
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.elementwise.combination import Combination
from tests.cases import Cases

from .device import SimulatedDevice, run
from .fakes import ARCH, ScaleDirection, make_instance, make_problem
from .run_instances import selected

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
    assert unranked_ms(found.outcome) == outcome.measurement.time_ms > 0
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


def test_what_goes_wrong_is_an_outcome_of_its_own(measure):
    expected = {
        "wrong": (Status.WRONG_RESULT, "192 of 192"),
        "outside": (Status.WRONG_RESULT, "wrote outside the output tensor, after"),
        "raise": (Status.RUN_ERROR, "RuntimeError: no algorithm"),
        "crash": (Status.RUN_ERROR, "exited with status 7"),
        "picky": (Status.UNSUPPORTED, "nothing odd"),
    }
    *outcomes, last = measure(*map(source, expected), source("good"))[0]
    assert [one.baseline for one in outcomes] == [*expected]
    with Cases() as cases:
        for one, (status, reason) in zip(outcomes, expected.values(), strict=True):
            with cases.case(one.baseline):
                assert one.outcome.status is status and reason in one.outcome.reason
                assert unranked_ms(one.outcome) is None
    assert last.outcome.status is Status.OK


def test_what_cannot_be_used_ends_the_run_before_it_begins(measure):
    with pytest.raises(ToolchainError, match="baseline unusable cannot be used: no such library; install it"):
        measure(source("good"), source("unusable"))


def test_a_baseline_has_trials_as_kernels_have(tmp_path):
    """As many rounds, each with its share of samples, a process for each pass, and the same definition."""
    baselines = Baselines([source("good"), source("raise")])
    trials = []
    baselines.on_trial = lambda: trials.append(len(baselines.outcomes))
    prepared = prepare_problem(ScaleDirection(), make_problem(), LAYOUT, DataType.FP32, QUICK, tmp_path)
    with baselines.opened(QUICK, tmp_path):
        timing = round_timing(replace(QUICK, rounds=4), once=False)
        for number in range(3):
            if number:
                baselines.new_process()
            baselines.measure(
                3,
                LAYOUT,
                DataType.FP32,
                prepared,
                lambda: prepared,
                rounds=2,
                timing=timing,
                last=number == 2,
            )
        baselines.measure(4, LAYOUT, DataType.FP32, prepared, lambda: prepared, timing=timing, last=False)
    assert trials == [0, 0, 0, 0, 0, 1, 2, 2]
    found, failed, *unfinished = baselines.outcomes
    outcome = found.outcome
    assert len(outcome.rounds) == 6 and outcome.verification.passed
    assert [one.process for one in outcome.rounds[::2]] == [one.process for one in outcome.rounds[1::2]]
    assert len({one.process for one in outcome.rounds}) == 3
    time = kernel_time(outcome.rounds)
    assert unranked_ms(found.outcome) == outcome.measurement.time_ms == time.time_ms
    assert time.statistic == "median of 3 trials"
    assert not outcome.measurement.samples_ms
    assert failed.outcome.status is Status.RUN_ERROR
    # the run was ended before the last pass of this problem
    assert [one.outcome.problem_index for one in unfinished] == [4, 4]


class FakeExecutor:
    """A baseline that takes about 2 ms; one of five rounds is disturbed, up to threefold."""

    can_check = False

    def __init__(self, seed):
        self.chance, self.passes, self.verified = random.Random(seed), 0, None

    def set_problem(self, prepared):
        """Do nothing."""

    def new_process(self):
        self.passes += 1

    @property
    def process(self):
        return str(self.passes)

    def sample_ms(self):
        disturbed = self.chance.uniform(1, 3) if self.chance.random() < 0.2 else 1.0
        return 2.0 * disturbed * math.exp(self.chance.gauss(0, 0.005))

    def measure(self, key, problem_index, *, timing, verified):
        sample_ms = self.sample_ms()
        return Outcome(
            key=key,
            problem_index=problem_index,
            status=Status.OK,
            measurement=summarise([sample_ms] * 3, "stdrel", keep_samples=True),
        )


@pytest.mark.parametrize(("passes", "rounds"), [(3, 1), (3, 2), (5, 1)])
def test_equal_code_as_kernel_and_as_baseline_is_equally_fast(passes, rounds):
    """A ratio of 1, whatever disturbs both."""
    baselines = Baselines()
    device = FakeExecutor(passes)
    baselines._executors, baselines._descriptions = {"same": device}, {"same": ""}
    prepared = SimpleNamespace(on_device=False, types=SimpleNamespace(compute_type=None))
    logs = []
    for problem in range(2000):
        kernel = []
        for number in range(passes):
            device.new_process()
            kernel += [
                RoundTime(time_ms=device.sample_ms(), place=("0", number), process=device.process)
                for _ in range(rounds)
            ]
            last = number == passes - 1
            baselines.measure(
                problem,
                LAYOUT,
                DataType.FP32,
                prepared,
                ignore,
                rounds=rounds,
                timing=(None, None),
                last=last,
            )
        logs.append(math.log(unranked_ms(baselines.outcomes[-1].outcome) / kernel_time(kernel).time_ms))
    assert len(baselines.outcomes) == 2000
    # the mean of so few ratios has an error of its own, the median hardly
    assert abs(fmean(logs)) < 3 * stdev(logs) / math.sqrt(len(logs)) and abs(median(logs)) < 0.005


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
    assert ranking.ending is Ending.MAX_ROUNDS and ranking.remaining_samples == 0
    return ranking, simulated.samples


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


def test_pairs_leave_together_and_others_run_alone():
    (a, plain_a), b = pairs_of("ab")
    _, visits = played([(a, plain_a), b], failing={plain_a})
    assert Counter(visit.cell for visit in visits) == {a: 1, plain_a: 1, b[0]: 6, b[1]: 6}
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
    cases, unfused = paired_problems(given, frozenset("abc"), {"a": "x", "b": "y"})
    assert [case.problem for case in cases] == [
        *(make_problem(), fused(batch=2), make_problem(batch=2), fused(), make_problem())
    ]
    assert [case.instances for case in cases] == [*map(frozenset, ("abc", "b", "y", "abc", "xy"))]
    assert unfused.problems == {1: cases[2], 3: cases[4]}
    with pytest.raises(UsageError, match="no problem asks for more than its sums"):
        paired_problems(given[:1], frozenset("abc"), {"a": "x"})


ROUNDS = RunOptions(rounds=4, passes=2, timeout_s=5.0, max_time_s=0.05, cache=CacheMode.WARM)


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
        KernelBench(opened, ROUNDS, (), ignore, lock_folder=tmp_path) as one,
        KernelBench(opened, ROUNDS, (), ignore, lock=None) as second,
    ):
        bench = PairedBench(one, second)
        groups = run_groups(opened, ROUNDS, kernels, [own, beside], unfused)
        running = RunRounds(bench, ROUNDS, ignore).outcomes(groups)
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
    assert len(processes[1]) == len(processes[0]) == 2
    assert not processes[0] & processes[1]
