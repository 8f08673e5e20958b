"""Each row of the page on coverage is a command that works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ckprof.cli.main import main
from tests.docs.blocks import ROOT

_ROW = re.compile(r"^\|.*\| `ckprof ([^`]+)` \|$", re.MULTILINE)
COMMANDS = [shlex.split(command) for command in _ROW.findall((ROOT / "docs" / "coverage.md").read_text())]
#: what compiles kernels
_BUILDING = ("run", "check-support")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all rows: some read what others have written."""
    return tmp_path_factory.mktemp("coverage")


def test_every_row_has_a_command() -> None:
    rows = [line for line in (ROOT / "docs" / "coverage.md").read_text().splitlines() if line[:2] == "| "]
    assert len(rows) == len(COMMANDS) + sum(row.startswith("| feature") for row in rows)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(c, id=" ".join(c), marks=pytest.mark.thorough if c[0] in _BUILDING else ())
        for c in COMMANDS
    ],
)
def test_the_command_of_a_row_works(
    command: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    assert main(command) == 0
    output = capsys.readouterr()
    assert output.out.strip() not in ("", "0") or set(folder.iterdir()) - before, output.err
