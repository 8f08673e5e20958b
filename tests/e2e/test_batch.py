"""A batch over a tree of lists: what is run, what is reported, how it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from ckprof.errors import ExitCode
from tests.e2e.conftest import LISTS

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

PROBLEM = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"
QUICK = ("--problem", PROBLEM, "--max-time", "0.02")


@pytest.fixture
def tree(tmp_path, short_list):
    """Lists of two directions, a broken one, one of three dimensions, and one of another set."""
    root = tmp_path / "tree"
    for folder in ("forward/tests", "backward_data/tests", "backward_data/profiler"):
        (root / folder).mkdir(parents=True)
    shutil.copy(short_list, root / "forward" / "tests" / "nhwgc_fp16.conf")
    lines = (LISTS / "backward_data" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    (root / "backward_data" / "tests" / "nhwgc_fp16.conf").write_text("\n".join(lines[:2]) + "\n")
    solid = (LISTS / "backward_data" / "tests" / "ndhwgc_fp16.conf").read_text().splitlines()
    (root / "backward_data" / "tests" / "ndhwgc_fp16.conf").write_text(solid[0] + "\n")
    (root / "backward_data" / "tests" / "broken.conf").write_text(lines[0] + "\nno list\n")
    (root / "backward_data" / "profiler" / "nhwgc_fp16.conf").write_text(lines[0] + "\n")
    return root


def test_every_list_and_a_grand_total(ckprof, tree, tmp_path):
    path = tmp_path / "batch.json"
    called = ckprof("run", "--tree", tree, "--set", "tests", *QUICK, "--why", "--json", path)
    assert called.code == ExitCode.INPUT, called.err
    assert "broken.conf:2:1: " in called.out  # with the rest of the batch behind it
    assert "backward_data/tests/ndhwgc_fp16.conf: skipped: no problem of its direction" in called.out
    assert "vector" in called.out or "specialization" in called.out  # --why
    assert "4 lists: 2 fine, 1 broken, 1 skipped; 6 outcomes: " in called.out
    report = json.loads(path.read_text())
    assert [(stop["list"], stop["verdict"]) for stop in report["stops"]] == [
        ("backward_data/tests/broken.conf", "broken"),
        ("backward_data/tests/ndhwgc_fp16.conf", "skipped"),
        ("backward_data/tests/nhwgc_fp16.conf", "fine"),
        ("forward/tests/nhwgc_fp16.conf", "fine"),
    ]
    assert report["stops"][2]["report"]["direction"] == "bwd_data"
    assert report["stops"][2]["report"]["problems"][0]["outcomes"][0]["verification"]["passed"]


def test_interrupt_reports_what_is_done(tree, tmp_path):
    path = tmp_path / "batch.json"
    child = subprocess.Popen(
        [sys.executable, "-m", "ckprof", "run", "--tree", str(tree), "--set", "tests", "--problem", PROBLEM,
         "--max-time", "30", "--min-time", "30", "--timeout", "60", "--json", str(path)],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert child.stderr is not None
    for line in child.stderr:
        if b"[3/4]" in line:
            break
    time.sleep(1)
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == ExitCode.INTERRUPTED, err
    assert b"Traceback" not in err
    # the list that was being run is a part of it, once it has an outcome
    ends = (b"2 of 4 lists: 1 broken, 1 skipped", b"3 of 4 lists: 1 failed, 1 broken, 1 skipped")
    assert any(b"interrupted: " + end in out for end in ends), out
    assert json.loads(path.read_text())["finished"] is False
