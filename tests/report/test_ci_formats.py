"""JUnit and annotations: all outcomes are there, under names that other kernels do not change."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ckprof.compare.compare import compare
from ckprof.compare.side import side_of
from ckprof.errors import ExitCode
from ckprof.model.outcome import Status
from ckprof.model.parity import DEFAULT_FAIL_ON, ParityFinding, StringComparison
from ckprof.model.results import BatchResults, ListResult, ListVerdict
from ckprof.report.ci_formats import (
    render_batch_github,
    render_batch_junit,
    render_comparison_github,
    render_comparison_junit,
    render_parity_github,
    render_parity_junit,
    render_run_github,
    render_run_junit,
)
from tests.measured import Made, attempts
from tests.report.conftest import NEW
from tests.report.services import cases, obeyed
from tests.report.test_parity_text import FINE, FULL, report


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


@pytest.mark.parametrize(
    ("fail_on", "failures", "skipped"), [(DEFAULT_FAIL_ON, 3, 1), (tuple(ParityFinding), 5, 0), ((), 0, 1)]
)
def test_junit_has_a_case_per_instance(fail_on, failures, skipped):
    root = ElementTree.fromstring(render_parity_junit(report(FULL, FINE, fail_on=fail_on)))  # noqa: S314
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == (
        "7",
        str(failures),
        str(skipped),
    )
    assert {failure.get("type") for failure in root.iter("failure")} == {
        trouble.value for trouble in fail_on
    } & {trouble.value for trouble in ParityFinding}
    assert [suite.get("name") for suite in root] == ["fwd a.conf", "fwd b.conf"]


def test_github_has_a_remark_per_finding_on_its_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.conf").touch()
    read = obeyed(render_parity_github(report(FULL, FINE)))
    assert [one["level"] for one in read] == ["error", "error", "error", "notice", "notice"]
    missing, extra, duplicate, _, _ = read
    assert (missing["file"], missing["line"], missing["title"]) == ("a.conf", "2", "parity: missing")
    assert "Kernel<2>" in missing["message"] and "the conversion drops it" in missing["message"]
    assert "file" not in extra, "there is no c.json"
    assert duplicate["line"] == "9"
    log = render_parity_github(report(FULL, FINE))
    assert "PARITY FAILS" in log.splitlines()[-1]


def test_junit_holds_only_what_xml_can():
    odd = StringComparison(
        title="a\x1bb", first="x", second="y", first_count=1, second_count=1, matches=FULL.matches
    )
    ElementTree.fromstring(render_parity_junit(report(odd)))  # noqa: S314
    broken = replace(NEW, failing=lambda p, i: Status.RUN_ERROR if i == 0 else None)
    new = side_of("new.db", [replace(one, reason="\x1b[31mred") for one in attempts(broken)])
    comparison = compare(side_of("old\x1b.db", attempts(Made(seed=1))), new)
    ElementTree.fromstring(render_comparison_junit(comparison))  # noqa: S314 - our own text


def test_junit_has_a_case_per_row(comparison):
    root = ElementTree.fromstring(render_comparison_junit(comparison))  # noqa: S314 - our own text
    assert len(root.findall("testsuite")) == 3
    assert len(root.findall("testsuite/testcase")) == 12
    assert {one.get("type") for one in root.findall(".//failure")} == {"slower", "status"}
    assert len(root.findall(".//skipped")) == 1
    assert sum(int(suite.get("failures", "0")) for suite in root) == 2


def test_github_names_what_is_slower_or_fails(comparison):
    read = obeyed(render_comparison_github(comparison))
    assert sorted(one["title"].partition(":")[0] for one in read) == ["slower", "status"]
    assert {one["level"] for one in read} == {"error"}
    lost = replace(comparison, only_old=(comparison.rows[0].old,))
    assert [one["level"] for one in obeyed(render_comparison_github(lost))].count("notice") == 1
