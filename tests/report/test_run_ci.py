"""Runs as JUnit and annotations: every outcome is there, under a name that other kernels do not change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckprof.errors import ExitCode
from ckprof.model.outcome import Status
from ckprof.model.results import BatchResults, ListResult, ListVerdict
from ckprof.report.ci_formats import (
    render_batch_github,
    render_batch_junit,
    render_run_github,
    render_run_junit,
)
from tests.report.services import cases, obeyed


def test_a_case_for_each_outcome(results):
    found = cases(render_run_junit(results))
    assert len(found) == len(results.outcomes) + 1
    failed = sum(outcome.status.is_failure for outcome in results.outcomes)
    assert list(found.values()).count("failure") == failed > 3
    assert list(found.values()).count("skipped") == 1
    assert {name for _, name in found if "list.conf" in name} == set()


def test_names_do_not_depend_on_other_kernels(results):
    """A kernel whose name was taken has digits of its key behind it: which one has, the order decides."""
    first, second, *others = results.instances
    key = "0123456789abcdef"
    named = replace(first, name="kernel", key="f" * 16), replace(second, name=f"kernel_{key[:8]}", key=key)
    swapped = replace(first, name=f"kernel_{'f' * 8}", key="f" * 16), replace(second, name="kernel", key=key)
    outcomes = tuple(
        replace(outcome, key={first.key: "f" * 16, second.key: key}.get(outcome.key, outcome.key))
        for outcome in results.outcomes
    )
    before, after = (
        cases(render_run_junit(replace(results, instances=(*pair, *others), outcomes=outcomes)))
        for pair in (named, swapped)
    )
    assert before == after


def test_splits_are_cases_of_their_own(results):
    twice = (*results.outcomes, *(replace(outcome, split_k=4) for outcome in results.outcomes))
    names = [name for _, name in cases(render_run_junit(replace(results, outcomes=twice)))]
    assert sum(name.endswith("(split-K 4)") for name in names) == len(results.outcomes)


def test_a_problem_that_none_supports_fails(results):
    unsupported = tuple(outcome for outcome in results.outcomes if outcome.status is Status.UNSUPPORTED)
    alone = replace(results, outcomes=unsupported)
    assert sorted(cases(render_run_junit(alone)).values()) == ["failure", "skipped"]
    (remark,) = obeyed(render_run_github(alone))
    assert remark["title"] == "no instance supports the problem"


def test_an_annotation_for_each_failure(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("list.conf").touch()
    read = obeyed(render_run_github(results))
    errors = [one for one in read if one["level"] == "error"]
    assert len(errors) == sum(outcome.status.is_failure for outcome in results.outcomes)
    wrong = next(one for one in errors if one["title"].startswith("wrong_result"))
    assert (wrong["file"], wrong["line"]) == ("list.conf", "1")
    assert wrong["message"].startswith("3 of 100 differ\n")


def test_lists_of_a_batch(results):
    lists = (
        ListResult(name="a.conf", direction="fwd", verdict=ListVerdict.FAILED, results=results),
        ListResult(
            name="b.conf",
            direction="",
            verdict=ListVerdict.BROKEN,
            reason="b.conf:3:4: wrong",
            exit_code=ExitCode.INPUT,
        ),
        ListResult(name="c.conf", direction="fwd", verdict=ListVerdict.SKIPPED, reason="not asked for"),
    )
    batch = BatchResults(root="conf", set_name="", found=3, lists=lists)
    found = cases(render_batch_junit(batch))
    assert found["b.conf", "can be read"] == "error"
    assert found["c.conf", "can be read"] == "skipped"
    assert sum(suite.startswith("a.conf: fwd ") for suite, _ in found) == len(results.outcomes) + 1
    assert any(one["message"] == "wrong" for one in obeyed(render_batch_github(batch)))
