"""Kernels in rounds: what they share, what each is given, and what becomes of those that misbehave."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ckprof.errors import ToolchainError
from ckprof.events import Message
from ckprof.measure.kernel_measurement import KernelMeasurement
from ckprof.measure.options import CacheMode, RunOptions, round_options, share_of_round, timing_settings
from ckprof.measure.workers import DeviceLostError
from ckprof.model.outcome import LEFT_EARLY, SETTLED, Status
from ckprof.model.ranking import kernel_time
from ckprof.model.types import DataType

from .fakes import ARCH, ScaleDirection, make_instance, make_problem
from .run_instances import run_instances
from .test_hostile import EXPECTED

compiler = pytest.mark.compiler
QUICK = RunOptions(timeout_s=5.0, max_time_s=0.02, cache=CacheMode.WARM, keep_samples=True)


class Kept:
    """What a run tells, what it measures, and how much is left then: measurements and unknown outcomes."""

    def __init__(self):
        self.texts, self.visits, self.left = [], [], []
        self.done = 0

    def tell(self, event):
        if isinstance(event, Message):
            self.texts.append(event.text)

    @property
    def losses(self):
        return [text for text in self.texts if text.startswith("worker lost: ")]

    # as a recorder

    def add(self, sample):
        self.visits.append(sample)

    add_lost = add

    def end_round(self, report):
        pass

    # as what says how long it takes

    def begin(self):
        pass

    def outcome_known(self):
        pass

    def measured(self, left, unknown):
        self.left.append((left, unknown))
        return left, 0.0


@pytest.fixture
def start(library, tmp_path, opened):
    """Return the generator of outcomes, and what a run tells and measures."""

    def call(kernels, options=QUICK, problems=None):
        seen = Kept()
        outcomes = run_instances(
            library,
            ARCH,
            ScaleDirection(),
            [make_instance(kernel) for kernel in kernels],
            problems or [make_problem()],
            options,
            seen.tell,
            lock_dir=tmp_path,
            on_open=opened.append,
            recorder=seen,
            pace=seen,
        )
        return outcomes, seen

    return call


@pytest.fixture
def opened():
    """What makes outcomes of the visits of :func:`start`."""
    return []


@compiler
def test_every_kernel_runs_in_every_round_in_another_order(start):
    names = ["ok", "prints", "truncates", "removes_files"]
    outcomes, seen = start(names)
    found = {outcome.key: outcome for outcome in outcomes}
    assert [*found] == names, "outcomes come in the order of the list"
    assert all(outcome.status is Status.OK for outcome in found.values())
    # those that are surely slow may leave, and the reference runs twice
    first = [one.outcome.key for one in seen.visits if one.visit.round == 1]
    assert sorted(set(first)) == sorted(names) and first != names
    rounds = [*dict.fromkeys(one.visit.round for one in seen.visits)]
    assert rounds == [*range(1, len(rounds) + 1)] and 3 <= len(rounds) <= 7
    for outcome in found.values():
        visits = [one.outcome.measurement for one in seen.visits if one.outcome.key == outcome.key]
        pooled = [sample for visit in visits for sample in visit.samples_ms]
        assert outcome.measurement.samples == len(outcome.measurement.samples_ms)
        assert set(outcome.measurement.samples_ms) <= set(pooled)
        assert len(outcome.rounds) == len(visits)
        assert outcome.measurement.median_ms == kernel_time(outcome.rounds).time_ms


@pytest.mark.thorough
@compiler
def test_the_order_is_that_of_the_seed(start):
    orders = []
    for seed in (3, 3, 4):
        outcomes, seen = start(
            ["ok", "prints", "truncates", "removes_files", "prints_much"],
            RunOptions(seed=seed, max_time_s=0.02),
        )
        list(outcomes)
        orders.append([one.outcome.key for one in seen.visits if one.visit.round == 1][:5])
    assert orders[0] == orders[1] != orders[2]


@compiler
def test_kernels_that_fail_run_once_and_are_known_at_once(start):
    outcomes, seen = start(["ok", "segfault", "wrong", "prints"])
    order = [outcome.key for outcome in outcomes]
    assert set(order[:2]) == {"segfault", "wrong"} and order[2:] == ["ok", "prints"]
    keys = [one.outcome.key for one in seen.visits]
    assert keys.count("segfault") == keys.count("wrong") == 1


@compiler
def test_what_is_left_only_shrinks_to_nothing(start):
    outcomes, seen = start(["ok", "prints", "wrong"], problems=[make_problem(8), make_problem(5)])
    assert len(list(outcomes)) == 6
    assert seen.left[0][1] == 3
    for index in (0, 1):
        of_each = zip(seen.visits, seen.left, strict=True)
        left = [known for one, (known, _) in of_each if one.outcome.problem_index == index]
        assert max(left) <= 3 * QUICK.rounds + 1 and left[-1] <= 2 * 2


@compiler
def test_rounds_are_spread_over_worker_processes(start):
    options = replace(QUICK, rounds=4, sessions=4)
    outcomes, seen = start(["ok", "prints"], options, [make_problem(8), make_problem(5)])
    found = list(outcomes)
    assert seen.losses == []
    processes = [{one.process for one in outcome.rounds} for outcome in found if outcome.key == "ok"]
    assert [len(of_problem) for of_problem in processes] == [4, 4]
    assert processes[0] == processes[1], "they take turns at each problem"
    assert all(outcome.status is Status.OK for outcome in found)


@compiler
def test_a_kernel_alone_is_spread_as_well(start):
    (outcome,) = start(["ok"], replace(QUICK, rounds=2, sessions=2))[0]
    assert len({one.process for one in outcome.rounds}) == 2


@compiler
def test_after_a_crash_another_process_measures(start):
    outcomes, _ = start(["ok", "segfault", "prints"], replace(QUICK, sessions=1))
    found = {outcome.key: outcome for outcome in outcomes}
    assert found["segfault"].status is Status.RUN_ERROR
    processes = {one.process for key in ("ok", "prints") for one in found[key].rounds}
    assert len(processes) == 2 and "" not in processes


@compiler
@pytest.mark.parametrize("when", ["before", "beside a kernel that fails", "beside a kernel that works"])
def test_a_lost_device_ends_the_run_and_is_no_outcome(start, tmp_path, monkeypatch, when):
    lost = tmp_path / "lost"
    monkeypatch.setenv("FAKE_LOST", str(lost))
    found = []
    if when == "before":
        lost.touch()
        outcomes, _ = start(["ok", "prints"])
    else:
        last = "segfault" if "fails" in when else "prints"
        outcomes, _ = start(["ok", last], replace(QUICK, rounds=1))
        found.append(next(outcomes))
        lost.touch()
    with pytest.raises(
        ToolchainError, match="cannot be used any more: a problem could not be loaded: DeviceError"
    ) as raised:
        found.extend(outcomes)
    # of a kernel that was in use it is remembered, of others there is nothing to remember
    beside = isinstance(raised.value, DeviceLostError)
    assert beside is ("beside" in when)
    if beside:
        assert raised.value.outcome.key == last and not raised.value.outcome.launched
        assert raised.value.outcome.reason.startswith("the device failed beside this kernel, ")
    assert [one.key for one in found] == ["ok"] * (when != "before")
    lost.unlink()
    found = list(start(["ok", "segfault"])[0])
    assert {one.key: (one.status, one.launched) for one in found} == {
        "ok": (Status.OK, True),
        "segfault": (Status.RUN_ERROR, True),
    }


@compiler
def test_an_abort_is_measured_again_once(start):
    """Runtimes of devices abort where they know no other way: that may pass."""
    outcomes, seen = start(["aborts", "ok"], replace(QUICK, rounds=1))
    first, last = outcomes
    assert first.status is Status.RUN_ERROR and "SIGABRT" in first.reason
    assert last.status is Status.OK
    assert len(seen.losses) == 2


@compiler
def test_a_crash_is_not_repeated_with_more_launches(start, monkeypatch):
    """Those are for what is wrong now and then; what dies in its first launch dies in the next one."""
    requests = []

    class Noted(KernelMeasurement):
        def __init__(self, library, prepared, request):
            requests.append(request)
            super().__init__(library, prepared, request)

    monkeypatch.setattr("ckprof.measure.executor.KernelMeasurement", Noted)
    list(start(["aborts", "wrong", "ok"], replace(QUICK, rounds=1))[0])
    attempts = {key: [one for one in requests if one.key == key] for key in ("aborts", "wrong")}
    assert [one.suspected for one in attempts["aborts"]] == [False, False]
    assert len({one.timing.min_samples for one in attempts["aborts"]}) == 1
    # alone in its worker there is nobody else to blame
    assert [one.suspected for one in attempts["wrong"]] in ([False], [False, True])


@compiler
def test_closing_tells_what_was_measured(start, opened):
    outcomes, seen = start(["ok", "prints", "segfault"], RunOptions(rounds=1000, max_time_s=1.0))
    assert next(outcomes).key == "segfault"
    outcomes.close()
    (rounds,) = opened
    known = {one.outcome.key for one in seen.visits}
    # the last one may not have reached its reader
    assert {outcome.key for outcome in rounds.abandoned} == known
    for outcome in rounds.abandoned:
        if outcome.key != "segfault":
            assert outcome.status is Status.OK and outcome.measurement.samples >= 1


@pytest.mark.thorough
@compiler
def test_a_result_that_breaks_in_a_later_round_is_wrong(start):
    # right in the first run and the samples of the first round
    outcomes, _ = start(["ok", "wrong_later"], RunOptions(max_time_s=0.5, min_samples=30, rounds=5))
    found = {outcome.key: outcome for outcome in outcomes}
    assert found["wrong_later"].status is Status.WRONG_RESULT
    assert found["wrong_later"].measurement is None
    assert found["ok"].status is Status.OK


#: right results, whatever else they do; a limit that another kernel has set may keep them from doing it
HARMLESS = {"redirects", "unmaps_shared"}
#: none of these takes its time limit
FAST = ("forges_line", "exits_later", "only_first_run", "writes_5000_after", "claims_short", "sets_alarm")


@compiler
@pytest.mark.parametrize("kernels", [FAST, pytest.param(tuple(EXPECTED), marks=pytest.mark.slow)])
def test_hostile_kernels_have_one_outcome_each(start, kernels):
    options = replace(QUICK, timeout_s=1.5, splits=(-1,), peak_flops=((DataType.FP32, 1e12),))
    outcomes, _ = start((*kernels, "ok"), options)
    found = list(outcomes)
    assert sorted(outcome.key for outcome in found) == sorted((*kernels, "ok"))
    for outcome in found:
        statuses, reason = EXPECTED.get(outcome.key, ({Status.OK}, ""))
        if outcome.status is Status.OK:
            assert Status.OK in statuses or outcome.key in HARMLESS, outcome.key
        else:
            assert outcome.status in statuses, (outcome.key, outcome.reason)
            assert re.search(reason, outcome.reason), outcome.reason


def test_the_rounds_share_what_was_asked_for():
    options = RunOptions(min_samples=10, min_time_s=0.3, max_time_s=0.5, rounds=5)
    rounds = round_options(options)
    assert (rounds.min_rounds, rounds.max_rounds) == (3, 5)
    share = share_of_round(options, rounds)
    assert (share.min_samples, share.fewest_samples) == (4, 1)
    assert share.min_time_s == pytest.approx(0.1) and share.max_time_s == pytest.approx(0.1)
    assert share.keep_samples and share.criterion_parameters == {}
    two = RunOptions(rounds=2, criterion="sample-count", criterion_parameters=(("count", 25.0),))
    share = share_of_round(two, round_options(two))
    assert (share.criterion_parameters, share.fewest_samples) == ({"count": 13}, 2)
    assert timing_settings(options).fewest_samples == 3


def test_names_of_endings_differ_from_those_of_criteria():
    from ckprof.measure.stopping import CRITERIA

    assert not {LEFT_EARLY, SETTLED} & {*CRITERIA}
