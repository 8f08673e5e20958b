"""``ckprof tune`` on recorded measurements, as users call it."""

import json
import os
from pathlib import Path

import pytest

from ckprof.cli.main import main
from tests.cli.test_startup import modules_of, not_for_parsing
from tests.places import TESTS

MEASURED = TESTS / "data" / "measured"
TABLE = str(MEASURED / "gfx950_fwd_bf16_30kernels_even.csv")
OTHER = str(MEASURED / "gfx950_fwd_bf16_20kernels.csv")
REPLAY = ("tune", "fwd", "--dtype", "bf16", "--replay", TABLE)


@pytest.fixture
def replay(tmp_path):
    """Every fourth problem of the table."""
    path = tmp_path / Path(TABLE).name
    comments, rows = [], []
    for line in Path(TABLE).read_text().splitlines():
        (comments if line.startswith("#") else rows).append(line)
    path.write_text("\n".join([*comments, rows[0], *rows[1::4]]) + "\n")
    return (*REPLAY[:-1], str(path))


def test_a_replay_reports_what_it_found(replay, capsys):
    options = ("--learn-from", OTHER, "--max-measurements", "44", "--replay-build-time", "0")
    assert main([*replay, *options, "--format", "json"]) == 0
    done = capsys.readouterr()
    found = json.loads(done.out)
    assert (found["stop"], found["strategy"]) == ("budget", "model")
    assert len(found["problems"]) == 22
    assert sum(one["measured"] for one in found["problems"]) == 44
    assert found["progress"][-1]["measured"] == 44
    assert found["progress"][-1]["total_us"] == pytest.approx(
        sum(one["time_us"] for one in found["problems"])
    )
    # progress is told while it goes on, in a pipe now and then
    assert 1 <= done.err.count("tune: ") <= len(found["progress"])
    built = {one["kernel"] for one in found["problems"]}
    never = {one["kernel"] for one in found["never_built"]}
    assert built and not built & never
    assert all(one["reason"] for one in found["never_built"])
    assert all(0 <= one["probability_better"] <= 1 for one in found["problems"])
    slowdowns = [one["slowdown"] for one in found["libraries"]]
    assert slowdowns == sorted(slowdowns, reverse=True) and 1 - 1e-9 < slowdowns[-1] < 1.01
    # the best on no problem, perhaps, but good on many
    assert found["chosen"] and not set(found["chosen"]) & never


def test_a_library_of_a_size(replay, capsys):
    options = ("--strategy", "exhaustive", "--replay-build-time", "1", "--kernels", "2")
    assert main([*replay, *options]) == 0
    text = capsys.readouterr().out
    assert "660 of 660 measurements, 30 of 30 kernels built" in text
    assert "chosen:" in text and "exact" in text
    assert text.split("chosen:")[1].strip().count("\n") == 2
    assert "probability that an unmeasured kernel" not in text


def test_the_budget_is_counted(capsys):
    assert main([*REPLAY, "--budget", "10s", "--format", "json", "-q"]) == 0
    done = capsys.readouterr()
    found = json.loads(done.out)
    assert found["stop"] == "budget"
    # nothing begins that would end later
    assert 8 <= found["seconds"] <= 10
    assert "tune:" not in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["tune", "fwd", "--replay", TABLE], 2, "--replay requires --dtype"),
        ([*REPLAY, "--store", "x.db"], 2, "--store contradicts it"),
        ([*REPLAY, "--emit", "x.conf"], 2, "add --conf or --rule-set"),
        ([*REPLAY, "--baseline", "torch"], 2, "--baseline contradicts it"),
        (
            ["tune", "fwd", "--conf", "forward/tests/nhwgc_bf16", "--store", "x.db", "--baseline", "torhc"],
            2,
            "'torhc'",
        ),
        ([*REPLAY, "--strategy", "modell"], 2, "unknown strategy 'modell'"),
        ([*REPLAY, "--kernels", "0"], 2, "--kernels is 0, expected at least 1"),
        ([*REPLAY, "--tie", "200%"], 2, "--tie is 2.0"),
        ([*REPLAY, "--budget", "soon"], 2, "argument --budget: expected a time such as 90s, 30m or 2h"),
        ([*REPLAY, "--replay-visit-time", "-1"], 2, "--replay-visit-time is -1.0"),
        ([*REPLAY, "--learn-from", "absent.csv"], 3, "absent.csv: cannot read"),
        ([*REPLAY, "--conf", "forward/tests/nhwgc_bf16"], 3, "their names differ"),
        (["tune", "fwd", "--conf", "forward/tests/nhwgc_bf16"], 2, "--store FILE is missing"),
        (["tune", "fwd", "--rule-set", "tiny", "--store", "x.db"], 2, "the instances are of several kinds"),
        (
            ["tune", "fwd", "--conf", "forward/tests/nhwgc_bf16", "--store", "shards/"],
            2,
            "no folder of shards",
        ),
    ],
)
def test_errors_say_what_to_do(arguments, code, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == code
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("target", "threads"), [("hip", "1"), ("cpu", None)])
def test_searches_plan_with_one_thread_where_compilers_run_meanwhile(target, threads, tmp_path, monkeypatch):
    # so that what the command sets is undone
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    options = ("--target", target, "--store", f"{tmp_path}/")
    assert main(["tune", "fwd", "--conf", "forward/tests/nhwgc_bf16", *options]) == 2
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads


def test_the_help_of_tune_needs_no_objects_of_plugins(tmp_path):
    loaded = modules_of("from ckprof.cli.main import main; main(['tune', '--help'])", tmp_path)
    assert "ckprof.option" in loaded
    assert not_for_parsing(loaded) == []
