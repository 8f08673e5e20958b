"""``ckprof predict`` where nothing can be predicted."""

from __future__ import annotations

import json

import pytest

from ckprof_plugins.tuning.predicted_times import SCHEMA, VERSION

PROBLEM = "conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 1 -x 1 -F 1"


def test_a_target_that_predicts_no_times_is_refused(ckprof):
    pytest.importorskip("ckprof_plugins.emulator")
    called = ckprof(
        "predict", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--target", "cpu", "--problem", PROBLEM
    )
    assert called.code == 2
    assert "--target cpu predicts no times; these do: hip" in called.err


def test_problems_are_needed(ckprof):
    pytest.importorskip("ckprof_plugins.emulator")
    called = ckprof("predict", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--target", "hip")
    assert called.code == 2
    assert "no problem to predict times for" in called.err


def test_predicted_times_are_not_taken_for_measured_ones(ckprof, tmp_path):
    kernel = {"name": "a", "key": "0" * 32, "split_k": 1, "status": "predicted", "predicted_us": 3.0}
    problem = {"problem": "2D", "sizes": {}, "kernels": [kernel]}
    report = tmp_path / "predicted.json"
    report.write_text(json.dumps({"schema": SCHEMA, "version": VERSION, "problems": [problem]}))
    imported = ckprof("results", "import", report, "--store", tmp_path / "store.db")
    assert imported.code == 3
    assert "in none of the known formats" in imported.err
    compared = ckprof("compare", report, report)
    assert compared.code == 3
    trained = ckprof("train", report, "--direction", "fwd", "--dtype", "bf16", "-o", tmp_path / "model.json")
    assert trained.code == 3
