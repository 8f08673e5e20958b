"""One run with a store: everything that shows its results names the same winner with the same time."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof import InstanceQuery, Profiler, Store
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import StoreOptions
from ckprof.report.run_summary import render_best

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

PROBLEM = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"


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
