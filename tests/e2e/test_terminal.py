"""Tables of real commands on a pseudo-terminal: they fit, and colours are colours."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from ckprof.report.layout import display_width
from tests.e2e.conftest import Ckprof

SEQUENCE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
PROBLEM = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"
RUN = ("--problem", PROBLEM, "--max-time", "0.05", "--min-samples", "2")

Shown = Callable[..., str]


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    """Call ``ckprof`` and return what its standard output writes to a terminal."""

    def call(*arguments: str | Path, width: int, **variables: str) -> str:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
        process = subprocess.Popen(
            [sys.executable, "-m", "ckprof", *map(str, arguments)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            env={**kept, "TERM": "xterm-256color", **variables},
        )
        os.close(theirs)
        parts = []
        # the other end closes with the process: Linux reports that as an error
        while part := _read(ours):
            parts.append(part)
        os.close(ours)
        process.wait()
        return b"".join(parts).decode().replace("\r\n", "\n")

    return call


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def check_width(text: str, width: int) -> None:
    """Assert that every line of the table fits, from its headings to the blank line after it."""
    lines = SEQUENCE.sub("", text).split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith("---"))
    end = next(number for number, line in enumerate([*lines[start:], ""], start) if not line)
    assert max(map(display_width, lines[start - 1 : end])) <= width


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "what", [("list", "pipelines"), ("list", "archs"), ("doctor",), ("problems", "list")]
)
def test_tables_fit_the_terminal(shown: Shown, what: tuple[str, ...], width: int) -> None:
    check_width(shown(*what, width=width), width)


def test_columns_without_room_are_named(shown: Shown, short_list: Path) -> None:
    arguments = ("list", "instances", "--conf", short_list)
    text = shown(*arguments, width=80)
    check_width(text, 80)
    assert "(no room for source, instance string, pipeline; --format csv has every column)" in text
    assert "no room" not in shown(*arguments, width=500)


@pytest.mark.compiler
@pytest.mark.parametrize("width", [80, 120])
def test_colours_of_a_run_are_escape_sequences(shown: Shown, short_list: Path, width: int) -> None:
    text = shown("run", "fwd", "--conf", short_list, *RUN, width=width)
    check_width(text, width)
    assert "\x1b[32m" in text and "\x1b[0m" in text
    assert set(SEQUENCE.findall(text)) <= {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"}
    for spelled in ("\\x1b", "\\u001b", "\\033"):
        assert spelled not in text


@pytest.mark.compiler
@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_terminals_without_colours_get_none(
    shown: Shown, short_list: Path, variables: dict[str, str]
) -> None:
    text = shown("run", "fwd", "--conf", short_list, *RUN, width=80, **variables)
    check_width(text, 80)
    assert "Best configuration" in text and "\x1b" not in text and "\\u001b" not in text


@pytest.mark.compiler
def test_pipes_get_every_column_and_no_colour(ckprof: Ckprof, short_list: Path) -> None:
    done = ckprof("run", "fwd", "--conf", short_list, *RUN, env={"NO_COLOR": "", "TERM": "xterm"})
    assert "max error" in done.out and "no room" not in done.out
    assert "\x1b" not in done.out and "\\u001b" not in done.out
