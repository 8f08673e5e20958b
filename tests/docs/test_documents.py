"""Every command and every program in README and docs is run, or marked with the reason why it is not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import each
from tests.docs.blocks import DOCUMENTS, ROOT, blocks
from tests.places import left_out

LISTS = ROOT / "conf"

#: pages whose commands compile and measure for long: the nightly part runs them
LONG = {
    "compare.md",
    "epilogues.md",
    "gemm.md",
    "plugin-guides.md",
    "rule-sets.md",
    "run.md",
    "store.md",
    "sweep.md",
    "tune.md",
}
RUN = [
    pytest.param(path, id=path.name, marks=pytest.mark.slow if path.name in LONG else ())
    for path in DOCUMENTS
    if path.name != "README.md" and any(one.has_commands and not one.reason_not_run for one in blocks(path))
]
PROGRAMS = [
    one for path in DOCUMENTS for one in blocks(path) if one.kind == "python" and not one.reason_not_run
]


@each(path=DOCUMENTS)
def test_commands_are_run_or_say_why_not(path):
    for one in blocks(path):
        if one.has_commands and one.kind != "sh":
            assert len(one.reason_not_run) > 5, f"{path.name}:{one.line} is neither ```sh nor marked"


@each(path=DOCUMENTS)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        linked = Path(os.path.normpath(path.parent / target))
        assert linked.exists() or left_out(linked), f"{path.name} links to {target}"


@pytest.fixture
def folder(tmp_path):
    """A user's folder with the files that the pages speak of, and ``ckprof`` on the path."""
    lines = (LISTS / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    short = lines[:2]
    (tmp_path / "legacy.conf").write_text("\n".join(short) + "\n")
    (tmp_path / "problems.txt").write_text("conv -n 1 -c 16 -H 8 -W 8 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1\n")
    binaries = tmp_path / ".bin"
    binaries.mkdir()
    script = binaries / "ckprof"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckprof "$@"\n')
    script.chmod(0o755)
    (binaries / "python").symlink_to(sys.executable)
    return tmp_path


@pytest.mark.thorough
@pytest.mark.compiler
@pytest.mark.parametrize("path", RUN)
def test_commands_work(path, folder):
    environment = {
        **os.environ,
        "PATH": f"{folder / '.bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "CKPROF_WORK_DIR": str(folder / ".work"),
    }
    for one in blocks(path):
        if one.kind != "sh" or one.reason_not_run:
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", one.text],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        said = f"{path.name}:{one.line}\n{done.stdout[-800:]}\n{done.stderr[-1500:]}"
        assert done.returncode in one.exit_codes, said
        assert "Traceback" not in done.stderr, said


@pytest.mark.thorough
@pytest.mark.compiler
@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: f"{one.path.name}:{one.line}")
def test_programs_work(one, tmp_path, monkeypatch):
    if "to_pandas" in one.text:
        pytest.importorskip("pandas")
    _run_program(one.text, tmp_path)


@pytest.mark.thorough
@pytest.mark.compiler
def test_the_notebook_works(tmp_path):
    pytest.importorskip("pandas")
    out = _run_program((ROOT / "docs" / "examples" / "profile_two_problems.py").read_text(), tmp_path)
    assert out.count(" -> grouped_conv_fwd") == 2 and "time_ms" in out


def _run_program(text, folder):
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CKPROF_WORK_DIR": str(folder / "work")},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
