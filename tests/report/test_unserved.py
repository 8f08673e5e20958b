"""Why no kernel serves a problem: runs, stores and comparisons of the same outcomes say the same."""

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from ckprof.cli.main import main
from ckprof.compare.compare import compare
from ckprof.compare.side import side_of
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.results import BatchResults, BuildSummary, ListResult, ListVerdict, RunResults
from ckprof.model.types import TypeSet
from ckprof.report.batch_report import batch_document
from ckprof.report.ci_formats import render_batch_junit, render_run_github, render_run_junit
from ckprof.report.comparison_data import render_json as compared_json
from ckprof.report.comparison_text import comparison_document
from ckprof.report.run_data import render_csv, render_json
from ckprof.report.run_summary import best_table, problems_without_best, render_best, terminal_document
from ckprof.report.run_table import run_document
from ckprof.report.table import Terminal
from ckprof.report.unserved import main_reason, unserved_in, unserved_of
from ckprof.store.writer import StoreWriter
from tests.cases import Cases
from tests.measured import Made, attempts, later

MADE = Made(problems=2, instances=4, rounds=1, noise=0.0)
#: what becomes of the kernels on the first problem -> the reason that is said; the second one is served
ENDS = {
    "unsupported": (
        [(Status.UNSUPPORTED, "vector", f"C = 3, vector {size}") for size in (8, 4, 2, 8)],
        "C = 3, vector 8",
    ),
    "mixed": (
        [
            (Status.RUN_ERROR, "", "signal 11\nwith a core"),
            (Status.UNSUPPORTED, "vector", "C = 3, vector 8"),
            (Status.RUN_ERROR, "", "signal 11"),
            (Status.WRONG_RESULT, "", "3 of 100 differ"),
        ],
        "run_error: signal 11 (2 of 4 kernels)",
    ),
    "even": (
        [
            (Status.UNSUPPORTED, "b", "B is odd"),
            (Status.UNSUPPORTED, "a", "A is odd"),
            (Status.UNSUPPORTED, "b", "B is 3"),
            (Status.UNSUPPORTED, "a", "A is 3"),
        ],
        "A is 3 (2 of 4 kernels)",
    ),
    "unverified": ([(Status.OK, "", "")] * 4, "results were not verified"),
}


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ([], "nothing was measured"),
        ([(Status.UNSUPPORTED, ["c"], "C = 3 is odd\nmore")] * 2, "C = 3 is odd"),
        # requirements say the same in other words
        (
            [
                (Status.UNSUPPORTED, ["c"], "C = 3, vector 8"),
                (Status.UNSUPPORTED, ["c"], "C = 3, vector 4"),
                (Status.RUN_ERROR, [], "signal 11"),
            ],
            "C = 3, vector 4 (2 of 3 kernels)",
        ),
        ([(Status.RUN_ERROR, [], "signal 11")], "run_error: signal 11"),
        ([(Status.OK, [], "")], "results were not verified"),
    ],
)
def test_the_reason_is_that_of_most_kernels(ends, reason):
    assert main_reason(ends) == main_reason(reversed(ends)) == reason


def stored(ends, made=MADE):
    """Return attempts that ended in these ways on the first problem."""
    found = list(attempts(made))
    first = found[0].key.problem
    result = []
    for one in found:
        status, rule, reason = ends[int(one.key.kernel.instance, 16)]
        if one.key.problem != first:
            result.append(one)
        elif status is Status.OK:
            result.append(replace(one, verification=None))
        else:
            result.append(
                replace(
                    one,
                    status=status,
                    reason=reason,
                    requirements=(rule,) if rule else (),
                    measurement=None,
                    verification=None,
                    split_chosen=None,
                )
            )
    return result


def run_of(made):
    """Return a run with the same outcomes."""
    found = list(made)
    problems = tuple(dict.fromkeys(one.key.problem for one in found))
    kernels = {one.key.kernel.instance: one.kernel for one in found}
    return RunResults(
        direction="fwd",
        target="cpu",
        arch="",
        environment={},
        conversions=(),
        instances=tuple(
            SelectedKernel(
                key=key,
                index=number,
                name=kernel.name,
                instance_string=kernel.instance_string,
                dtype=kernel.dtype,
                layout=kernel.layout,
                types=TypeSet.shared(kernel.dtype),
                ndim=2,
            )
            for number, (key, kernel) in enumerate(sorted(kernels.items()))
        ),
        problems=problems,
        build=BuildSummary(),
        outcomes=tuple(
            Outcome(
                key=one.key.kernel.instance,
                problem_index=problems.index(one.key.problem),
                status=one.status,
                reason=one.reason,
                unmet_requirements=tuple(
                    UnmetRequirement(rule=rule, message=one.reason) for rule in one.requirements
                ),
                measurement=one.measurement,
                verification=one.verification,
            )
            for one in found
        ),
    )


