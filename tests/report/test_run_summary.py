"""Tables on a terminal: they fit, and what they leave out is named."""

import csv
import dataclasses
import io
import re
from dataclasses import replace

import pytest

from ckprof.cli.console import Console
from ckprof.model.outcome import Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.report.run_summary import problems_without_best, render_best, terminal_document
from ckprof.report.run_table import run_document
from ckprof.report.table import Terminal
from tests.kernel_names import kernel_name

WIDE = Terminal(width=300)


def table_of(text):
    """Return the lines of the first table, from its headers to its last row."""
    lines = text.split("\n")
    lines = lines[next(n for n, line in enumerate(lines) if line.startswith("---")) - 1 :]
    return lines[: next(n for n, line in enumerate(lines) if line == "" or line.startswith(("(", "[")))]


def rejected_thrice(results):
    """Return the run with two instances rejected by one condition and one by another."""
    conditions = iter(["vector-c", "vector-c", "layout"])
    changed = [
        dataclasses.replace(
            outcome,
            status=Status.UNSUPPORTED,
            reason="not met",
            unmet_requirements=(UnmetRequirement(rule=next(conditions), message="not met"),),
        )
        if outcome.key in ("k4", "k5", "k6")
        else outcome
        for outcome in results.outcomes
    ]
    return dataclasses.replace(results, outcomes=tuple(changed))


def test_unsupported_instances_are_counted_by_reason(results):
    run = rejected_thrice(results)
    unsupported = sum(one.status is Status.UNSUPPORTED for one in run.outcomes)
    text = terminal_document(run).text(WIDE)
    assert len(table_of(text)) == 2 + len(run.outcomes) - unsupported
    assert f"{unsupported} unsupported, by the first condition that is not met:" in text
    assert re.search(r"^ +2  vector-c: not met \(instance 4\)$", text, re.MULTILINE)
    assert re.search(r"^ +1  layout: not met \(instance 6\)$", text, re.MULTILINE)
    full = terminal_document(run, all_rows=True).text(WIDE)
    assert len(table_of(full)) == 2 + len(run.outcomes)


@pytest.mark.parametrize("width", [70, 80, 100, 120])
def test_columns_are_dropped_until_the_table_fits(results, width):
    text = terminal_document(results, all_rows=True).text(Terminal(width=width))
    table = table_of(text)
    assert max(map(len, table)) <= width
    for title in ("rank", "instance", "status", "time [ms]"):
        assert title in table[0]
    missing = [title for title in ("GFLOP/s", "GB/s", "max error", "reason") if title not in table[0]]
    assert ("no room for" in text) == bool(missing)
    assert all(title in text.partition("(no room for ")[2].partition(";")[0] for title in missing)
    # why something failed is never lost
    assert "because of run_error" in text


def test_ties_are_said_even_without_room_for_the_column(results):
    best = next(one.measurement for one in results.outcomes if one.key == "k2")
    assert best is not None
    same = dataclasses.replace(best, samples=best.samples + 1)
    tied = [
        dataclasses.replace(one, measurement=same) if one.key == "k1" else one for one in results.outcomes
    ]
    run = dataclasses.replace(results, outcomes=tuple(tied))
    (row,) = [line for line in table_of(terminal_document(run).text(WIDE)) if "tied with the best" in line]
    assert "[2]" in row
    narrow = terminal_document(run).text(Terminal(width=60))
    assert "reason" in narrow.partition("(no room for ")[2]
    assert narrow.rstrip().endswith("(statistical tie of 2)")


def test_the_common_beginning_of_names_is_said_once(results):
    named = tuple(
        dataclasses.replace(one, name=str(name), parts=name.parts)
        for one in results.instances
        for name in (kernel_name("grouped_conv_fwd", f"fp16_{one.index}"),)
    )
    run = dataclasses.replace(results, instances=named)
    text = terminal_document(run).text(Terminal(width=80))
    assert text.count("grouped_conv_fwd") == 1 and "[2] fp16_2 " in text
    assert "[2] grouped_conv_fwd_fp16_2 " in terminal_document(run).text(WIDE)


