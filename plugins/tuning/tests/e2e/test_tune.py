"""Searches with real kernels on the CPU: in miniature, interrupted, to a list that other commands read."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest

import ckprof as library
from ckprof.cli.main import main
from ckprof.errors import CkprofError, ExitCode
from ckprof.measure.bench import KernelBench
from ckprof.store.store import Store
from ckprof_plugins import tuning
from ckprof_plugins.tuning.device_bench import DeviceBench
from ckprof_plugins.tuning.time_model.model_file import read_model
from tests.e2e.test_baseline import plugin
from tests.e2e.test_terminal import LAYERS, SWEEP, check_progress, check_width
from tests.interrupts import heed_interrupts

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

#: the last option of a name counts: every measurement takes seconds, and all of them are wanted
UNHURRIED = ("--strategy", "random", "--round-time", "0.5", "--min-rounds", "3", "--max-rounds", "3")
QUICK = ("--round-time", "0.02", "--min-rounds", "1", "--max-rounds", "2")
#: the second problem occurs twice
PROBLEMS = """\
conv -n 1 -c 16 -H 10 -W 10 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1
conv -n 1 -c 32 -H 8 -W 8 -k 32 -y 1 -x 1 -F 1
conv -n 1 -c 32 -H 8 -W 8 -k 32 -y 1 -x 1 -F 1
"""


@pytest.fixture
def arguments(short_list, tmp_path):
    (tmp_path / "problems.txt").write_text(PROBLEMS)
    return ["tune", "fwd", "--conf", str(short_list), "--problems", "problems.txt", "--store", "r.db", *QUICK]


def test_a_search_finds_stores_emits_and_goes_on(ckprof, arguments, tmp_path):
    first = ckprof(*arguments, "--emit", "library.conf", "--format", "json").ok()
    found = json.loads(first.out)
    assert found["stop"] == "settled"
    assert [one["count"] for one in found["problems"]] == [1, 2]
    assert all(one["kernel"] and one["time_us"] > 0 for one in found["problems"])
    never = {one["kernel"]: one["reason"] for one in found["never_built"]}
    assert all(never.values())
    # how many kernels it takes depends on the times, but not that all were built or have a reason
    assert found["progress"][-1]["built"] + len(never) == 4
    assert all(one["probability_better"] <= 0.05 for one in found["problems"])
    with Store(tmp_path / "r.db") as store:
        attempts = list(store)
        assert len({one.session.uid for one in attempts}) == 1
        assert sorted(one.sequence for one in attempts) == list(range(len(attempts)))
        stored = {(one.kernel.name, one.key.problem.describe()) for one in attempts if one.ranked}
    best = {(one["kernel"], one["problem"]) for one in found["problems"]}
    assert best <= stored

    again = ckprof(*arguments, "--emit", "library.json", "--format", "json").ok()
    assert json.loads(again.out)["progress"] == [], "everything is known"
    for name in ("library.conf", "library.json"):
        listed = ckprof("list", "instances", "--conf", name, "--format", "names")
        assert set(listed.out.split()) == set(found["chosen"])
    replayed = ckprof("tune", "fwd", "--dtype", "fp16", "--replay", "r.db", "--strategy", "random").ok()
    assert "2 of 2 problems" in replayed.err


def stored(path):
    """Return how many outcomes a store has that a search may just be making."""
    if not path.is_file():
        return 0
    try:
        with Store(path) as store:
            return len(store)
    except CkprofError:
        return 0


@pytest.mark.slow
def test_a_search_is_stopped_by_ctrl_c_and_goes_on(ckprof, arguments, tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-m", "ckprof", *arguments, *UNHURRIED],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    while not stored(tmp_path / "r.db"):
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=200)
    assert child.returncode == ExitCode.INTERRUPTED, err
    assert "stopped; rerun the same command to resume" in out
    assert "Traceback" not in err
    with Store(tmp_path / "r.db") as store:
        before = len(store)
    assert before > 0
    after = ckprof(*arguments).ok()
    assert "no further measurement is expected to be worth it" in after.out
    with Store(tmp_path / "r.db") as store:
        assert len(store) > before


def test_the_library_tunes(short_list, tmp_path):
    options = tuning.TuneOptions(
        store=tmp_path / "results.db",
        rounds=library.RoundOptions(min_rounds=1, max_rounds=1),
        search=tuning.SearchOptions(strategy="random", most_measurements=1, seed=1),
    )
    result = tuning.tune(
        library.Profiler(), library.InstanceQuery(conf=short_list), PROBLEMS.splitlines()[1:], options
    )
    assert result.stop.value == "budget"
    assert [one.count for one in result.best] == [2]
    assert sum(one.measured for one in result.best) == 1
    assert len(result.chosen) == 1


def test_kernels_that_the_store_says_were_right_on_second_problems_are_not_verified_there_again(
    short_list, tmp_path, monkeypatch
):
    opened, seen, original = [], [], KernelBench.operands_of

    def noted(self, group, kept, exact=None):
        opened.extend([group.problem] * (kept is self.second.operands))
        return original(self, group, kept, exact)

    monkeypatch.setattr(KernelBench, "operands_of", noted)
    for rounds in (1, 2):
        options = tuning.TuneOptions(
            store=tmp_path / "results.db",
            rounds=library.RoundOptions(min_rounds=rounds, max_rounds=rounds),
            search=tuning.SearchOptions(strategy="random", seed=1),
        )
        query = library.InstanceQuery(conf=short_list)
        problem = "conv -n 4 -c 64 -H 16 -W 16 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
        assert tuning.tune(library.Profiler(), query, [problem], options).best
        seen.append(len(opened))
    assert 0 < seen[0] == seen[1]


def test_a_search_that_builds_beside_measuring(short_list, tmp_path, monkeypatch):
    """As on a device, with the kernels of the CPU: everything is measured, stored and built once."""
    monkeypatch.setattr(DeviceBench, "overlaps", True)
    options = tuning.TuneOptions(
        store=tmp_path / "results.db",
        rounds=library.RoundOptions(min_rounds=1, max_rounds=1),
        search=tuning.SearchOptions(strategy="random", seed=1),
    )
    problems = ["conv -n 1 -c 32 -H 8 -W 8 -k 32 -y 1 -x 1 -F 1"]
    query = library.InstanceQuery(conf=short_list)
    result = tuning.tune(library.Profiler(), query, problems, options)
    assert result.stop.value == "settled"
    assert [one.unmeasured for one in result.best] == [0]
    with Store(tmp_path / "results.db") as store:
        attempts = list(store)
    assert sorted(one.sequence for one in attempts) == list(range(len(attempts)))
    kernels = {one.kernel.name for one in attempts if one.ranked}
    assert len(kernels) == sum(one.measured for one in result.best)


def test_what_was_found_is_compared_with_a_baseline(ckprof, arguments, tmp_path):
    vendor = ("--plugin", plugin(tmp_path), "--baseline", "numpy")
    called = ckprof(*arguments, *vendor, "--format", "json").ok()
    found = json.loads(called.out)
    compared = found["comparison"]
    assert compared["failure"] is None
    assert [one["problem"] for one in compared["problems"]] == [one["problem"] for one in found["problems"]]
    assert [one["count"] for one in compared["problems"]] == [1, 2]
    (total,) = compared["baselines"]
    assert total["description"].startswith("numpy ") and (total["problems"], total["count"]) == (2, 3)
    for name in ("best_us", "library_us"):
        assert total[name] == pytest.approx(sum(one["count"] * one[name] for one in compared["problems"]))
    theirs = [one["count"] * one["baseline_us"]["numpy"] for one in compared["problems"]]
    assert total["baseline_us"] == pytest.approx(sum(theirs))
    assert all(one["best_us"] <= one["library_us"] for one in compared["problems"])
    assert compared["left_out"] == []
    # what was measured again is stored as well, in a session of its own
    with Store(tmp_path / "r.db") as store:
        attempts = list(store)
    assert len({one.session.uid for one in attempts}) == 2
    again = ckprof(*arguments, *vendor).ok()
    assert "measured again next to numpy: numpy " in again.out


#: seconds of a launch of a slow baseline, and of a command's budget
SLOW_S, BUDGET_S = 0.5, 8.0
#: seconds of a command before its budget begins, on a busy machine
STARTUP_S = 10.0
#: the last one weighs most
SEVERAL = "".join(
    f"conv -n 1 -c 32 -H {height} -W 8 -k 32 -y 1 -x 1 -F 1\n" * (1 if height < 14 else 1000)
    for height in range(8, 15)
)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["all", "the first"])
def test_a_slow_baseline_stays_within_the_budget_but_for_one_problem(ckprof, arguments, tmp_path, which):
    (tmp_path / "problems.txt").write_text(SEVERAL)
    assert ckprof(*arguments).code == ExitCode.OK
    condition = "True" if which == "all" else 'work.problem["input"][0] == 14'
    slow = f"""
        start = time.perf_counter()
        with open({str(tmp_path / "calls.txt")!r}, "a") as calls:
            print(time.time(), work.problem, file=calls)
        time.sleep({SLOW_S} if {condition} else 0)
