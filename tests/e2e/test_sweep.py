"""Sweeps with real kernels on the CPU, as a new user runs them."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

import ckprof as library
from ckprof.compare.side import side_of
from ckprof.errors import ExitCode
from ckprof.kernels.toolchain import find_compiler
from ckprof.model.device import CANARIES
from ckprof.model.outcome import Status
from ckprof.model.roofline import CeilingKind
from ckprof.model.types import DataType
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.evidence import kept_ceilings
from ckprof.sweep.requests import SweepProgress

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

PROBLEM = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"
OTHER = "2 1 1 16 16 1 1 12 12 1 1 1 1 0 0 0 0"
QUICK = ("--round-time", "0.02", "--min-rounds", "2")


@pytest.fixture
def sweep(ckprof, short_list):
    """Sweep the short list."""

    def call(*arguments, problems=(PROBLEM, OTHER), store="results.db"):
        lines = [part for problem in problems for part in ("--problem", problem)]
        most = () if "--max-rounds" in arguments else ("--max-rounds", "3")
        given = (*QUICK, *most, *arguments)
        return ckprof("sweep", "fwd", "--conf", short_list, *lines, "--store", store, *given)

    return call


def test_a_sweep_is_stored_and_goes_on(sweep, ckprof, tmp_path):
    planned = sweep("--dry-run")
    assert (planned.code, planned.out.splitlines()[0]) == (
        ExitCode.OK,
        "4 kernels x 2 problems: 8 outcomes with all splits",
    )
    assert not (tmp_path / "results.db").exists()

    first = sweep("--tag", "one", problems=(PROBLEM,)).ok()
    assert "done: 1 of 1 ranking is finished" in first.out
    planned = sweep("--dry-run")
    assert "in the store: 4, " in planned.out
    assert "left: 1 of 2 rankings" in planned.out
    assert "estimated time: " in planned.out
    second = sweep()
    assert "in the store: 4, " in second.err
    assert "done: 2 of 2 rankings are finished" in second.out
    third = sweep()
    assert (third.code, third.out) == (ExitCode.OK, "nothing is left to do: results.db has all 8 outcomes\n")

    with Store(tmp_path / "results.db") as store:
        attempts = list(store)
        assert len({one.key for one in attempts}) == 8
        for one in attempts:
            assert one.status in (Status.OK, Status.UNSUPPORTED)
            assert one.key.operation.direction == "fwd"
            assert one.key.device.target == "cpu" and one.key.device.compute_units > 0
            assert len(one.key.kernel.object_digest) >= 32
            assert one.key.toolchain.compiler and one.key.toolchain.flags and one.key.toolchain.headers
            assert one.conditions.load is not None and one.conditions.wall_s > 0
            if one.status is Status.OK:
                assert one.ranked
                assert len(one.measurement.samples_ms) == one.measurement.samples
            else:
                assert one.requirements
        assert [one.tags for one in store.sessions()] == [("one",), ()]
        for session in store.sessions():
            (ceiling,) = kept_ceilings(session, attempts[0].key.device)
            assert (ceiling.kind, ceiling.dtype) == (CeilingKind.MEASURED, DataType.FP16)
            # of this machine, whatever it is and does besides
            assert 0.1 < ceiling.gflops < 1e5
            assert 0.01 < ceiling.gbytes_per_s < 1e4
        assert len(store.best()) == 2
        # times of the canaries for each problem in each pass, of the one object on this machine
        side = side_of("results.db", attempts)
        visits = {(key.problem, process) for key, row in side.rows.items() for process in row.trials}
        assert set(side.canaries) == visits and len(side.canary_digests) == 1
        for times in side.canaries.values():
            assert set(times) == set(CANARIES) and all(0.01 < ms < 1e3 for ms in times.values())
        assert len({one.kernel.fields["tile_m"] for one in attempts}) > 1

    shown = ckprof("results", "show", "results.db").ok()
    assert "8 outcomes" in shown.out and "best kernel" in shown.out
    assert ckprof("results", "check", "results.db").out == "results.db: sound\n"


def test_a_run_is_recorded(ckprof, short_list, tmp_path):
    base = ("run", "fwd", "--conf", short_list, "--problem", PROBLEM, "--max-time", "0.02")
    for number in (1, 2):
        ckprof(*base, "--store", "results.db", "--tag", f"run{number}", "--json", "r.json").ok()
    report = json.loads((tmp_path / "r.json").read_text())
    assert not any(
        row["measurement"]["samples_ms"] for row in report["problems"][0]["outcomes"] if row["measurement"]
    )
    with Store(tmp_path / "results.db") as store:
        attempts = list(store)
        assert len({one.key for one in attempts}) == 4
        rounds = [
            {one.conditions.round for one in attempts if one.session.tags == (f"run{number}",)}
            for number in (1, 2)
        ]
        # those of the second run follow
        assert min(rounds[0]) == 1
        assert min(rounds[1]) == max(rounds[0]) + 1
        assert [one.tags for one in store.sessions()] == [("run1",), ("run2",)]
        assert all(one.measurement.samples_ms for one in attempts if one.measurement)
    ckprof(*base, "--tag", "x").fails_with(ExitCode.USAGE, "--store")


def test_shards_are_merged(sweep, ckprof, tmp_path):
    assert sweep(store="shards/").code == ExitCode.OK
    assert sweep(store="shards").code == ExitCode.OK
    assert len(list((tmp_path / "shards").glob("*.ndjson"))) == 2
    merged = ckprof("results", "merge", "shards", "--store", "results.db")
    assert merged.code == ExitCode.OK and "2 shards: " in merged.out
    again = ckprof("results", "merge", "shards", "--store", "results.db")
    assert "2 shards: 0 outcomes added" in again.out
    assert "nothing is left to do" in sweep().out


def test_a_second_sweep_says_who_holds_the_store(sweep, tmp_path):
    with StoreWriter(tmp_path / "results.db"):
        sweep().fails_with(ExitCode.INPUT, f"process {os.getpid()} on ", "is writing this store")


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGTERM, signal.SIGHUP))],
)
def test_signals_end_a_sweep_cleanly(sweep, short_list, tmp_path, number):
    assert sweep(problems=(OTHER,), store="warm-up.db").code == ExitCode.OK
    lines = [
        part for size in range(8, 40) for part in ("--problem", PROBLEM.replace("10 10", f"{size} {size}"))
    ]
    command = [sys.executable, "-m", "ckprof", "sweep", "fwd", "--conf", str(short_list), *lines]
    child = subprocess.Popen(
        [*command, "--store", "results.db", "--round-time", "0.2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.default_int_handler),
    )
    said = ""
    while "sweep: 0/" not in said:
        line = child.stderr.readline()
        assert line, said
        said += line
    child.send_signal(number)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 128 + number, said + err
    assert "stopped; rerun the same command to resume" in out
    assert "Traceback" not in said + err
    with Store(tmp_path / "results.db") as store:
        assert re.search(rf"\b{len(store)} attempts? in ", out)
        assert len(store) > 0


def test_max_time_ends_a_sweep(sweep, tmp_path):
    called = sweep("--budget", "0s").ok()
    assert "the time is over; rerun the same command to resume" in called.out
    with Store(tmp_path / "results.db") as store:
        assert len(store) == 0


def test_the_library_sweeps(short_list, tmp_path):
    events = []
    profiler = library.Profiler(on_event=events.append)
    options = library.SweepOptions(
        store=tmp_path / "results.db", rounds=library.RoundOptions(min_rounds=1, max_rounds=2), tags=("api",)
    )
    query = library.InstanceQuery(conf=short_list)
    result = profiler.sweep(query, [PROBLEM], options)
    assert result.summary.attempts == sum(isinstance(one, SweepProgress) for one in events)
    with library.Store(tmp_path / "results.db") as store:
        assert len(store) == result.summary.attempts
        assert {one.session.uid for one in store.query(tag="api")} == {result.session}
        (best,) = store.best()
        assert best.time_ms > 0
    assert profiler.sweep(query, [PROBLEM], options).summary.attempts == 0


@pytest.mark.slow
def test_all_that_decides_a_time_makes_another_measurement(ckprof, short_list, tmp_path):
    def call(*arguments, env=None):
        lines = ("--problem", PROBLEM, "--instance", "0", "--store", "results.db", *QUICK)
        ckprof("sweep", "fwd", "--conf", short_list, *lines, *arguments, env=env).ok()

    changes = (
        ("--compiler", f"{' '.join(find_compiler().command)} -fno-tree-vectorize"),
        ("--cxx-flags=-fno-tree-vectorize",),
        ("--seed", "7"),
        ("--threads", str(len(os.sched_getaffinity(0)) + 1)),
    )
    call("--tag", "usual")
    for number, change in enumerate(changes):
        call(*change, "--tag", f"change{number}")
    call("--tag", "environment", env={"CPATH": str(tmp_path)})
    with Store(tmp_path / "results.db") as store:
        assert len(list(store.measurements())) == len(changes) + 2
    for tag, name in (
        ("change0", "toolchain.flags"),
        ("change1", "toolchain.flags"),
        ("change2", "method.seed"),
        ("change3", "device.threads"),
        ("environment", "toolchain.flags"),
    ):
        compared = ckprof(
            "compare", "results.db@usual", f"results.db@{tag}", "--format", "json", "--fail-on", "none"
        )
        (changed,) = [one for one in json.loads(compared.out)["what_changed"] if one["name"] == name]
        assert changed["new"] != changed["old"], tag


def test_each_pass_is_another_process(sweep, tmp_path):
    done = sweep("--passes", "3", "--max-rounds", "4", problems=(PROBLEM,)).ok()
    assert re.search("\n[34] passes, [34] rounds, ", done.out)
    with Store(tmp_path / "results.db") as store:
        (best,) = store.best()
        rounds = [one.round_time for one in store if one.key == best.key]
        assert len({one.process for one in rounds if one}) >= 3
    assert "nothing is left" in sweep("--passes", "3", "--max-rounds", "4", problems=(PROBLEM,)).out


def test_a_problem_that_no_kernel_supports_fails_every_call(sweep):
    """As a run says it, also where nothing is left to do; the other problem has its ranking."""
    odd = "2 1 1 15 15 3 3 10 10 1 1 1 1 1 1 1 1"
    for said in ("done: 2 of 2", "nothing is left to do"):
        # it reads vectors of 8 channels
        done = sweep("--filter", "vec8_8_8", problems=(PROBLEM, odd))
        assert done.code == ExitCode.FAILED, done.err
        assert said in done.out
    assert sweep("--filter", "vec8_8_8", problems=(PROBLEM,)).code == ExitCode.OK
