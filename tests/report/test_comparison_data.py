"""Comparisons for programs."""

import csv
import io
import json

from ckprof.report.comparison_data import render_csv, render_json


def test_json_has_everything(comparison):
    data = json.loads(render_json(comparison))
    assert (data["schema"], data["version"]) == ("ckprof.compare", 3)
    assert data["verdicts"] == {"same": 9, "faster": 0, "slower": 1, "unclear": 1}
    assert len(data["rows"]) == 12
    slower = next(row for row in data["rows"] if row["verdict"] == "slower")
    assert slower["ratio_low"] < slower["ratio"] < slower["ratio_high"]
    times = slower["new_ms"] / slower["old_ms"]
    assert slower["ratio_low"] < times < slower["ratio_high"]
    unclear = next(row for row in data["rows"] if row["verdict"] == "unclear")
    assert unclear["passes_needed"] > unclear["old_passes"] == 3
    assert data["canaries"] == ["arithmetic", "bandwidth"] and not data["shift"]["unexplained"]
    assert [row["worsened"] for row in data["rows"]].count(True) == 1
    assert data["policy"]["min_change"] == 0.02


def test_csv_has_a_line_per_row(comparison):
    rows = list(csv.DictReader(io.StringIO(render_csv(comparison))))
    assert len(rows) == 12
    assert [row["verdict"] for row in rows].count("") == 1
    assert {row["new_status"] for row in rows} == {"ok", "wrong_result"}
