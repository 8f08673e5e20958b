"""What epilogues cost, in every format of a run."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from ckprof.report.run_data import as_json, render_csv
from ckprof.report.run_summary import terminal_document
from ckprof.report.run_table import run_document
from ckprof.report.table import Terminal
from tests.compare.test_epilogue_cost import outcome, results

TIMES = {1: 2.0, 2: 2.2, 3: 2.1}
SLOWER = {number: 1.25 * time for number, time in TIMES.items()}


@pytest.fixture
def run():
    return results(outcome("f", SLOWER, 0), outcome("p", TIMES, 1, side="x"), pairs={"f": "p", "g": "q"})


@pytest.mark.parametrize(
    "render",
    [
        lambda run: run_document(run).text(),
        lambda run: run_document(run).markdown(),
        lambda run: terminal_document(run).text(Terminal(width=200)),
    ],
)
def test_people_see_times_ratio_interval_and_bytes(run, render):
    shown = render(run)
    (row,) = [line for line in shown.splitlines() if "1.250" in line]
    assert all(text in row for text in ("[0] f", "2.5000", "2.0000", "39.2 %", " to "))
    assert "Problem 1, problem 0 without what is fused to it" in shown
    assert "no cost" not in shown


def test_kernels_without_a_cost_are_counted(run):
    shown = run_document(replace(run, outcomes=(*run.outcomes, outcome("g", SLOWER, 0)))).text()
    assert "1 kernel has no cost: the same without the epilogue has no time on problem 1" in shown


def test_programs_get_every_figure(run):
    first, second = as_json(run)["problems"]
    (cost,) = first["epilogue_costs"]
    assert (cost["key"], cost["unfused_key"], cost["unfused_problem"]) == ("f", "p", 1)
    assert cost["ratio"] == pytest.approx(1.25) and cost["ratio_low"] < 1.25 < cost["ratio_high"]
    assert "epilogue_costs" not in second
    rows = list(csv.DictReader(io.StringIO(render_csv(run))))
    assert float(rows[0]["epilogue_ratio"]) == pytest.approx(1.25)
    assert float(rows[0]["epilogue_unfused_ms"]) == 2.0
    assert rows[1]["epilogue_ratio"] == ""


def test_other_runs_say_nothing_of_it(run):
    plain = replace(run, unfused_instances={}, unfused_problems={})
    assert "epilogue" not in render_csv(plain) + run_document(plain).text()
    assert all("epilogue_costs" not in problem for problem in as_json(plain)["problems"])
