"""Baselines in reports: rows of their own, and a ratio in the rows of what they can be compared with."""

import csv
import io
from dataclasses import replace

import pytest

from ckprof.model.outcome import BaselineOutcome, Outcome, RoundTime, Status
from ckprof.model.problem_case import ProblemCase
from ckprof.model.ranking import kernel_time, middle_of, summed_up, unranked_ms
from ckprof.model.types import ComputeType, DataType
from ckprof.report.rows import rows_with_baselines
from ckprof.report.run_data import as_json, render_csv
from ckprof.report.run_summary import render_best, terminal_document
from ckprof.report.run_table import run_document
from ckprof.report.table import Terminal
from ckprof.report.totals import networks_of_run
from ckprof.results import Results
from tests.kernel_names import kernel_name

from .conftest import PASSED, measured


def baseline(ms=3.0, *, status=Status.OK, dtype=DataType.FP16, reason=""):
    return BaselineOutcome(
        baseline="vendor",
        description="vendor 1.2",
        layout="nhwgc",
        dtype=dtype,
        outcome=Outcome(
            key="vendor",
            problem_index=0,
            status=status,
            reason=reason,
            measurement=measured(ms) if ms else None,
            verification=PASSED if status is Status.OK else None,
        ),
    )


def with_baselines(results, *found):
    instances = tuple(replace(one, layout="nhwgc") for one in results.instances)
    return replace(results, instances=instances, baseline_ids=("vendor",), baselines=found)


def test_a_baseline_stands_behind_what_is_faster(results):
    rows = rows_with_baselines(with_baselines(results, baseline(3.0)), 0)
    assert [(row.rank, row.baseline) for row in rows[:3]] == [(1, ""), (None, "vendor"), (2, "")]
    assert [row.ratios.get("vendor") for row in rows[:3]] == [3.0 / 2.0, 1.0, 3.0 / 4.0]
    assert rows[1].title == "baseline vendor: vendor 1.2"
    slowest = rows_with_baselines(with_baselines(results, baseline(9.0)), 0)
    assert [row.baseline for row in slowest[:3]] == ["", "", "vendor"]


def test_a_wrong_result_has_no_ratio(results):
    rows = rows_with_baselines(with_baselines(results, baseline()), 0)
    assert all(not row.ratios for row in rows if row.outcome.status is not Status.OK)


@pytest.mark.parametrize("other", [baseline(dtype=DataType.BF16), baseline(None, status=Status.RUN_ERROR)])
def test_nothing_is_compared_with_what_differs_or_failed(results, other):
    rows = rows_with_baselines(with_baselines(results, other), 0)
    assert sum(row.baseline == "vendor" for row in rows) == 1
    assert all("vendor" not in row.ratios for row in rows if not row.baseline)


def test_products_of_tf32_are_compared_with_each_other(results):
    single = tuple(
        replace(
            one,
            dtype=DataType.FP32,
            layout="nhwgc",
            types=replace(one.types, compute_type=ComputeType.TF32 if one.index == 2 else None),
        )
        for one in results.instances
    )
    found = (
        baseline(3.0, dtype=DataType.FP32),
        replace(baseline(1.0, dtype=DataType.FP32), compute_type=ComputeType.TF32),
    )
    rounded = replace(results, instances=single, baseline_ids=("vendor",), baselines=found)
    rows = rows_with_baselines(rounded, 0)
    ratios = {row.instance.index: row.ratios for row in rows if row.rank is not None}
    assert ratios == {2: {"vendor": 1.0 / 2.0}, 1: {"vendor": 3.0 / 4.0}}
    assert [row.title for row in rows if row.baseline] == [
        "baseline vendor (fp32 tf32 nhwgc): vendor 1.2",
        "baseline vendor (fp32 nhwgc): vendor 1.2",
    ]
    plain = as_json(rounded)
    assert [one.get("compute_type") for one in plain["instances"][:3]] == [None, None, "tf32"]
    assert [one.get("compute_type") for one in plain["problems"][0]["baselines"]] == [None, "tf32"]


def test_a_failed_baseline_fails_the_run(results):
    fine = replace(results, outcomes=results.outcomes[1:3])
    assert with_baselines(fine, baseline()).succeeded
    assert not with_baselines(fine, baseline(None, status=Status.WRONG_RESULT)).succeeded
    # what the vendor's library does not support is no failure of the run
    assert with_baselines(fine, baseline(None, status=Status.UNSUPPORTED)).succeeded


