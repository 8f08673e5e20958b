"""``ckprof predict`` where nothing can be predicted."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import ckprof as ckprof_library
from ckprof.events import Progress, ProgressEnded
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.directions._convolution.problem import default_problems
from ckprof_plugins.tuning import PredictOptions, prediction
from ckprof_plugins.tuning.predicted_times import SCHEMA, VERSION
from plugins.tuning.tests.test_prediction_calibration import TIME

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


def test_problems_are_told_one_by_one_as_they_are_predicted(monkeypatch):
    """No compiler and no code object: what kernels and their times are is made up."""
    emulator = pytest.importorskip("ckprof_plugins.emulator.prediction")
    profiler = ckprof_library.Profiler()
    query = InstanceQuery(rule_set="tiny", directions="fwd", arch="gfx942", filters='dtype == "fp16"')
    selection = profiler.instances(query).require()
    built = selection.candidates[:2]
    library = SimpleNamespace(
        path=Path("none.so"),
        built=built,
        recipe=SimpleNamespace(arch="gfx942"),
        direction=profiler.registry.operation("fwd"),
    )
    happened = []

    def answered(path, arch, model, questions, *, profile):
        for number, _ in enumerate(questions):
            happened.append(number)
            yield replace(TIME, time_us=20.0 - number), emulator.Answer()

    monkeypatch.setattr(emulator, "predict", answered)
    monkeypatch.setattr(prediction, "build_library", lambda *_: library)
    profiler.tell = happened.append
    first = default_problems()[2]
    problems = tuple(ProblemCase(problem=problem) for problem in (first, replace(first, batch=7)))
    options = PredictOptions(
        selection=selection, problems=problems, build=BuildOptions(target="hip", arch="gfx942")
    )
    found = prediction.predict(profiler, options)
    assert [[row.time.time_us for row in rows] for _, rows in found.problems] == [[19.0, 20.0], [17.0, 18.0]]
    steps = [one.done if isinstance(one, Progress) else getattr(one, "text", one) for one in happened]
    assert steps == [
        *(0, 0, 1, 1, 2, f"problem 0: 19 us predicted for {built[1].name}"),
        *(2, 3, 3, 4, f"problem 1: 17 us predicted for {built[1].name}", happened[-1]),
    ]
    assert isinstance(happened[-1], ProgressEnded)


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
