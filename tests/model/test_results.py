"""Results of runs and of batches: what succeeded, what is best, what was counted."""

from dataclasses import replace
from unittest.mock import Mock

from ckprof.model import results as model_results
from ckprof.model.outcome import BaselineOutcome, RoundTime, Status
from ckprof.model.results import BatchResults, ListResult, ListVerdict, status_counts
from ckprof.model.types import DataType
from tests.report.conftest import PROBLEM


def of(results, *keys):
    """Return the run with these outcomes alone."""
    return replace(results, outcomes=tuple(one for one in results.outcomes if one.key in keys))


def test_a_run_succeeds_if_nothing_failed_and_every_problem_was_served(results):
    unsupported = next(one.key for one in results.outcomes if one.status is Status.UNSUPPORTED)
    assert of(results, "k1", "k3", unsupported).succeeded
    assert not of(results, "k1", "k0").succeeded, "one computes wrong numbers"
    assert not of(results, unsupported).succeeded, "none serves the problem"
    assert not replace(of(results, "k1"), problems=(PROBLEM, PROBLEM)).succeeded
    assert of(results, "k1", "k0").failures == {"wrong_result": 1}
    assert replace(of(results, "k1"), problems=(PROBLEM, PROBLEM)).failures == {"problem without a kernel": 1}
    failed = BaselineOutcome(
        baseline="b", description="", layout="", dtype=DataType.FP16, outcome=results.outcomes[0]
    )
    assert not replace(of(results, "k1"), baselines=(failed,)).succeeded


def test_the_best_is_the_fastest_verified_one_of_its_problem(results):
    assert [one.key for one in results.of_problem(0)[:3]] == ["k2", "k1", "k3"]
    assert [one.rank for one in results.ranking(0)[:3]] == [1, 2, None]
    best = results.best(0)
    assert best is not None and best.key == "k2"
    assert results.best(1) is None and results.of_problem(1) == []
    assert of(results, "k0", "k3").best(0) is None
    moved = replace(results, outcomes=tuple(replace(one, problem_index=1) for one in results.outcomes))
    assert moved.best(0) is None and moved.best(1) is not None
    assert results.resolution(0).processes == of(results, "k2").resolution(0).processes


def test_reports_that_ask_again_cost_nothing(results, monkeypatch):
    ranked = Mock(side_effect=model_results.ranking)
    monkeypatch.setattr(model_results, "ranking", ranked)
    asked = replace(results)  # one that nobody has asked before
    for _ in range(3):
        assert asked.ranking(0) and asked.of_problem(0) and asked.ranking(5) == []
    assert ranked.call_count == len({outcome.problem_index for outcome in results.outcomes})


def test_counts_stand_in_the_order_of_statuses():
    counts = {Status.WRONG_RESULT: 1, Status.OK: 40, Status.RUN_ERROR: 0, Status.UNSUPPORTED: 13}
    assert status_counts(counts) == "40 ok, 13 unsupported, 1 wrong_result"
    assert status_counts({}) == ""


def test_a_batch_counts_its_lists_and_their_outcomes(results):
    run = ListResult(name="a", direction="fwd", verdict=ListVerdict.FAILED, results=results)
    broken = ListResult(name="b", direction="", verdict=ListVerdict.BROKEN)
    batch = BatchResults(root="", set_name="", found=3, lists=(run, broken, run))
    assert batch.verdicts == {ListVerdict.FAILED: 2, ListVerdict.BROKEN: 1}
    assert (run.counts[Status.OK], batch.counts[Status.OK], batch.counts[Status.RUN_ERROR]) == (3, 6, 2)
    assert broken.counts == {}
    assert batch.finished and not replace(batch, found=4).finished
    partial = replace(run, results=replace(results, partial=True))
    assert not replace(batch, lists=(run, broken, partial)).finished


def test_one_problem_says_what_its_passes_do_not_show(results):
    def measured(*processes, problems=1):
        rounds = tuple(RoundTime(time_ms=1.0, place=("", n), process=one) for n, one in enumerate(processes))
        outcomes = tuple(replace(one, rounds=rounds) for one in results.outcomes)
        return replace(results, outcomes=outcomes, problems=results.problems[:1] * problems)

    (note,) = measured("a", "b").notes
    assert note == "one problem: its passes follow one another, so slow changes of the machine are not seen"
    assert measured("a", "a").notes == () == measured("a", "b", problems=2).notes
    assert replace(measured("a", "b", problems=2), unfused_problems={0: 1}).notes == (note,)
