"""Tables and messages on narrow terminals: what leaves, what is shortened, and what stays in one piece."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.cli.console import Console
from ckprof.report.layout import common_ends, display_width, wrapped, wrapped_text
from ckprof.report.table import Column, Table, Terminal
from tests.report.test_table import Kernel, table

WORDS = "the list has instances of several types and this sentence has no end that would fit a line"
COMMAND = "'ckprof run fwd --conf legacy.conf --problem 3'"


@pytest.mark.parametrize("width", [20, 33, 60])
def test_no_word_is_broken_and_none_is_lost(width: int) -> None:
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
def test_what_is_copied_stays_in_one_piece(whole: str) -> None:
    text = wrapped(f"see the user's list, the third's line, with {whole} and what follows it there", 40)
    assert any(whole in line for line in text.split("\n"))


def test_short_lines_and_line_feeds_stay() -> None:
    text = "a  b\n\n    indented\n" + WORDS
    assert wrapped_text(text, 50).startswith("a  b\n\n    indented\n")


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_terminals_get_broken_lines() -> None:
    long = f"{WORDS} {WORDS}"
    for stream, lines in ((io.StringIO(), 1), (Tty(), 3)):
        Console(err=stream).warning(long)
        written = stream.getvalue().replace("\r\x1b[K", "")
        assert len(written.splitlines()) == lines
        assert " ".join(written.split()) == f"warning: {long}"


def test_columns_of_low_priority_leave_first_and_are_named() -> None:
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


def test_names_lose_what_they_share_where_there_is_no_room() -> None:
    rows = [Kernel(f"grouped_conv_fwd_{n}x{n}_vector_8_8", 1.0) for n in (16, 32)]
    assert "grouped_conv_fwd_16x16_vector_8_8>" in Table(NAMED, rows).text(Terminal(width=60))
    narrow = Table(NAMED, rows).text(Terminal(width=40)).split("\n")
    assert [line.split()[0] for line in narrow[2:4]] == ["<16x16>", "<32x32>"]
    assert " ".join(narrow[4:]) == (
        "(names without their common beginning grouped_conv_fwd_ and end _vector_8_8)"
    )
    assert "grouped_conv_fwd_16x16_vector_8_8" in Table(NAMED, rows).text()


def test_what_stands_in_place_of_a_name_takes_no_room_from_columns() -> None:
    rows = [Kernel("short", 1.0), Kernel("", state="a long reason " * 9)]
    lines = Table(NAMED, rows).text(Terminal(width=50)).split("\n")
    assert lines[0].split() == ["kernel", "splits"] and len(lines) == 4
    assert max(map(len, lines)) <= 50


def test_names_that_are_cut_keep_both_ends() -> None:
    row = Kernel("compv3_" + "middle_" * 10 + "pad0", 1.0)
    line = Table(NAMED, [row]).text(Terminal(width=30)).split("\n")[2]
    assert line.startswith("<compv3_") and "pad0>" in line and len(line) <= 30


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["grouped_conv_a", "grouped_conv_b"], ("grouped_conv_", "")),
        (["grouped_conv_ab", "grouped_conv_ac"], ("grouped_conv_", "")),
        (["a_grouped_conv", "b_grouped_conv"], ("", "_grouped_conv")),
        (["common_first_1_common_last", "common_first_2_common_last"], ("common_first_", "_common_last")),
        (["a_long_beginning", "a_long_beginning_2"], ("", "")),
        (["grouped_conv_x_x", "grouped_conv_x_x_x"], ("grouped_conv_x_", "")),
        (["grouped_conv_a"], ("", "")),
        (["grouped_conv_a", "grouped_conv_a"], ("", "")),
        (["a_b", "a_c"], ("", "")),
        (["one", "two"], ("", "")),
        ([], ("", "")),
    ],
)
def test_common_ends(names: list[str], expected: tuple[str, str]) -> None:
    assert common_ends(names) == expected


@given(st.lists(st.text("ab_", min_size=1, max_size=30), max_size=5))
def test_names_stay_different_without_their_common_ends(names: list[str]) -> None:
    start, end = common_ends(names)
    assert all(name.startswith(start) and name.endswith(end) for name in names)
    inner = {name.removeprefix(start).removesuffix(end) for name in names}
    assert len(inner) == len({*names}) and (len(inner) < 2 or start == end == "" or "" not in inner)


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0), ("😀", 2)])
def test_display_width(text: str, width: int) -> None:
    assert display_width(text) == width