def test_colours_mark_the_best_and_failures_and_change_nothing_else(results):
    plain = terminal_document(results, all_rows=True).text(WIDE)
    coloured = terminal_document(results, all_rows=True).text(Terminal(width=300, colour=True))
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    green = [line for line in coloured.split("\n") if line.startswith("\x1b[32m")]
    assert len(green) == 1 and "kernel_2" in green[0]
    failures = sum(one.status.is_failure for one in results.outcomes)
    assert sum(line.startswith("\x1b[31m") for line in coloured.split("\n")) == failures
    assert "\x1b" not in plain


class _Tty(io.StringIO):
    def isatty(self):
        return True


def test_the_terminal_of_a_console(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "91")
    assert Console(out=_Tty()).terminal == Terminal(width=91, colour=True)
    assert Console(out=io.StringIO()).terminal == Terminal(width=91)
    console = Console(out=io.StringIO())
    with console.collected():
        assert console.terminal is None, "a file is not a terminal"
    monkeypatch.delenv("COLUMNS")
    assert console.terminal is None
    monkeypatch.setenv("COLUMNS", "91")
    monkeypatch.setenv("NO_COLOR", "1")
    assert Console(out=_Tty()).terminal == Terminal(width=91, colour=False)


def test_the_best_of_each_problem(results):
    text = results.problems[0].describe()
    (row,) = csv.DictReader(io.StringIO(render_best(results, "csv", 1)))
    assert (row["problem_text"], row["rank"], row["name"]) == (text, "1", "kernel_2")
    assert [one["name"] for one in csv.DictReader(io.StringIO(render_best(results, "csv", 5)))] == [
        "kernel_2",
        "kernel_1",
    ]
    (line,) = render_best(results, "table", 1).splitlines()[2:]
    assert text in line and "[2] kernel_2" in line
    assert render_best(results, "md", 2).count("\n|") == 3
    assert problems_without_best(results) == []


def test_problems_without_a_best_are_named(results):
    text = results.problems[0].describe()
    unsupported = tuple(one for one in results.outcomes if one.status is Status.UNSUPPORTED)
    none = dataclasses.replace(results, outcomes=unsupported)
    reason = unsupported[0].reason.splitlines()[0]
    assert problems_without_best(none) == [f"no kernel serves problem 0: {text}: {reason}"]
    (line,) = render_best(none, "table", 1).splitlines()[2:]
    assert text in line and f"none: {reason}" in line and "kernel_" not in line
    assert f" none: {reason} " in render_best(none, "md", 1)
    (row,) = csv.DictReader(io.StringIO(render_best(none, "csv", 1)))
    assert (row["problem"], row["problem_text"], row["name"]) == ("0", text, "none")
    assert (row["time_ms"], row["reason"]) == ("", reason)
    failed = dataclasses.replace(results, outcomes=results.outcomes[:1])
    assert problems_without_best(failed) == [
        f"no kernel serves problem 0: {text}: wrong_result: 3 of 100 differ"
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_why_leads_back_to_the_line_of_the_list(results, width):
    named = tuple(
        replace(one, name=f"grouped_conv_fwd_fp16_nhwgc_2d_compv{one.index}_{'tile_' * 12}{one.index}",
                source=f"/a/long/folder/of/lists/legacy.conf:{one.index + 4}")
        for one in results.instances
    )  # fmt: skip
    run = replace(results, instances=named, why=True)
    table = table_of(terminal_document(run).text(Terminal(width=width)))
    (best,) = [line for line in table if "[2] " in line]
    assert best.rstrip().endswith(" legacy.conf:6") and max(map(len, table)) <= width
    assert "/a/long/folder/of/lists/legacy.conf:6" in run_document(run).text()


def test_the_fastest_within_an_error(results):
    errors = {"k1": 1.0, "k2": 16.0}
    outcomes = [
        replace(one, verification=replace(one.verification, max_error=errors[one.key], spacing=0.5))
        if one.key in errors
        else one
        for one in results.outcomes
    ]
    run = replace(results, outcomes=tuple(outcomes))
    rows = [*csv.DictReader(io.StringIO(render_best(run, "csv", 9, 2.0)))]
    assert [(row["name"], float(row["error_ulp"])) for row in rows] == [("kernel_1", 2.0)]
    assert render_best(run, "csv", 1) != render_best(run, "csv", 1, 2.0)
    (sentence,) = problems_without_best(run, 1.5)
    assert sentence.endswith("no verified kernel has an error of 1.5 ulp or less")
    assert not problems_without_best(run, 2.0)
