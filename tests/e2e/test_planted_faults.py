"""What verification finds of the faults in ``tests/kernel_faults.py``: minutes of compiling."""

import json
import subprocess
import sys

import pytest

from tests.kernel_faults import FAULTS, LISTS, planted

pytestmark = [pytest.mark.compiler, pytest.mark.slow]

#: share of the faults that the default run of the fitting list finds
GOAL = 0.83


def statuses(fault, name, folder, *options):
    """Return the statuses of a default run of the kernels of a list with a fault."""
    environment = planted(fault, folder / "packages")
    direction, conf, instances, *problem = LISTS[name]
    report = folder / "run.json"
    command = [sys.executable, "-m", "ckprof", "run", direction, "--conf", conf, "--instance", instances]
    command += [part for text in problem for part in ("--problem", text)]
    command += ["--rounds", "1", "--max-time", "0.05", "--json", str(report), "--timeout", "20", *options]
    # in a folder of its own, whose name is no package's
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert report.is_file(), ran.stderr
    problems = json.loads(report.read_text())["problems"]
    return {row["status"]: row["reason"] for problem in problems for row in problem["outcomes"]}


def test_the_default_run_finds_them(tmp_path):
    found = {}
    for number, fault in enumerate(FAULTS):
        seen = statuses(fault, fault.list, tmp_path / str(number))
        assert seen.keys() - {"unsupported"}, (fault.name, seen)
        found[fault.name] = bool({"wrong_result", "run_error", "run_timeout"} & seen.keys())
    missed = [name for name, seen in found.items() if not seen]
    assert len(missed) <= (1 - GOAL) * len(FAULTS), missed


@pytest.mark.parametrize("name", LISTS)
def test_kernels_without_a_fault_are_right(name, tmp_path):
    assert statuses(None, name, tmp_path / "run").keys() <= {"ok", "unsupported"}
