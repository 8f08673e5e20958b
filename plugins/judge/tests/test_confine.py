from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ckprof.python_child import module_folders

_PROGRAM = """
import os, sys
from ckprof_plugins.judge.confine import confine
inside, outside = sys.argv[1:]
hidden, shown = [outside + "/hidden", outside + "/shown/but"], [outside + "/hidden/shown"]
print(confine([inside], hidden, shown))
for what in (
    lambda: open(sys.argv[1] + "/inside", "w"),
    lambda: open(sys.argv[2] + "/outside", "w"),
    lambda: open(sys.argv[2] + "/known").read(),
    lambda: open(f"/proc/{os.getppid()}/mem", "rb"),
    lambda: os.readlink(f"/proc/{os.getppid()}/fd/0"),
    lambda: open(sys.argv[2] + "/hidden/one").read(),
    lambda: open(sys.argv[2] + "/link/one").read(),
    lambda: open(sys.argv[2] + "/hidden/shown/one").read(),
    lambda: open(sys.argv[2] + "/shown/one").read(),
    lambda: open(sys.argv[2] + "/shown/but/one").read(),
    lambda: os.kill(os.getppid(), 18),
):
    try:
        what()
        print("yes")
    except OSError as exc:
        print("no")
"""


def test_it_writes_into_its_own_folder_alone_and_sees_neither_processes_nor_hidden_files(tmp_path):
    inside, outside = tmp_path / "a", tmp_path / "b"
    inside.mkdir()
    outside.mkdir()
    (outside / "known").write_text("")
    for folder in ("hidden/shown", "shown/but", "hidden"):
        (outside / folder).mkdir(parents=True, exist_ok=True)
        (outside / folder / "one").write_text("")
        (outside / folder).parent.joinpath("one").write_text("")
    (outside / "link").symlink_to(outside / "hidden")
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(inside), str(outside)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(module_folders())},
    )
    isolation, *answers = ended.stdout.splitlines()
    if not isolation:
        pytest.skip("this kernel has no Landlock")
    assert answers[:5] == ["yes", "no", "yes", "no", "no"]
    assert answers[5:10] == ["no", "no", "yes", "yes", "no"]
    if int(isolation.split()[1]) >= 6:
        assert answers[10] == "no"