@pytest.fixture(params=ENDS)
def case(request):
    ends, reason = ENDS[request.param]
    return stored(ends), reason


def test_stores_and_comparisons_say_it(case):
    found, reason = case
    side = side_of("x.db", found)
    (unserved,) = unserved_of(side.by_problem)
    assert (unserved.reason, unserved.number) == (reason, 1)
    whole = side_of("y.db", attempts(replace(MADE, session=later())))
    for old, new, expected in ((side, side, (reason, reason)), (whole, side, (None, reason))):
        comparison = compare(old, new)
        (record,) = json.loads(compared_json(comparison))["unserved"]
        assert (record["old"], record["new"]) == expected
        assert f"none: {reason}" in comparison_document(comparison).markdown().replace("\\", "")
    assert json.loads(compared_json(compare(whole, whole)))["unserved"] == []


def test_results_show_says_it(case, tmp_path, capsys):
    found, reason = case
    with StoreWriter(tmp_path / "x.db") as writer:
        writer.append_many(found)
    assert main(["results", "show", str(tmp_path / "x.db")]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "none:" in line]
    assert f"none: {reason}" in line


def test_runs_say_it_in_all_formats(case):
    found, reason = case
    results = run_of(found)
    unserved = unserved_in(results, 0)
    assert unserved is not None and unserved.reason == reason
    assert unserved_in(results, 1) is None
    assert [one["unserved"] for one in json.loads(render_json(results))["problems"]] == [reason, None]
    assert problems_without_best(results)[0].endswith(f": {reason}")
    row, *_ = csv.DictReader(io.StringIO(render_best(results, "csv", 1)))
    assert (row["name"], row["reason"]) == ("none", reason)
    for text in (render_best(results, "md", 1), best_table(results, 1).text()):
        assert f"none: {reason}" in text.replace("\\", "")
    for text in (run_document(results).text(), terminal_document(results).text(Terminal(width=200))):
        assert f": {reason}." in text
    if any(one.status is Status.OK for one in results.of_problem(0)):
        # the kernels ran: nothing fails
        return
    root = ElementTree.fromstring(render_run_junit(results))  # noqa: S314 - our own text
    served = root.find(".//testcase[@name='an instance supports the problem']/failure")
    assert served is not None and str(served.get("message")).endswith(f"outcomes is ok: {reason}")
    assert f"outcomes is ok: {reason}: " in render_run_github(results)
    if all(one.status is Status.UNSUPPORTED for one in results.of_problem(0)):
        item = ListResult(name="x", direction="fwd", verdict=ListVerdict.FAILED, results=results)
        batch = BatchResults(root="", set_name="", found=1, lists=(item,))
        assert f"({reason})" in batch_document(batch).text()


@pytest.mark.parametrize("outcomes", [(), (Outcome(key="k4", problem_index=1, status=Status.UNSUPPORTED),)])
def test_a_problem_that_an_ended_run_did_not_come_to_is_not_measured(results, outcomes):
    """Every format says so, and that it is partial; none says that no instance supports the problem."""
    ended = replace(
        results,
        problems=(*results.problems, results.problems[0]),
        outcomes=(*results.outcomes, *outcomes),
        partial=True,
    )
    found = unserved_in(ended, 1)
    assert found is not None and not found.complete
    batch = BatchResults(
        root="",
        set_name="",
        found=1,
        lists=(ListResult(name="l", direction="fwd", verdict=ListVerdict.FINE, results=ended),),
    )
    shown = {
        "table": run_document(ended).text(),
        "terminal": terminal_document(ended).text(Terminal(width=200)),
        "markdown": run_document(ended).markdown(),
        "best": render_best(ended, "table", 1),
        "best as csv": render_best(ended, "csv", 1),
        "csv": render_csv(ended),
        "json": render_json(ended),
        "junit": render_run_junit(ended),
        "junit of a tree": render_batch_junit(batch),
        "github": render_run_github(ended),
    }
    with Cases() as cases:
        for form, text in shown.items():
            with cases.case(form):
                assert "not measured, the run was ended before" in text
                assert "partial" in text.lower()
                assert "0 of" not in text and "no instance supports the problem" not in text
    complete = replace(ended, partial=False)
    assert "partial" not in (render_csv(complete) + run_document(complete).text()).lower()
    unserved = unserved_in(complete, 1)
    assert unserved is not None and unserved.complete