"""
    path = plugin(tmp_path)
    path.write_text(path.read_text().replace("\n        start = time.perf_counter()\n", slow))
    begun = time.time()
    called = ckprof(*arguments, "--plugin", path, "--baseline", "numpy", "--budget", f"{BUDGET_S}s").ok()
    assert "error" not in called.out, called.out
    first = {}
    calls = tmp_path / "calls.txt"  # none where a busy machine spends the budget on building
    for line in calls.read_text().splitlines() if calls.exists() else ():
        when, _, problem = line.partition(" ")
        first.setdefault(problem, float(when) - begun)
    assert "14" in next(iter(first), "14")  # the heaviest is first
    # a problem is begun within the budget, or not at all
    late = [when for when in first.values() if when > BUDGET_S + STARTUP_S]
    assert len(late) <= 1
    if which == "all":
        left_out = called.out.split("problems were not compared: the budget was spent")
        assert len(left_out) == 2 and len(first) < 7
        assert sum("K32 C32 in " in line for line in left_out[1].splitlines()) == 7 - len(first)
        # what slow launches take is known after the first problem
        left = [int(one) for one in re.findall(r"run: \d+/7, at most (\d+) s left", called.err)]
        assert not left[1:] or max(left[1:]) > SLOW_S * 3


LIST = ("--conf", "forward/tests/nhwgc_bf16", "--instance", "12", "--instance", "16")
SIZES = ((8, 4), (8, 8), (16, 4), (16, 12), (32, 6), (32, 10), (64, 4), (64, 8), (24, 7), (48, 9))


def test_the_loop(tmp_path, capsys):
    problems = tmp_path / "problems.txt"
    problems.write_text("".join(f"conv -n 1 -c {c} -H {h} -W {h} -k {c} -y 1 -x 1 -F 1\n" for c, h in SIZES))
    store, model = tmp_path / "results.db", tmp_path / "model.json"
    sweep = ["sweep", "fwd", *LIST, "--problems", str(problems), "--store", str(store)]
    assert main([*sweep, "--max-rounds", "1", "--round-time", "0.02"]) == 0
    capsys.readouterr()
    train = ["train", str(store), "--direction", "fwd", "--dtype", "bf16", "-o", str(model)]
    assert main([*train, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["shapes"], found["kernels"]) == (len(SIZES), 2)
    document = read_model(model)
    # the kernels did not run on the architecture that was named
    assert document.target == "cpu"
    assert document.device != "gfx942"
    # the store says how many cores ran the kernels
    assert document.compute_units >= 1
    assert document.origin.rows == 2 * len(SIZES)
    assert {one.traits.tile for one in document.kernels.values()} == {(64, 64, 32)}
    assert main(["validate", str(model), str(store), "--format", "json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert judged["derived_kernels"] == []
    assert 0 < judged["p10"] <= judged["median"] <= 1
    select = [
        "select",
        "fwd",
        "--model",
        str(model),
        *LIST,
        "--problem",
        problems.read_text().splitlines()[3],
    ]
    assert main([*select, "--measure", "2", "--format", "json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["kernels"]
    assert [one["status"] for one in chosen] == ["ok", "ok"]
    assert chosen[0]["measured_us"] <= chosen[1]["measured_us"]
    assert all(one["known"] for one in chosen)
    assert main([*select, "--target", "hip", "--no-support-check"]) == 3
    assert "ran on target cpu" in capsys.readouterr().err
    assert main([*select, "--target", "hip", "--no-support-check", "--force"]) == 0


def test_a_store_without_what_is_asked_for(tmp_path, capsys):
    from ckprof.store.writer import StoreWriter

    path = tmp_path / "empty.db"
    with StoreWriter(path):
        pass
    command = ["train", str(path), "--direction", "fwd", "--dtype", "bf16", "-o", str(tmp_path / "m.json")]
    assert main(command) == 3
    assert "it holds no verified time of fwd bf16" in capsys.readouterr().err


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_progress_and_tables_fit(shown, tmp_path, short_list, width):
    (tmp_path / "layers.txt").write_text(LAYERS)
    tuned = shown(
        *("tune", "--conf", short_list, *SWEEP, "--store", "tuned.db", "--budget", "20s"),
        width=width,
        progress=True,
    )
    check_progress(tuned, width, "tune: ")
    check_width(tuned, width)
