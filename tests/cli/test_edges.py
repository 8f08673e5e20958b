"""What the system does to a command: streams that are closed or narrow, names that few files have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.places import TESTS

LIST = TESTS.parent / "conf/forward/tests/ngchw_depthwise.conf"
COMMAND = (sys.executable, "-m", "ckprof", "list", "instances", "--conf")
LONG = "n" * 320


def run(conf, *more, redirect="", **variables):
    words = [*COMMAND, os.fsdecode(conf), *more]
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirect}', "bash", *words],
        capture_output=True,
        env={**os.environ, **variables},
        cwd=more[-1].parent if more else None,
    )


@pytest.mark.parametrize(
    ("redirect", "variables", "said"),
    [
        (">&-", {}, b""),
        ("2>&-", {}, b""),
        (">&- 2>&- <&-", {}, b""),
        ("| true", {}, b""),
        ("", {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, rb"\xe9"),
    ],
)
def test_files_are_written_whatever_the_streams_are(tmp_path, redirect, variables, said):
    conf, exported = tmp_path / "caf\xe9.conf", tmp_path / "exported.json"
    conf.write_bytes(LIST.read_bytes())
    done = run(conf, "--format", "csv", "--export-json", exported, redirect=redirect, **variables)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    assert exported.read_text().startswith("{")
    assert said in done.stdout


def test_a_name_that_is_no_text_is_that_of_a_list(tmp_path):
    conf = os.fsencode(tmp_path / "list") + b"\xe9.conf"
    with open(conf, "wb") as stream:  # noqa: PTH123
        stream.write(LIST.read_bytes())
    done = run(conf)
    assert done.returncode == 0 and rb"list\udce9.conf" in done.stderr


@pytest.mark.parametrize("is_output", [False, True])
def test_a_name_that_no_file_can_have_is_said(tmp_path, is_output):
    done = run(LIST, "--export-json", tmp_path / LONG) if is_output else run(tmp_path / LONG)
    assert done.returncode == 3 and LONG.encode() in done.stderr
    assert done.stderr.strip().endswith(b"File name too long")
