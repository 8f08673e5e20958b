"""Comparing and settling what real kernels were measured to take; all that shows results names one winner."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof import InstanceQuery, Profiler
from ckprof.errors import ExitCode
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import StoreOptions
from ckprof.model.roofline import CeilingKind
from ckprof.report.run_summary import render_best
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.evidence import kept_ceilings

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

PROBLEM = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"
ROUNDS = ("--round-time", "0.02", "--exhaustive", "--max-rounds", "4")


@pytest.fixture
def swept(ckprof, short_list):
    ckprof(*("sweep", "fwd", "--conf", short_list, "--problem", PROBLEM, "--store", "old.db", *ROUNDS)).ok()
    return short_list


#: medians of the rounds in turn: such numbers leave open which of the two is faster
STEADY = (1.0, 1.01, 0.99)
SCATTERED = (0.8, 1.1, 1.5)


def with_medians(source, target, medians, session, compiler=None):
    """Copy a store as if another session had measured these medians, whatever this machine measured."""
    with Store(source) as store, StoreWriter(target) as writer:
        for one in store:
            measured, key = one.measurement, one.key
            if measured is not None:
                median = medians[one.conditions.round % len(medians)]
                measured = replace(measured, time_ms=median, min_ms=min(measured.min_ms, median))
            if compiler is not None:
                key = replace(key, toolchain=replace(key.toolchain, compiler=compiler))
            writer.append(
                replace(one, key=key, session=replace(one.session, uid=session), measurement=measured)
            )


def test_unclear_rows_are_measured_again(ckprof, swept, tmp_path):
    with_medians(tmp_path / "old.db", tmp_path / "before.db", STEADY, "d" * 32)
    with_medians(tmp_path / "old.db", tmp_path / "new.db", SCATTERED, "e" * 32)
    first = ckprof("compare", "before.db", "new.db", "--format", "json")
    unclear = json.loads(first.out)["verdicts"]["unclear"]
    assert unclear, first.out
    again = ckprof(
        *("compare", "before.db", "new.db", "--settle", "--conf", swept, "--settle-rounds", "4"),
        *("--format", "json"),
    )
    assert again.code in (ExitCode.OK, ExitCode.FAILED), again.err
    compared = json.loads(again.out)
    assert compared["settled"] == unclear
    assert f"settling {unclear} of {unclear} rows that are unclear or fail" in again.err
    measured = [row for row in compared["rows"] if row["old_rounds"] == 4 and row["verdict"]]
    assert len(measured) >= unclear
    # the stores are as they were
    assert json.loads(ckprof("compare", "before.db", "new.db", "--format", "json").out) == json.loads(
        first.out
    )


def test_other_code_is_not_taken_for_what_was_measured(ckprof, swept, tmp_path):
    with_medians(tmp_path / "old.db", tmp_path / "before.db", STEADY, "d" * 32)
    with_medians(tmp_path / "old.db", tmp_path / "new.db", SCATTERED, "e" * 32, "clang version 22.0")
    done = ckprof("compare", "before.db", "new.db", "--settle", "--conf", swept)
    done.fails_with(
        ExitCode.USAGE, "new.db cannot be measured again here", "clang version 22.0", "--compiler"
    )


#: two layers of a network; the second one is there three times
NETWORK = """{
  "schema": "ckprof.problems", "version": 1, "origin": "two layers",
  "problems": [
    {"name": "stem", "count": 1, "groups": 1, "batch": 1, "out_channels": 16, "in_channels": 16,
     "filter": [3, 3], "input": [10, 10], "strides": [1, 1], "dilations": [1, 1], "left_pads": [1, 1],
     "right_pads": [1, 1]},
    {"name": "block", "count": 3, "groups": 1, "batch": 1, "out_channels": 16, "in_channels": 32,
     "filter": [1, 1], "input": [10, 10], "strides": [1, 1], "dilations": [1, 1], "left_pads": [0, 0],
     "right_pads": [0, 0]}
  ]
}
"""


@pytest.mark.parametrize(
    "command",
    [("sweep", "fwd", *ROUNDS), ("run", "fwd", "--rounds", "2", "--max-time", "0.05")],
    ids=["sweep", "run"],
)
def test_layers_lines_and_ceilings_are_kept_whatever_measures(ckprof, short_list, tmp_path, command):
    (tmp_path / "network.json").write_text(NETWORK)
    ckprof(*command, "--conf", short_list, "--problems", "network.json", "--store", "r.db").ok()
    text = ckprof("results", "show", "r.db").out
    (row,) = [line for line in text.splitlines() if "best kernel per layer" in line]
    assert "4 of 4" in row
    with Store(tmp_path / "r.db") as store:
        kernels = {attempt.key.kernel.instance: attempt.kernel for attempt in store}
        ceilings = [
            ceiling for session in store.sessions() for ceiling in kept_ceilings(session, store.devices()[0])
        ]
    assert {ceiling.kind for ceiling in ceilings} >= {CeilingKind.MEASURED}
    lines = short_list.read_text().splitlines()
    for kernel in kernels.values():
        name, _, line = kernel.source.rpartition(":")
        assert Path(name).name == short_list.name and lines[int(line) - 1].strip()


def test_everything_names_the_same_winner(ckprof, short_list, tmp_path):
    profiler = Profiler()
    run = RunOptions(max_time_s=0.1, min_samples=5)
    plan = profiler.plan(InstanceQuery(conf=short_list, directions="fwd"), [PROBLEM], run=run)
    results = profiler.execute(replace(plan, store=StoreOptions(store=tmp_path / "r.db")))

    best = results.best()
    assert best is not None and best.time_ms is not None
    assert sum(one.rank is not None for one in results) > 1
    name, time_ms, text = best.name, best.time_ms, f"{best.time_ms:.4f}"
    formats = profiler.registry.formats

    for form in ("table", "md"):
        table = results.render(formats.find(form))
        first = next(line for line in table.splitlines() if re.match(r"\W*1 ", line))
        assert name[:30] in first and text in first
        assert f"{time_ms:.4g} ms" in table
    ranked = [row for row in results.to_dicts() if row["rank"] == 1]
    assert (ranked[0]["name"], ranked[0]["time_ms"]) == (name, time_ms)
    line = next(csv.DictReader(io.StringIO(results.render(formats.find("csv")))))
    assert (line["name"], float(line["time_ms"])) == (name, time_ms)
    data = json.loads(results.render(formats.find("json")))
    (of_problem,) = data["problems"]
    assert of_problem["best"] == best.outcome.key == of_problem["outcomes"][0]["key"]
    assert of_problem["outcomes"][0]["measurement"]["time_ms"] == time_ms
    line = next(csv.DictReader(io.StringIO(render_best(results.data, "csv", 1))))
    assert (line["name"], float(line["time_ms"])) == (name, time_ms)
    assert text in render_best(results.data, "table", 1)

    with Store(tmp_path / "r.db") as store:
        (stored,) = store.best()
        assert (stored.kernel.name, stored.time_ms) == (name, time_ms)
    shown = ckprof("results", "show", "r.db").ok()
    (line,) = (line for line in shown.out.splitlines() if name in line)
    assert f"{time_ms:.4g}" in line.split()

    # the report of a run and its store are two sides with the same times
    Path("run.json").write_text(results.render(formats.find("json")))
    for sides in (("r.db", "r.db"), ("run.json", "r.db")):
        compared = ckprof("compare", *sides, "--format", "json", "--fail-on", "status").ok()
        (problem,) = json.loads(compared.out)["problems"]
        assert problem["old_best"] == problem["new_best"] == name
        assert (problem["old_ms"], problem["new_ms"]) == (time_ms, time_ms)
