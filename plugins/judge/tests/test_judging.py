"""What failures mean, of a bench that fails as a script says."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ckprof.model.outcome import Outcome, Status
from ckprof_plugins.judge import judging
from ckprof_plugins.judge.candidate import Candidate
from ckprof_plugins.judge.judging import Judge
from ckprof_plugins.judge.places import Place, reached
from ckprof_plugins.judge.told import Seen
from ckprof_plugins.judge.verdicts import JudgeOptions, Verdict

from .test_places import task_of


class ScriptedBench:
    """Fails where a function of the launch's number in its process, its operands and its problem says so."""

    def __init__(self, fails, seen, is_stale):
        self.fails, self.seen, self.is_stale = fails, Seen(evidence=seen), is_stale
        self.before = self.current = None
        self.number = self.processes = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def open(self):
        return "scripted"

    def new_process(self):
        self.number, self.processes = 0, self.processes + 1

    def result(self, given):
        # that of the launch before, or zeros
        return self.before if self.is_stale else np.zeros(3)

    def trial(self, given, split_k=1, flush_bytes=0):
        self.number += 1
        self.before, self.current = self.current, given.reference
        status = self.fails(self, given)
        return Outcome(key="c", problem_index=0, status=status, reason=status.value)


@pytest.fixture(scope="module")
def everywhere():
    """Problems of each call, which take long to draw."""
    return functools.lru_cache(None)(lambda *given: tuple(reached(*given[:3], splits=given[3])))


@pytest.fixture
def judge(registry, monkeypatch, tmp_path, everywhere):
    monkeypatch.setattr(judging, "reached", lambda *given, splits: [*everywhere(*given, splits)])

    def make(fails, seen="", budget_s=20.0, is_stale=False, elsewhere=""):
        bench = ScriptedBench(fails, seen, is_stale)

        @contextmanager
        def given(task, place, operands, options):
            reference = np.arange(3.0) + operands.seed
            yield SimpleNamespace(problem=place.problem, operands=operands, reference=reference)

        def outcome_of(bench, task, place, operands, options):
            with given(task, place, operands, options) as one:
                return bench.trial(one, place.split_k)

        monkeypatch.setattr(judging, "outcome_of", outcome_of)
        monkeypatch.setattr(judging, "prepared", given)
        monkeypatch.setattr(judging, "evidence_elsewhere", lambda *given: elsewhere)
        monkeypatch.setattr(Judge, "bench", lambda self, variables=None: bench)
        task, usual = task_of(registry, "gemm")
        profiler = SimpleNamespace(emit=lambda event: None)
        options = JudgeOptions(budget_s=budget_s, seed=1)
        made = Judge(
            profiler,
            Candidate(path=Path("c"), function="f", kind="python", loaded=Path("c"), digests={}),
            task,
            [Place(usual)],
            options,
            tmp_path,
        )
        made.run()
        return made

    return make


def _status(is_wrong):
    return Status.WRONG_RESULT if is_wrong else Status.OK


def test_a_right_one_is_tried_everywhere(judge):
    made = judge(lambda bench, given: Status.OK)
    assert (made.verdict, made.complete, made.finding) == (Verdict.RIGHT, True, None)
    assert len(made.right) == len(made.planned) > 100
    # each with exact and with usual operands
    assert made.launches > 2 * len(made.planned)


def test_one_that_is_right_here_alone_is_dishonest(judge):
    made = judge(lambda bench, given: Status.OK, elsewhere="wrong there")
    assert (made.verdict, made.finding.evidence) == (Verdict.DISHONEST, "wrong there")


def test_without_time_it_is_incomplete_and_not_wrong(judge):
    made = judge(lambda bench, given: Status.OK, budget_s=0.0)
    assert (made.verdict, made.complete, made.right) == (Verdict.RIGHT, False, [])


def test_a_wrong_tail_is_made_as_small_as_it_fails(judge):
    made = judge(lambda bench, given: _status(given.problem.n % 8 == 1 and given.problem.n > 1))
    finding = made.finding
    assert finding.verdict is Verdict.WRONG
    assert (finding.place.problem.m, finding.place.problem.n, finding.place.problem.k) == (1, 9, 1)
    assert finding.found_on.problem.n % 8 == 1 and finding.kind not in ("asked", "")


def test_a_problem_that_is_not_supported(judge):
    made = judge(lambda bench, given: Status.UNSUPPORTED)
    assert made.verdict is Verdict.REFUSED and "does not support the problem" in made.finding.evidence
    made = judge(lambda bench, given: Status.UNSUPPORTED if given.problem.batch > 1 else Status.OK)
    assert made.verdict is Verdict.RIGHT and {one.place.problem.batch for one in made.refused} == {2}


@pytest.mark.parametrize(
    ("fails", "is_stale", "verdict", "evidence"),
    [
        # what launches before have computed is returned
        (lambda bench, given: bench.number > 1, True, Verdict.DISHONEST, "returns the result of that launch"),
        # something else is: a workspace that is not cleared
        (lambda bench, given: bench.number > 1, False, Verdict.WRONG, "after other launches in its process"),
        # right at first, and never again
        (lambda bench, given: bench.number > 12, False, Verdict.DISHONEST, "wrong in all of the last"),
        # a race
        (lambda bench, given: bench.number in (9, 20, 31), False, Verdict.WRONG, "in 3 of 40 launches"),
        # anywhere, always
        (lambda bench, given: True, False, Verdict.WRONG, "wrong_result"),
    ],
    ids=["cached", "state", "first", "race", "always"],
)
def test_what_failures_mean(judge, fails, is_stale, verdict, evidence):
    made = judge(lambda bench, given: _status(fails(bench, given)), is_stale=is_stale)
    assert made.finding.verdict is verdict and evidence in made.finding.evidence


def test_evidence_decides(judge):
    made = judge(lambda bench, given: Status.RUN_ERROR, seen="it changed time.time")
    assert (made.verdict, made.finding.evidence) == (Verdict.DISHONEST, "it changed time.time")


def test_one_that_hangs_is_not_tried_again_and_again(judge):
    made = judge(lambda bench, given: Status.RUN_TIMEOUT)
    assert made.verdict is Verdict.WRONG and made.finding.place == made.finding.found_on
    assert made.launches == 0
