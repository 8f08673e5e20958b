"""``ckprof tune`` on recorded measurements, and ``ckprof predict`` where nothing can be predicted."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import ckprof as ckprof_library
from ckprof.cli.main import main
from ckprof.events import Progress, ProgressEnded
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.directions._convolution.problem import default_problems
from ckprof_plugins.tuning import PredictOptions, prediction
from ckprof_plugins.tuning.predicted_times import SCHEMA, VERSION
from plugins.tuning.tests.test_prediction_calibration import TIME
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


@pytest.mark.parametrize(
    ("option", "answer"),
    [("--dry-run", "'ckprof sweep --dry-run' counts"), ("--resume", "rerun the same command to resume")],
)
def test_options_of_other_commands_are_answered(option, answer, ckprof):
    ckprof("tune", "fwd", option).fails_with(2, f"unknown option '{option}'; {answer}")


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


PROBLEM = "conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 1 -x 1 -F 1"


def test_predict_needs_a_target_that_predicts_and_problems(ckprof):
    pytest.importorskip("ckprof_plugins.emulator")
    ckprof(
        "predict", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--target", "cpu", "--problem", PROBLEM
    ).fails_with(2, "--target cpu predicts no times; these do: hip")
    pytest.importorskip("ckprof_plugins.emulator")
    ckprof("predict", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--target", "hip").fails_with(
        2, "no problem to predict times for"
    )


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
        object_keys={one.instance.key: "" for one in built},
        direction=profiler.registry.operation("fwd"),
    )
    happened = []

    def answered(path, arch, model, questions, *, profile, machine_code):
        for number, _ in enumerate(questions):
            happened.append(number)
            yield replace(TIME, time_us=20.0 - number), emulator.Answer()

    monkeypatch.setattr(emulator, "predict", answered)
    monkeypatch.setattr(prediction, "build_library", lambda *_: library)
    profiler.emit = happened.append
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
    ckprof("results", "import", report, "--store", tmp_path / "store.db").fails_with(
        3, "in none of the known formats"
    )
    compared = ckprof("compare", report, report)
    assert compared.code == 3
    trained = ckprof("train", report, "--direction", "fwd", "--dtype", "bf16", "-o", tmp_path / "model.json")
    assert trained.code == 3
