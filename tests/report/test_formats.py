"""All formats show every outcome, and rank only what was verified."""

from __future__ import annotations

import csv
import dataclasses
import io
import json

import pytest

from ckprof.model.outcome import Status
from ckprof.model.results import RunResults
from ckprof.report.csv_report import render_csv
from ckprof.report.json_report import SCHEMA, VERSION, render_json
from ckprof.report.rows import rows_of_problem
from ckprof.report.table import render_markdown, render_table


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
    text = render_table(results)
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
    text = render_table(dataclasses.replace(results, outcomes=tuple(outcomes)))
    assert "0 of 1 instances support this problem" in text


def test_without_verification_nothing_is_ranked(results: RunResults) -> None:
    outcomes = [o for o in results.outcomes if o.status is Status.OK and o.verification is None]
    text = render_table(dataclasses.replace(results, outcomes=tuple(outcomes)))
    assert "not verified, so nothing is ranked" in text


def test_markdown_is_a_table(results: RunResults) -> None:
    lines = render_markdown(results).splitlines()
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
