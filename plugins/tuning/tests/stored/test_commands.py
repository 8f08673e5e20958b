"""``results``, ``report``, ``compare`` and ``sweep`` with stores of predictions."""

import json

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.store.shard import ShardWriter
from ckprof_plugins.tuning.stored.sweep import PredictionSweep
from plugins.tuning.tests.gate.sides import LOOP, figures
from plugins.tuning.tests.stored.stores import attempts, store
from tests.store.samples import fill, make_attempt

SLOWER = LOOP.replace("ds_read_b128", "s_barrier\nds_read_b128")
NOT_MEASURED = "predicted from machine code; nothing was measured"


@pytest.fixture
def stores(tmp_path, monkeypatch):
    """Predictions before and after; those of another model; measured times; shards of all of them."""
    monkeypatch.chdir(tmp_path)
    other = figures("", key="cd" * 16, name="kernel_128x128", status="failed", reason="no such instruction")
    store(tmp_path / "old.db", figures(interval_us=(7.0, 14.0)), other)
    store(tmp_path / "new.db", figures(SLOWER, time_us=11.0, cycles=22000.0), other, text=SLOWER)
    store(tmp_path / "alien.db", model="another")
    fill(tmp_path / "measured.db", make_attempt())
    for name, held in (("predicted", attempts()), ("measured", [make_attempt()])):
        shard = ShardWriter(tmp_path / name)
        for attempt in held:
            shard.append(attempt)
        shard.close()
    return tmp_path


