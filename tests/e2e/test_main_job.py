"""The main job end to end: list in, verified and ranked table out."""

import csv
import io
import json
from pathlib import Path

import pytest

from ckprof.errors import ExitCode
from ckprof.measure.host import LAST_LEVEL_CACHE_VARIABLE

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
def ckprof_modify_instances(direction, instances):
    del instances[0]

@hookimpl
def ckprof_after_outcome(instance, problem, outcome):
    EVENTS.append(["outcome", instance.key == outcome.key, outcome.status.value])

@hookimpl
def ckprof_after_report(command, exit_code):
    EVENTS.append(["report", command, exit_code])
    open("events.json", "w").write(json.dumps(EVENTS))
"""


def test_table_with_the_best_configuration(ckprof, short_list):
    called = ckprof("run", "fwd", "--conf", short_list, "--problem", SMALL, "--max-time", "0.05").ok()
    assert f"read {short_list}: 5 lines, 4 instances; dropped lines: 1 comment" in called.err
    assert "built 4 of 4 kernels" in called.err
    assert "4 instances: 3 ok, 1 unsupported" in called.out
    assert "Best configuration parameters:\nname: GroupedConvolutionForwardKernel<2," in called.out
    assert "Filter3x3 needs C = 1, got 16" in called.out  # why the merged-group instance rejects


@pytest.mark.thorough
def test_json_has_everything_needed_to_reproduce(ckprof, short_list, tmp_path):
    path = tmp_path / "results.json"
    called = ckprof(
        "run", "fwd", "--conf", short_list, "--problem", SMALL, "--problem", ONE_CHANNEL,
        "--max-time", "0.02", "--seed", "5", "--samples", "--format", "csv", "--json", path,
    ).ok()  # fmt: skip
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


def test_no_instance_supports_the_problem(ckprof, short_list):
    problem = SMALL.replace("-c 16", "-c 3")
    called = ckprof("run", "fwd", "--conf", short_list, "--problem", problem)
    assert called.code == ExitCode.FAILED
    assert "0 of 4 instances support this problem" in called.out
    assert called.out.count("C = 3") >= 3


@pytest.mark.thorough
def test_without_verification_nothing_is_ranked(ckprof, short_list, monkeypatch):
    monkeypatch.delenv(LAST_LEVEL_CACHE_VARIABLE)  # flushes what this machine has, as users do
    called = ckprof(
        "run", "fwd", "--conf", short_list, "--problem", SMALL, "--instance", "1", "--no-verify",
        "--max-time", "0.02",
    )  # fmt: skip
    assert "ok (not verified)" in called.out and "results were not verified" in called.out


@pytest.mark.thorough
def test_a_plugin_with_options_and_a_format_is_told(ckprof, short_list, tmp_path):
    (tmp_path / "observer.py").write_text(OBSERVER)
    called = ckprof(
        "run", "fwd", "--conf", short_list, "--problem", SMALL, "--plugin", "./observer.py",
        "--observe", "x", "--format", "count", "--max-time", "0.02", "--rounds", "1",
    ).ok()  # fmt: skip
    assert called.out == "3 outcomes\n"
    events = json.loads((tmp_path / "events.json").read_text())
    assert sorted(event[2] for event in events if event[0] == "outcome") == ["ok", "ok", "unsupported"]
    assert all(event[1] for event in events if event[0] == "outcome")
    assert events[-1] == ["report", "run", 0]


@pytest.mark.thorough
def test_stages_as_commands(ckprof, short_list, tmp_path):
    catalog = tmp_path / "short.json"
    assert ckprof("convert", short_list, "-o", catalog).code == 0
    generated = ckprof("generate", "fwd", "--conf", catalog, "--build-dir", tmp_path / "tree")
    assert generated.code == 0 and generated.out.strip() == str(tmp_path / "tree")
    manifest = json.loads((tmp_path / "tree" / "manifest.json").read_text())
    assert len(manifest["kernels"]) == 4
    built = ckprof("build", "fwd", "--conf", catalog, "--build-dir", tmp_path / "tree").ok()
    assert Path(built.out.strip()).is_file()
    run = ckprof("run", "fwd", "--conf", catalog, "--build-dir", tmp_path / "tree", "--problem", SMALL,
                 "--max-time", "0.02", "--rounds", "1")  # fmt: skip
    assert "0 compiled" in run.err and run.code == 0
