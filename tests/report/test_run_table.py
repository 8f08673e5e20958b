"""Tables of runs: every outcome, what limits the trust in its times, and the best kernel."""

import csv
import dataclasses
import io
from dataclasses import replace

import pytest

from ckprof.model.kernel import Substitution
from ckprof.model.outcome import Status
from ckprof.report.run_data import as_json, render_csv
from ckprof.report.run_summary import terminal_document
from ckprof.report.run_table import run_document, run_notes
from ckprof.report.table import Terminal
from tests.report.conftest import REFUSALS


def test_the_table_shows_every_status_and_ends_like_ckprofiler(results):
    text = run_document(results).text()
    for status in Status:
        assert status.value in text
    assert "ok (not verified)" in text
    assert "because of run_error" in text  # reasons are put on one line
    assert "9 instances: 3 ok, 1 unsupported, 1 compile_error" in text
    assert "Best configuration parameters:\nname: Kernel<2> (instance 2)\ntime_ms: 2\n" in text
    assert text.endswith("winner: [2] kernel_2, list.conf:3, 2 ms, 2x faster than the next\n")
    assert "±" in text


def test_what_launchers_do_around_kernels_is_a_column(results):
    first, *others = results.instances
    prepared = (replace(first, preparation=("C to multiples of 8", False)), *others)
    text = run_document(dataclasses.replace(results, instances=prepared)).text()
    assert "preparation" in text and text.count("C to multiples of 8") >= 1
    assert "preparation" not in run_document(results).text()


def test_an_empty_result_says_so(results):
    outcomes = [o for o in results.outcomes if o.status is Status.UNSUPPORTED]
    text = run_document(dataclasses.replace(results, outcomes=tuple(outcomes))).text()
    assert "0 of 1 instance support this problem" in text


def test_without_verification_nothing_is_ranked(results):
    outcomes = [o for o in results.outcomes if o.status is Status.OK and o.verification is None]
    text = run_document(dataclasses.replace(results, outcomes=tuple(outcomes))).text()
    assert "results were not verified" in text


def test_markdown_is_a_table(results):
    lines = run_document(results).markdown().splitlines()
    assert lines[0].startswith("### Problem 0: fwd 2D G1 N4 K64 C64")
    assert sum(line.startswith("|") for line in lines) == 2 + len(results.outcomes)


@pytest.mark.parametrize(
    "render", [lambda run: run_document(run).text(), lambda run: run_document(run).markdown()]
)
def test_why_shows_every_condition_and_what_each_rejects(rejected, render):
    both = (
        "[vector-a] C = 3 is not a multiple of the A vector width 4; "
        "[specialization] Filter1x1Pad0 needs filter height = 1, got 3"
    )
    plain = render(rejected)
    assert both not in plain and "only this" not in plain and REFUSALS[0].message in plain
    explained = render(dataclasses.replace(rejected, why=True))
    assert both in explained
    line = next(line for line in explained.splitlines() if line.lstrip("| ").startswith("vector-a"))
    assert line.replace("|", "").split()[1:3] == ["2", "1"]


def test_every_outcome_names_its_split(rejected):
    text = run_document(rejected).text()
    assert "SplitK" in text and "7 (auto)" in text and " auto " in text
    assert "6 runs of 4 instances: 1 ok, 5 unsupported" in text
    assert ", SplitK 7 (auto)" in text
    rows = list(csv.DictReader(io.StringIO(render_csv(rejected))))
    assert [(row["split_k"], row["split_k_deduced"]) for row in rows] == [
        *(("7", "True"), ("1", "False"), ("1", "False"), ("1", "False"), ("2", "False"), ("-1", "True")),
    ]


@pytest.mark.parametrize("stopped_by", ["max-time", "timeout", "stdrel"])
def test_cut_off_and_noisy_times_are_counted_under_the_table(results, stopped_by):
    changed = [
        dataclasses.replace(
            one,
            measurement=dataclasses.replace(
                one.measurement,
                stopped_by=stopped_by,
                spread_ms=spread_ms,
                units=("tiles", "fp32")[: 2 if one.key == "k1" else 1],
            ),
        )
        if one.measurement and one.key in ("k1", "k2")
        else one
        for spread_ms, one in zip(range(len(results.outcomes)), results.outcomes, strict=True)
    ]
    run = dataclasses.replace(results, outcomes=tuple(changed))
    stopped = "stopped by the time limit before the criterion: 2 of 4 times"
    for text in (
        run_document(run, None).text(),
        terminal_document(run, notes=None).text(Terminal(width=300)),
    ):
        assert (stopped in text) == (stopped_by != "stdrel")
        assert "noisy: 2 of 4 times, spread above 5 % of the median" in text
        assert "compute path: tiles (2 kernels), fp32 (1 kernel)" in text
    assert "noisy" not in run_document(results).text() and "stopped by" not in run_document(results).text()


def test_notes_are_said_once_per_run_and_four_by_default(results):
    run = dataclasses.replace(results, warnings=tuple("abcd"))
    twice = dataclasses.replace(
        run,
        problems=(results.problems[0], dataclasses.replace(results.problems[0], batch=99)),
        outcomes=(*run.outcomes, *(dataclasses.replace(one, problem_index=1) for one in run.outcomes)),
        cases=(),
    )
    every = run_notes(twice)
    assert len(every) > 4 and every[0] == "warning: a"
    for document, expected in (
        (run_document(twice), [*every[:3], f"{len(every) - 3} more notes: -v"]),
        (terminal_document(twice, notes=None), every),
    ):
        assert document.text().count("\n".join(expected)) == 1
        assert (
            document.text().count("\nwinner: [2] kernel_2, list.conf:3, 2 ms, 2x faster than the next\n") == 2
        )


def test_kernels_in_place_of_instances_are_named(results):
    few, other = (
        Substitution(problem_index=index, kernel=f"kernel {index}", instances=(0, 1, 2, 3))
        for index in (0, 1)
    )
    told = replace(results, why=True, substitutions=(few, other))
    text = run_document(told).text()
    # those that ran
    assert "instances 1-3: this problem is computed by kernel 0 here, whatever" in text
    assert "kernel 1" not in text.replace("kernel_1", "")
    assert as_json(told)["problems"][0]["substitutions"] == [
        {"kernel": "kernel 0", "instances": [0, 1, 2, 3]}
    ]
    failed = replace(few, instances=(0, 5))
    assert "kernel 0 here" not in run_document(replace(told, substitutions=(failed,))).text()
