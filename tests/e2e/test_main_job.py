"""The main job end to end: list in, verified and ranked table out."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckprof.errors import ExitCode
from ckprof.measure.host import LAST_LEVEL_CACHE_VARIABLE
from tests.called import Ckprof
from tests.interrupts import heed_interrupts

pytestmark = pytest.mark.compiler

SMALL = "conv -n 1 -c 16 -H 10 -W 10 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1"
#: C == 1 per group and 16 groups: what the merged-group instance of the list wants
ONE_CHANNEL = "conv -n 1 -c 16 -H 10 -W 10 -k 16 -y 3 -x 3 -p 1 -q 1 -g 16 -F 1"

OBSERVER = """
import json
from ckprof import hookimpl
from ckprof.plugin.protocols import ReportFormat

EVENTS = []

@hookimpl
def ckprof_add_arguments(command, parser):
    parser.add_argument("--observe", default="events.json")

@hookimpl
def ckprof_register(registry):
    registry.add(ReportFormat(id="count", label="a number", render=count))

def count(results):
    return f"{len(results.outcomes)} outcomes"

@hookimpl
def ckprof_after_conversion(request, conversion):
    EVENTS.append(["conversion", conversion.lines])

@hookimpl
def ckprof_modify_instances(direction, instances):
    del instances[0]

@hookimpl
def ckprof_before_build(direction, instances):
    EVENTS.append(["before_build", direction, len(instances)])

@hookimpl
def ckprof_after_build(direction, failures):
    EVENTS.append(["after_build", len(failures)])

@hookimpl
def ckprof_before_problem(direction, problem, problem_index):
    EVENTS.append(["problem", problem_index])

@hookimpl
def ckprof_after_outcome(instance, problem, outcome):
    EVENTS.append(["outcome", instance.key == outcome.key, outcome.status.value])

@hookimpl
def ckprof_after_report(command, exit_code):
    EVENTS.append(["report", command, exit_code])
    open("events.json", "w").write(json.dumps(EVENTS))
