"""Tables of runs: every outcome, what limits the trust in its times, the best kernel, and baselines."""

import csv
import dataclasses
import io
from dataclasses import replace

import pytest

from ckprof.model.kernel import Substitution
from ckprof.model.outcome import BaselineOutcome, Outcome, RoundTime, Status
from ckprof.model.problem_case import ProblemCase
from ckprof.model.ranking import kernel_time, middle_of, summed_up, unranked_ms
from ckprof.model.types import ComputeType, DataType
from ckprof.report.rows import rows_with_baselines
from ckprof.report.run_data import as_json, render_csv
from ckprof.report.run_summary import render_best, terminal_document
from ckprof.report.run_table import run_document, run_notes
from ckprof.report.table import Terminal
from ckprof.report.totals import networks_of_run
from ckprof.results import Results
from tests.kernel_names import kernel_name
from tests.report.conftest import PASSED, REFUSALS, measured


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


def test_results_without_a_ranking_say_so(results):
    outcomes = [o for o in results.outcomes if o.status is Status.UNSUPPORTED]
    text = run_document(dataclasses.replace(results, outcomes=tuple(outcomes))).text()
    assert "0 of 1 instance support this problem" in text
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


def test_a_baseline_stands_behind_what_is_faster_and_wrong_results_have_no_ratio(results):
    rows = rows_with_baselines(with_baselines(results, baseline(3.0)), 0)
    assert [(row.rank, row.baseline) for row in rows[:3]] == [(1, ""), (None, "vendor"), (2, "")]
    assert [row.ratios.get("vendor") for row in rows[:3]] == [3.0 / 2.0, 1.0, 3.0 / 4.0]
    assert rows[1].title == "baseline vendor: vendor 1.2"
    slowest = rows_with_baselines(with_baselines(results, baseline(9.0)), 0)
    assert [row.baseline for row in slowest[:3]] == ["", "", "vendor"]
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