@pytest.mark.parametrize(
    "render", [lambda run: run_document(run).text(), lambda run: run_document(run).markdown()]
)
def test_tables_mark_the_baseline(results, render):
    text = render(with_baselines(results, baseline()))
    assert "vs vendor" in text and "baseline vendor: vendor 1.2" in text
    row = next(line for line in text.splitlines() if "kernel_2" in line)
    assert "1.50" in row
    assert "'vs vendor': speed-up over the baseline" in text
    assert "vs vendor" not in render(results)


def test_a_reason_of_a_baseline_is_shown(results):
    failed = baseline(None, status=Status.UNSUPPORTED, reason="pads differ")
    for text in (
        run_document(with_baselines(results, failed)).text(),
        terminal_document(with_baselines(results, failed)).text(Terminal(width=240)),
    ):
        assert any("baseline vendor" in line and "pads differ" in line for line in text.splitlines())
    assert "The baseline vendor was not measured" in run_document(with_baselines(results)).text()


def test_the_terminal_table_shortens_the_names_of_kernels_alone(results):
    named = tuple(
        replace(one, name=str(name), parts=name.parts)
        for one in results.instances
        for name in (kernel_name("a_long_common", "prefix", str(one.index)),)
    )
    text = terminal_document(with_baselines(replace(results, instances=named), baseline())).text(
        Terminal(width=120)
    )
    assert "common to all names: a_long_common_prefix" in text
    assert "baseline vendor: vendor 1.2" in text


def test_programs_get_ratios_and_no_rows_of_baselines(results):
    rows = Results(with_baselines(results, baseline())).to_dicts()
    assert len(rows) == len(results.outcomes)
    assert {row["name"]: row["vs_vendor"] for row in rows}["kernel_2"] == 1.5


def in_rounds(outcome, times):
    """Return an outcome whose visits took these times."""
    visits = [
        (
            RoundTime(time_ms=ms, spread_ms=0.01, place=("0", number)),
            replace(measured(ms), samples_ms=(ms,)),
        )
        for number, ms in enumerate(times)
    ]
    return summed_up(outcome, visits, lambda visits, samples: "stdrel")


@pytest.mark.parametrize("rounds", [1, 3, 4, 5, 8])
def test_kernels_and_baselines_of_the_same_rounds_are_equally_fast(results, rounds):
    """One definition of a time: whatever states the ratio, like is divided by like."""
    times = [2.0, 9.0, 2.2, 2.1, 7.0, 2.05, 2.3, 8.0][:rounds]
    vendor = baseline()
    vendor = replace(vendor, outcome=in_rounds(vendor.outcome, times))
    outcomes = [
        in_rounds(one, times) if one.key == "k2" else in_rounds(one, [2 * ms for ms in times])
        for one in results.outcomes
        if one.key in ("k1", "k2")
    ]
    run = with_baselines(replace(results, outcomes=tuple(outcomes)), vendor)
    time_ms = kernel_time(run.outcomes[1].rounds).time_ms
    assert unranked_ms(vendor.outcome) == time_ms == middle_of(times)
    ratios = {row.instance.key: row.ratios["vendor"] for row in rows_with_baselines(run, 0)}
    assert ratios == {"k2": 1.0, "k1": 0.5, "vendor": 1.0}
    (problem,) = as_json(run)["problems"]
    assert [one["ratios"]["vendor"] for one in problem["outcomes"]] == [1.0, 0.5]
    assert problem["baselines"][0]["measurement"]["time_ms"] == time_ms
    lines = csv.DictReader(io.StringIO(render_csv(run)))
    assert sorted(float(line["vs_vendor"]) for line in lines) == [0.5, 1.0, 1.0]
    assert [line["vs_vendor"] for line in csv.DictReader(io.StringIO(render_best(run, "csv", 1)))] == ["1.0"]
    assert [row["vs_vendor"] for row in Results(run).to_dicts()] == [1.0, 0.5]
    (network,) = networks_of_run(replace(run, cases=(ProblemCase(problem=run.problems[0], count=3),)))
    totals = {total.library: total.ratio for total in network.totals}
    assert totals["baseline vendor"] == totals["best kernel per layer"] == 1.0
