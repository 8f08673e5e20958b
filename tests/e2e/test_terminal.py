"""Tables of real commands on a pseudo-terminal: they fit, and colours are colours."""

import csv
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable

import pytest

from ckprof.report.text_width import display_width

pytestmark = pytest.mark.thorough

SEQUENCE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
PROBLEM = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"
RUN = ("--problem", PROBLEM, "--max-time", "0.05", "--min-samples", "2", "--rounds", "1")

#: the narrowest that tables are made for, and a wider one, where they have more columns
WIDTHS = [80, pytest.param(120, marks=pytest.mark.slow)]

Shown = Callable[..., str]


@pytest.fixture
def shown(tmp_path):
    """Call ``ckprof`` and return what its standard output writes to a terminal.

    With ``progress``, standard error is that terminal as well.
    """

    def call(*arguments, width, progress=False, **variables):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
        process = subprocess.Popen(
            [sys.executable, "-m", "ckprof", *map(str, arguments)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs if progress else subprocess.DEVNULL,
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


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def tables(text):
    """Return the lines of each table without colours, from its headings to the blank line after it."""
    lines = SEQUENCE.sub("", text).split("\n")
    found = []
    for number, line in enumerate(lines):
        if re.fullmatch(r"-+(  -+)*", line):
            end = next(place for place, later in enumerate([*lines[number:], ""], number) if not later)
            found.append(lines[number - 1 : end])
    return found


def check_width(text, width):
    """Assert that there is a table, and that every line of all of them fits."""
    assert tables(text), text
    for lines in tables(text):
        assert max(map(display_width, lines)) <= width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "what",
    [
        *(("list", kind) for kind in ("pipelines", "directions", "targets", "archs", "rule-sets", "lists")),
        *(("doctor",), ("plugins",), ("problems", "list"), ("problems", "show", "resnet50")),
    ],
)
def test_tables_fit_the_terminal(shown, what, width):
    check_width(shown(*what, width=width), width)


def test_columns_without_room_are_named(shown, short_list):
    arguments = ("list", "instances", "--conf", short_list)
    text = shown(*arguments, width=80)
    check_width(text, 80)
    assert "(no room for source, instance string, pipeline; --format csv has every column)" in text
    assert "no room" not in shown(*arguments, width=500)


@pytest.mark.compiler
@pytest.mark.parametrize("width", WIDTHS)
def test_colours_of_a_run_are_escape_sequences(shown, short_list, width):
    text = shown("run", "fwd", "--conf", short_list, *RUN, width=width)
    check_width(text, width)
    assert "\x1b[32m" in text and "\x1b[0m" in text
    assert set(SEQUENCE.findall(text)) <= {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"}
    for spelled in ("\\x1b", "\\u001b", "\\033"):
        assert spelled not in text


@pytest.mark.compiler
@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_terminals_without_colours_get_none(shown, short_list, variables):
    text = shown("run", "fwd", "--conf", short_list, *RUN, width=80, **variables)
    check_width(text, 80)
    assert "Best configuration" in text and "\x1b" not in text and "\\u001b" not in text


@pytest.mark.compiler
def test_pipes_get_every_column_and_no_colour(ckprof, short_list):
    done = ckprof("run", "fwd", "--conf", short_list, *RUN, env={"NO_COLOR": "", "TERM": "xterm"})
    assert "max error" in done.out and "no room" not in done.out
    assert "\x1b" not in done.out and "\\u001b" not in done.out


@pytest.mark.parametrize("width", WIDTHS)
def test_each_row_of_a_list_takes_one_line(shown, short_list, width):
    text = shown("list", "instances", "--conf", short_list, width=width)
    (lines,) = tables(text)
    assert len(lines) == 2 + 4 + 1
    assert "common to all names: grouped_conv_fwd_fp16_nhwgc_2d" in text
    explained = shown("explain", f"{short_list}:2", width=width)
    check_width(explained, width)


def test_a_comparison_of_lists_fits(shown, short_list):
    text = shown("diff", short_list, short_list, width=80)
    check_width(text, 80)
    assert "no room for" in text and "matched" in text


#: three problems, the last of which no instance supports
LAYERS = "".join(
    f"conv -n 1 -c {c} -H 10 -W 10 -k {k} -y 3 -x 3 -p 1 -q 1 -g 1 -F 1\n"
    for c, k in ((16, 16), (32, 16), (7, 5))
)
SWEEP = ("--problems", "layers.txt", "--min-samples", "2", "--min-rounds", "1", "--max-rounds", "2")


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.parametrize("width", WIDTHS)
def test_what_measures_fits_the_terminal(shown, tmp_path, short_list, width):
    (tmp_path / "layers.txt").write_text(LAYERS)
    run = ("run", "fwd", "--conf", short_list, "--problems", "layers.txt", *RUN[2:])
    for options in (("--best",), ("--top", "3"), ("--why",), ("--all-rows",)):
        check_width(shown(*run, *options, width=width), width)
    best = shown(*run, "--best", width=width)
    (lines,) = tables(best)
    assert [line.split()[0] for line in lines[2:5]] == ["0", "1", "2"]
    assert "2: none: C = 7 is not a multiple" in best or width == 120
    why = shown(*run, "--why", width=width)
    assert re.search(r"short\.conf:\d", tables(why)[0][2])
    for name in ("old.db", "new.db"):
        swept = shown("sweep", "--conf", short_list, *SWEEP, "--store", name, width=width, progress=True)
        check_progress(swept, width, "sweep: ")
        check_width(shown("results", "show", name, width=width), width)
    compared = shown("compare", "old.db", "new.db", width=width)
    check_width(compared, width)
    assert "rows unsupported on both sides" in compared and "on one side" not in compared
    checked = shown("check-support", "fwd", "--conf", short_list, "--problems", "layers.txt", width=width)
    check_width(checked, width)


def check_progress(text, width, start):
    """Assert that progress was told in one line that fits and leaves nothing behind."""
    drawn = [part for line in text.split("\n") for part in line.split("\r\x1b[K")[:-1]]
    told = [part for part in drawn if part.startswith(start)]
    assert told and max(map(display_width, drawn)) < width
    left = [line.rpartition("\r\x1b[K")[2] for line in text.split("\n")]
    assert not [line for line in left if line.startswith(start)]


@pytest.mark.compiler
def test_pipes_get_whole_names_lines_of_lists_and_few_lines_of_progress(ckprof, tmp_path, short_list):
    (tmp_path / "layers.txt").write_text(LAYERS)
    swept = ckprof("sweep", "--conf", short_list, *SWEEP, "--store", "a.db", env={"CI": "true"})
    # none where all is over before the first is due, see test_console.py
    assert swept.err.count("sweep: ") <= 5 and "\r" not in swept.err and "\x1b" not in swept.err
    compared = ckprof("compare", "a.db", "a.db")
    assert "names without" not in compared.out
    done = ckprof("run", "--conf", short_list, "--problem", PROBLEM, *RUN[2:])
    (best,) = [line for line in done.out.splitlines() if re.match(r" +1 +\[", line)][:1]
    assert "grouped_conv_fwd_fp16_nhwgc_2d_" in best and re.search(r"short\.conf:\d", best)
    for form, text in (("csv", ""), ("md", "| line ")):
        said = ckprof("run", "--conf", short_list, "--problem", PROBLEM, *RUN[2:], "--format", form).out
        assert re.search(r"short\.conf:\d", said) and text in said
        if form == "csv":
            first = next(csv.DictReader(io.StringIO(said)))
            assert re.search(r"short\.conf:\d$", first["source"])
            assert first["problem_text"].startswith("2D G1 N1 K16 C16 in 10x10")
            assert {first["tied_with_best"], first["noisy"]} <= {"True", "False"}
