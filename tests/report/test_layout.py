"""Tables and messages on narrow terminals: what leaves, what is shortened, and what stays in one piece."""

import io

import pytest

from ckprof.cli.console import Console
from ckprof.report.layout import wrapped, wrapped_text
from ckprof.report.table import Column, Table, Terminal
from tests.kernel_names import kernel_name
from tests.report.test_table import Kernel, table

WORDS = "the list has instances of several types and this sentence has no end that would fit a line"
COMMAND = "'ckprof run fwd --conf legacy.conf --problem 3'"


@pytest.mark.parametrize("width", [20, 33, 60])
def test_no_word_is_broken_and_none_is_lost(width):
    lines = wrapped(WORDS, width).split("\n")
    assert max(map(len, lines)) <= width and " ".join(" ".join(lines).split()) == WORDS
    assert all(line.startswith("  ") for line in lines[1:])


@pytest.mark.parametrize(
    "whole",
    [
        COMMAND,
        "/a/path/with-hyphens/that is".split()[0]
        + "/longer-than-any-line-that-there-is/of_a_terminal.conf:17",
        "grouped_conv_fwd_fp16_nhwgc_tile_128x128x32_variant-2",
        '"a name with blanks"',
    ],
)
def test_what_is_copied_stays_in_one_piece(whole):
    text = wrapped(f"see the user's list, the third's line, with {whole} and what follows it there", 40)
    assert any(whole in line for line in text.split("\n"))


def test_short_lines_and_line_feeds_stay():
    text = "a  b\n\n    indented\n" + WORDS
    assert wrapped_text(text, 50).startswith("a  b\n\n    indented\n")


class Tty(io.StringIO):
    def isatty(self):
        return True


def test_only_terminals_get_broken_lines():
    long = f"{WORDS} {WORDS}"
    for stream, lines in ((io.StringIO(), 1), (Tty(), 3)):
        Console(err=stream).warning(long)
        written = stream.getvalue().replace("\r\x1b[K", "")
        assert len(written.splitlines()) == lines
        assert " ".join(written.split()) == f"warning: {long}"


def test_columns_of_low_priority_leave_first_and_are_named():
    full = table(elsewhere="--format csv has all")
    assert "no room" not in full.text(Terminal(width=40))
    assert "no room for state; --format csv has all" in full.text(Terminal(width=39)).replace("\n", " ")
    narrow = full.text(Terminal(width=25))
    assert narrow.split("\n")[0].split() == ["kernel", "time", "[ms]"]
    assert "no room for state, splits;" in narrow.replace("\n", " ")


NAMED = [
    Column[Kernel](
        "kernel",
        lambda kernel: f"<{kernel.name}>" if kernel.ms else f"none: {kernel.state}",
        names=lambda kernel: kernel.name if kernel.ms else "",
    ),
    Column[Kernel]("splits", lambda kernel: kernel.splits, align="right", priority=2),
]


def test_names_lose_what_they_share_where_there_is_no_room():
    rows = [Kernel(kernel_name("grouped_conv_fwd", f"{n}x{n}", "vector_8_8"), 1.0) for n in (16, 32)]
    assert "grouped_conv_fwd_16x16_vector_8_8>" in Table(NAMED, rows).text(Terminal(width=60))
    narrow = Table(NAMED, rows).text(Terminal(width=40)).split("\n")
    assert " ".join(narrow[:2]) == "common to all names: grouped_conv_fwd, vector_8_8"
    assert [line.split()[0] for line in narrow[5:]] == ["<16x16>", "<32x32>"]
    assert "grouped_conv_fwd_16x16_vector_8_8" in Table(NAMED, rows).text()


def test_what_stands_in_place_of_a_name_takes_no_room_from_columns():
    rows = [Kernel("short", 1.0), Kernel("", state="a long reason " * 9)]
    lines = Table(NAMED, rows).text(Terminal(width=50)).split("\n")
    assert lines[0].split() == ["kernel", "splits"] and len(lines) == 4
    assert max(map(len, lines)) <= 50


def test_one_word_that_is_cut_keeps_both_ends():
    row = Kernel("compv3" + "middle" * 10 + "pad0", 1.0)
    line = Table(NAMED, [row]).text(Terminal(width=30)).split("\n")[2]
    assert line.startswith("<compv3") and "pad0>" in line and len(line) <= 30
