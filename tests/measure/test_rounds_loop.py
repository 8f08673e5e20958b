"""Kernels in rounds: what they share, what each is given, and what becomes of those that misbehave."""

import re
from dataclasses import replace

import pytest

from ckprof.measure.options import RunOptions
from ckprof.model.outcome import Status
from ckprof.model.ranking import kernel_time
from ckprof.model.types import DataType

from .fakes import make_problem
from .run_instances import IN_ROUNDS
from .test_cheats import TIME
from .test_hostile import EXPECTED


def test_every_kernel_runs_in_every_round_in_another_order(start):
    names = ["ok", "prints", "truncates", "removes_files"]
    outcomes, seen = start(names)
    found = {outcome.key: outcome for outcome in outcomes}
    assert [*found] == names, "outcomes come in the order of the list"
    assert all(outcome.status is Status.OK for outcome in found.values())
    keys = [[one.outcome.key for one in seen.samples if one.planned.round == number] for number in (1, 2)]
    assert sorted(keys[0]) == sorted(names), "one pass prunes nothing"
    assert sorted(keys[1]) == sorted(names) and keys[0] != keys[1]
    rounds = [*dict.fromkeys(one.planned.round for one in seen.samples)]
    assert rounds == [*range(1, len(rounds) + 1)] and 3 <= len(rounds) <= 7
    for outcome in found.values():
        visits = [one.outcome.measurement for one in seen.samples if one.outcome.key == outcome.key]
        pooled = [sample for visit in visits for sample in visit.samples_ms]
        assert outcome.measurement.samples == len(outcome.measurement.samples_ms)
        assert set(outcome.measurement.samples_ms) <= set(pooled)
        assert len(outcome.rounds) == len(visits)
        assert outcome.measurement.time_ms == kernel_time(outcome.rounds).time_ms


@pytest.mark.thorough
def test_the_order_is_that_of_the_seed(start):
    orders = []
    for seed in (3, 3, 4):
        outcomes, seen = start(
            ["ok", "prints", "truncates", "removes_files", "prints_much"],
            RunOptions(seed=seed, max_time_s=0.02),
        )
        list(outcomes)
        orders.append([one.outcome.key for one in seen.samples if one.planned.round == 1][:5])
    assert orders[0] == orders[1] != orders[2]


def test_each_pass_is_a_process_that_goes_over_all_problems(start):
    options = replace(IN_ROUNDS, rounds=4, passes=4)
    for _ in range(5):
        outcomes, seen = start(["ok", "prints"], options, [make_problem(8), make_problem(5)])
        found = list(outcomes)
        if not seen.losses:
            break
        # a launch that waits for a CPU for long is suspected, and measured again by another process
        assert all(TIME in loss for loss in seen.losses)
    visits = [*dict.fromkeys((one.process, one.outcome.problem_index) for one in seen.samples)]
    assert [index for _, index in visits] == [0, 1] * 4
    assert sum("operands and reference in" in text for text in seen.texts) == 2, "they stay for all passes"
    processes = [{one.process for one in outcome.rounds} for outcome in found if outcome.key == "ok"]
    assert [len(of_problem) for of_problem in processes] == [4, 4]
    assert processes[0] == processes[1]
    assert all(outcome.status is Status.OK for outcome in found)


def test_a_kernel_alone_is_spread_as_well(start):
    (outcome,) = start(["ok"], replace(IN_ROUNDS, rounds=2, passes=2))[0]
    assert len({one.process for one in outcome.rounds}) == 2


def test_a_crash_begins_no_other_pass(start):
    outcomes, _ = start(["ok", "segfault", "prints"], replace(IN_ROUNDS, rounds=3, passes=1))
    found = {outcome.key: outcome for outcome in outcomes}
    assert found["segfault"].status is Status.RUN_ERROR
    processes = {one.process for key in ("ok", "prints") for one in found[key].rounds}
    assert len(processes) == 1 and "" not in processes


#: right results, whatever else they do; a limit that another kernel has set may keep them from doing it
HARMLESS = {"redirects", "unmaps_shared"}
#: none of these takes its time limit
FAST = ("forges_line", "exits_later", "only_first_run", "writes_5000_after", "claims_short", "sets_alarm")


@pytest.mark.parametrize("kernels", [FAST, pytest.param(tuple(EXPECTED), marks=pytest.mark.slow)])
def test_hostile_kernels_have_one_outcome_each(start, kernels):
    options = replace(IN_ROUNDS, timeout_s=1.5, splits=(-1,), peak_flops=((DataType.FP32, 1e12),))
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