def test_results_show_predictions_as_such(stores, capsys):
    assert main(["results", "show", "old.db"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert shown.startswith(f"old.db: {NOT_MEASURED}\nfor MI300X (gfx942) by time model 0123456789abcdef\n")
    assert "2 outcomes (1 predicted, 1 failed)" in shown
    for text in ("kernel_64x64", "predicted us", "7 to 14", "20,000", "LDS", "1 of 2"):
        assert text in shown
    assert "time ms" not in shown
    assert main(["results", "show", "old.db", "--status", "run_error"]) == ExitCode.OK
    assert "1 outcome (1 failed)" in capsys.readouterr().out
    assert main(["results", "check", "old.db"]) == ExitCode.OK
    assert main(["results", "show", "measured.db"]) == ExitCode.OK
    assert "predicted" not in capsys.readouterr().out


def test_reports_show_predictions_as_such(stores, capsys):
    pytest.importorskip("ckprof_plugins.pages")
    assert main(["report", "old.db", "-o", "page.html"]) == ExitCode.OK
    page = (stores / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and f"Predicted times of old.db: {NOT_MEASURED}" in page
    assert "no such instruction" in page
    assert main(["report", "old.db", "new.db", "--format", "md", "--title", "mine"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert shown.startswith("# mine\n")
    assert NOT_MEASURED in shown and "barriers in the loop: 2 -" in shown
    for options in (("--png", "a.png"), ("--box-plots",), ("--format", "csv")):
        assert main(["report", "old.db", *options]) == ExitCode.USAGE
    assert not (stores / "a.png").exists()


def test_two_stores_are_compared_as_predictions(stores, capsys):
    assert main(["compare", "old.db", "new.db", "--format", "json"]) == ExitCode.FAILED
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["predicted"], found["counts"]["slower"]) == (
        "ckprof.predict-diff",
        True,
        1,
    )
    assert main(["predict", "--diff", "old.db", "new.db", "--format", "json"]) == ExitCode.FAILED
    same = json.loads(capsys.readouterr().out)
    assert same == found
    assert main(["predict", "fwd", "--diff", "old.db", "new.db", "--fail-on", "none"]) == ExitCode.OK
    for fail_on, code in (("slower=11%", 0), ("slower=5%,missing", 1), ("none", 0)):
        assert main(["compare", "old.db", "new.db", "--fail-on", fail_on]) == code
    assert "times are predicted from machine code, not measured" in capsys.readouterr().out


CONF = "forward/tests/nhwgc_fp16"
WRONG = {
    ("compare", "old.db", "measured.db"): (3, "do not mix"),
    ("compare", "measured.db", "old.db"): (3, "do not mix"),
    ("compare", "old.db", "alien.db"): (3, "predicts and times that time model another predicts do not mix"),
    ("predict", "--diff", "old.db", "alien.db"): (3, "by another time model (0123456789abcdef)"),
    ("predict", "--diff", "old.db", "measured.db"): (3, "it has measured times, expected a store of"),
    ("report", "old.db", "measured.db"): (3, "do not mix"),
    ("compare", "old.db", "new.db", "--fail-on", "unclear"): (2, "about the noise of measured times"),
    ("compare", "old.db", "new.db", "--min-change", "3"): (2, "--min-change is about measured times"),
    ("compare", "old.db", "new.db", "--format", "csv"): (2, "csv"),
    ("compare", "old.db", "new.db", "--direction", "bwd_data"): (3, "none of bwd_data: it has those of fwd"),
    ("compare", "old.db"): (2, "expected two inputs"),
    ("compare", "old.db", "absent.db"): (3, "absent.db: cannot read"),
    ("results", "merge", "predicted", "--store", "measured.db"): (3, "do not mix: name another store"),
    ("results", "merge", "measured", "--store", "old.db"): (3, "do not mix: name another store"),
    ("results", "merge", "measured", "predicted", "--store", "both.db"): (
        3,
        "do not mix: name another store",
    ),
    ("train", "old.db", "--direction", "fwd", "--dtype", "fp16", "-o", "model.json"): (3, "no verified time"),
    ("sweep", "fwd", "--predict", "--store", "p.db", "--passes", "3"): (2, "--passes is about measuring"),
    ("sweep", "fwd", "--predict", "--store", "p.db", "--devices", "0,1"): (2, "--devices is about measuring"),
    ("sweep", "fwd", "--store", "p.db", "--gpu", "MI300X"): (2, "give --predict, too"),
    ("sweep", "--predict", "--store", "p.db"): (2, "no DIRECTION given"),
    ("sweep", "fwd", "--predict", "--conf", CONF, "--store", "p.db"): (2, "predicts no times; these do: hip"),
    ("sweep", "fwd", "--predict", "--conf", CONF, "--target", "hip", "--store", "p.db"): (2, "no problem to"),
}


#: word of a command line -> the package that it needs
NEEDS = {"report": "pages", "--devices": "cluster", CONF: "emulator"}


@pytest.mark.parametrize("typed", WRONG, ids=" ".join)
def test_what_does_not_mix_is_refused(stores, typed, capsys):
    for package in (NEEDS[word] for word in typed if word in NEEDS):
        pytest.importorskip(f"ckprof_plugins.{package}")
    code, said = WRONG[typed]
    held = {path.name: path.read_bytes() for path in stores.glob("*.db")}
    assert main([*typed]) == code
    assert said in capsys.readouterr().err
    assert {name: (stores / name).read_bytes() for name in held} == held
    assert not (stores / "p.db").exists()


def test_splits_are_taken_and_what_serves_nothing_ends_with_1(stores, capsys, monkeypatch):
    pytest.importorskip("ckprof_plugins.emulator")
    asked = []

    def swept(profiler, options, sweep):
        asked.append({case.splits for case in options.problems})
        return PredictionSweep(path=sweep.store, unserved=("conv1",) * (len(asked) > 1))

    monkeypatch.setattr("ckprof_plugins.tuning.stored.sweep.sweep_predictions", swept)
    line = "convfp16 -n 1 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -F 1"
    typed = ("sweep", "fwd", "--predict", "--conf", CONF, "--store", "p.db", "--problem", line)
    assert main([*typed, "--split-k", "2,4"]) == ExitCode.OK
    assert main([*typed]) == ExitCode.FAILED
    assert asked == [{(2, 4)}, {()}]
    assert "exit code 1: no kernel has a predicted time on conv1" in capsys.readouterr().out