"""


def test_table_with_the_best_configuration(
    ckprof: Ckprof, short_list: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LAST_LEVEL_CACHE_VARIABLE)  # flushes what this machine has, as users do
    called = ckprof("run", "fwd", "--conf", short_list, "--problem", SMALL, "--max-time", "0.05")
    assert called.code == 0, called.err
    assert f"read {short_list}: 5 lines, 4 instances; dropped lines: 1 comment" in called.err
    assert "built 4 of 4 kernels" in called.err
    assert "4 instances: 3 ok, 1 unsupported" in called.out
    assert "Best configuration parameters:\nname: GroupedConvolutionForwardKernel<2," in called.out
    assert "Filter3x3 needs C = 1, got 16" in called.out  # why the merged-group instance rejects


@pytest.mark.thorough
def test_a_second_run_compiles_nothing(ckprof: Ckprof, short_list: Path) -> None:
    quick = ("--max-time", "0.02", "--rounds", "1")
    arguments = ("run", "fwd", "--conf", short_list, "--problem", SMALL, *quick)
    ckprof(*arguments)
    again = ckprof(*arguments)
    assert ": 0 compiled, 4 from the cache, 0 failed" in again.err


@pytest.mark.thorough
def test_json_has_everything_needed_to_reproduce(ckprof: Ckprof, short_list: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    called = ckprof(
        "run", "fwd", "--conf", short_list, "--problem", SMALL, "--problem", ONE_CHANNEL,
        "--max-time", "0.02", "--seed", "5", "--samples", "--format", "csv", "--json", path,
    )  # fmt: skip
    assert called.code == 0, called.err
    report = json.loads(path.read_text())
    assert (report["schema"], report["version"], report["direction"]) == ("ckprof.run", 1, "fwd")
    environment = report["environment"]
    assert environment["options"]["seed"] == 5
    assert environment["compiler"]["description"] and environment["flags"] and environment["host"]
    assert "git" in environment
    first, second = report["problems"]
    assert [o["status"] for o in first["outcomes"]].count("ok") == 3
    best = next(o for o in first["outcomes"] if o["rank"] == 1)
    assert best["key"] == first["best"]
    assert best["measurement"]["samples"] == len(best["measurement"]["samples_ms"])
    assert best["verification"]["passed"] and best["verification"]["elements"] == 16 * 10 * 10
    # the merged-group instance serves the second problem, those with wide vectors do not
    ok = [o["instance"] for o in second["outcomes"] if o["status"] == "ok"]
    assert ok == [3]
    rows = list(csv.DictReader(io.StringIO(called.out)))
    assert len(rows) == 8 and {row["status"] for row in rows} == {"ok", "unsupported"}


def test_no_instance_supports_the_problem(ckprof: Ckprof, short_list: Path) -> None:
    problem = SMALL.replace("-c 16", "-c 3")
    called = ckprof("run", "fwd", "--conf", short_list, "--problem", problem)
    assert called.code == ExitCode.FAILED
    assert "0 of 4 instances support this problem" in called.out
    assert called.out.count("C = 3") >= 3


@pytest.mark.thorough
def test_selection_by_number_and_expression(ckprof: Ckprof, short_list: Path) -> None:
    listed = ckprof("run", "fwd", "--conf", short_list, "--list-instances")
    assert listed.out.startswith("[0] GroupedConvolutionForwardKernel<") and "Total: 4" in listed.out
    planned = ckprof(
        "run", "fwd", "--conf", short_list, "--filter", "compv1", "--exclude", "_gm", "--dry-run"
    )
    assert "would build 1 fwd kernel" in planned.out and "[1] grouped_conv_fwd_fp16" in planned.out


@pytest.mark.thorough
def test_without_verification_nothing_is_ranked(ckprof: Ckprof, short_list: Path) -> None:
    called = ckprof(
        "run", "fwd", "--conf", short_list, "--problem", SMALL, "--instance", "1", "--no-verify",
        "--max-time", "0.02",
    )  # fmt: skip
    assert "ok (not verified)" in called.out and "results were not verified" in called.out


@pytest.mark.thorough
def test_every_hook_is_called(ckprof: Ckprof, short_list: Path, tmp_path: Path) -> None:
    (tmp_path / "observer.py").write_text(OBSERVER)
    called = ckprof(
        "run", "fwd", "--conf", short_list, "--problem", SMALL, "--plugin", "./observer.py",
        "--observe", "x", "--format", "count", "--max-time", "0.02", "--rounds", "1",
    )  # fmt: skip
    assert called.code == 0, called.err
    assert called.out == "3 outcomes\n"
    events = json.loads((tmp_path / "events.json").read_text())
    assert events[:4] == [["conversion", 5], ["before_build", "fwd", 3], ["after_build", 0], ["problem", 0]]
    assert sorted(event[2] for event in events if event[0] == "outcome") == ["ok", "ok", "unsupported"]
    assert all(event[1] for event in events if event[0] == "outcome")
    assert events[-1] == ["report", "run", 0]


@pytest.mark.thorough
def test_stages_as_commands(ckprof: Ckprof, short_list: Path, tmp_path: Path) -> None:
    catalog = tmp_path / "short.json"
    assert ckprof("convert", short_list, "-o", catalog).code == 0
    generated = ckprof("generate", "fwd", "--conf", catalog, "--build-dir", tmp_path / "tree")
    assert generated.code == 0 and generated.out.strip() == str(tmp_path / "tree")
    manifest = json.loads((tmp_path / "tree" / "manifest.json").read_text())
    assert len(manifest["kernels"]) == 4
    built = ckprof("build", "fwd", "--conf", catalog, "--build-dir", tmp_path / "tree")
    assert built.code == 0, built.err
    assert Path(built.out.strip()).is_file()
    run = ckprof("run", "fwd", "--conf", catalog, "--build-dir", tmp_path / "tree", "--problem", SMALL,
                 "--max-time", "0.02", "--rounds", "1")  # fmt: skip
    assert "0 compiled" in run.err and run.code == 0


def test_a_shipped_list_is_found_from_anywhere(ckprof: Ckprof) -> None:
    for name in ("forward/tests/nhwgc_fp16", "conf/forward/tests/nhwgc_fp16.conf"):
        called = ckprof("list", "instances", "--conf", name, "--format", "json")
        assert called.code == 0 and len(json.loads(called.out)) >= 50


def test_doctor(ckprof: Ckprof) -> None:
    called = ckprof("doctor")
    assert called.code == 0, called.out
    assert "compiler" in called.out


@pytest.mark.thorough
@pytest.mark.usefixtures("quick_compiler")
def test_interrupt_leaves_nothing_running(short_list: Path, tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "ckprof", "run", "fwd", "--conf", str(short_list), "--build-dir", "tree",
         "--max-time", "30", "--min-time", "30", "--timeout", "60"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env=os.environ | {"CKPROF_CACHE_DIR": str(tmp_path / "cache")}, preexec_fn=heed_interrupts,
    )  # fmt: skip
    with child:
        time.sleep(4)
        os.killpg(child.pid, signal.SIGINT)
        try:
            _, err = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    assert child.returncode == ExitCode.INTERRUPTED, err
    assert b"Traceback" not in err and b"interrupted" in err
    again = subprocess.run(
        [sys.executable, "-m", "ckprof", "run", "fwd", "--conf", str(short_list), "--build-dir", "tree",
         "--problem", SMALL, "--max-time", "0.02"],
        cwd=tmp_path, capture_output=True, env=os.environ | {"CKPROF_CACHE_DIR": str(tmp_path / "cache")},
        check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
