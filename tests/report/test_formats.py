"""All formats show every outcome, and rank only what was verified."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable

import pytest

from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.results import RunResults
from ckprof.report.rows import reason_of, requirement_counts, rows_of_problem
from ckprof.report.run_data import SCHEMA, VERSION, render_csv, render_json
from ckprof.report.run_table import run_document


def test_only_verified_results_are_ranked_and_the_fastest_is_first(results: RunResults) -> None:
    rows = rows_of_problem(results, 0)
    assert [(row.rank, row.instance.key) for row in rows[:3]] == [(1, "k2"), (2, "k1"), (None, "k3")]
    assert len(rows) == len(results.outcomes)
    best = results.best(0)
    assert best is not None and best.key == "k2"


def test_rates_follow_the_documented_formulas(results: RunResults) -> None:
    row = rows_of_problem(results, 0)[0]
    flop = 2 * 4 * 64 * 64 * 28 * 28 * 9
    moved = 2 * (4 * 64 * 28 * 28 + 64 * 64 * 9 + 4 * 64 * 28 * 28)
    assert row.gflops == pytest.approx(flop / 2e-3 / 1e9)
    assert row.gbytes == pytest.approx(moved / 2e-3 / 1e9)


def test_the_table_shows_every_status_and_ends_like_ckprofiler(results: RunResults) -> None:
    text = run_document(results).text()
    for status in Status:
        assert status.value in text
    assert "ok (not verified)" in text
    assert "because of run_error" in text  # reasons are put on one line
    assert "9 instances: 3 ok, 1 unsupported, 1 compile_error" in text
    assert (
        "Best configuration parameters:\nname: Kernel<2> (instance 2)\navg_time: 2 (median of 10)\n" in text
    )
    assert "±" in text


def test_an_empty_result_says_so(results: RunResults) -> None:
    outcomes = [o for o in results.outcomes if o.status is Status.UNSUPPORTED]
    text = run_document(dataclasses.replace(results, outcomes=tuple(outcomes))).text()
    assert "0 of 1 instance support this problem" in text


def test_without_verification_nothing_is_ranked(results: RunResults) -> None:
    outcomes = [o for o in results.outcomes if o.status is Status.OK and o.verification is None]
    text = run_document(dataclasses.replace(results, outcomes=tuple(outcomes))).text()
    assert "results were not verified" in text


def test_markdown_is_a_table(results: RunResults) -> None:
    lines = run_document(results).markdown().splitlines()
    assert lines[0].startswith("### Problem 0: fwd 2D G1 N4 K64 C64")
    assert sum(line.startswith("|") for line in lines) == 2 + len(results.outcomes)


def test_json_has_schema_version_and_everything(results: RunResults) -> None:
    report = json.loads(render_json(results))
    assert (report["schema"], report["version"]) == (SCHEMA, VERSION)
    outcomes = report["problems"][0]["outcomes"]
    assert len(outcomes) == len(results.outcomes)
    assert report["problems"][0]["best"] == "k2"
    assert outcomes[0]["verification"]["passed"] is True
    assert report["inputs"][0]["dropped_by_rule"] == {"comment": 1}
    assert report["instances"][3]["source"] == "list.conf:4"


def test_csv_has_one_row_per_outcome(results: RunResults) -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(results))))
    assert len(rows) == len(results.outcomes)
    assert rows[0]["rank"] == "1" and rows[0]["name"] == "kernel_2"
    assert {row["status"] for row in rows} == {status.value for status in Status}


REFUSALS = (
    UnmetRequirement(rule="vector-a", message="C = 3 is not a multiple of the A vector width 4"),
    UnmetRequirement(rule="specialization", message="Filter1x1Pad0 needs filter height = 1,\n got 3"),
)


@pytest.fixture
def rejected(results: RunResults) -> RunResults:
    """Three rejected instances, one of them with two splits: by both conditions, and by one alone."""
    unsupported = Outcome(key="k4", problem_index=0, status=Status.UNSUPPORTED, reason=REFUSALS[0].message)
    return dataclasses.replace(
        results,
        outcomes=(
            dataclasses.replace(unsupported, unmet_requirements=REFUSALS),
            dataclasses.replace(unsupported, key="k5", unmet_requirements=REFUSALS[:1]),
            dataclasses.replace(unsupported, key="k6", unmet_requirements=REFUSALS[1:]),
            dataclasses.replace(unsupported, key="k6", unmet_requirements=REFUSALS[1:], split_k=2),
            dataclasses.replace(unsupported, key="k6", split_k=-1, split_k_deduced=True),
            Outcome(
                key="k1",
                problem_index=0,
                status=Status.OK,
                measurement=results.outcomes[1].measurement,
                verification=results.outcomes[1].verification,
                split_k=7,
                split_k_deduced=True,
            ),
        ),
    )


def test_conditions_are_counted_by_instance(rejected: RunResults) -> None:
    found = {one.condition: (one.instances, one.alone) for one in requirement_counts(rejected, 0)}
    assert found == {"vector-a": (2, 1), "specialization": (2, 1)}


@pytest.mark.parametrize(
    "render", [lambda run: run_document(run).text(), lambda run: run_document(run).markdown()]
)
def test_why_shows_every_condition_and_what_each_rejects(
    rejected: RunResults, render: Callable[[RunResults], str]
) -> None:
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


def test_why_shortens_what_one_condition_says_per_axis(rejected: RunResults) -> None:
    twice = dataclasses.replace(rejected.outcomes[0], unmet_requirements=(*REFUSALS, *REFUSALS[1:]))
    assert reason_of(twice, why=True).endswith("needs filter height = 1, got 3 (+1)")


def test_machine_readable_reports_name_the_conditions(rejected: RunResults) -> None:
    problem = json.loads(render_json(rejected))["problems"][0]
    assert problem["refused_by"][0] == {
        "condition": "specialization",
        "instances": 2,
        "alone": 1,
        "example": REFUSALS[1].message,
        "example_instance": 4,
    }
    first = next(o for o in problem["outcomes"] if o["instance"] == 4)
    assert [one["condition"] for one in first["refusals"]] == ["vector-a", "specialization"]
    rows = list(csv.DictReader(io.StringIO(render_csv(rejected))))
    assert rows[1]["refused_by"] == "vector-a specialization"
    assert rows[1]["reason"] == REFUSALS[0].message


def test_every_outcome_names_its_split(rejected: RunResults) -> None:
    text = run_document(rejected).text()
    assert "SplitK" in text and "7 (auto)" in text and " auto " in text
    assert "6 runs of 4 instances: 1 ok, 5 unsupported" in text
    assert ", SplitK 7 (auto)" in text
    rows = list(csv.DictReader(io.StringIO(render_csv(rejected))))
    assert [(row["split_k"], row["split_k_deduced"]) for row in rows] == [
        *(("7", "True"), ("1", "False"), ("1", "False"), ("1", "False"), ("2", "False"), ("-1", "True")),
    ]
