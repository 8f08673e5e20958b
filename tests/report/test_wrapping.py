"""Messages on narrow terminals: broken between words, with what is to be copied in one piece."""

from __future__ import annotations

import io

import pytest

from ckprof.cli.console import Console
from ckprof.report.layout import wrapped, wrapped_text

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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_terminals_get_broken_lines() -> None:
    long = f"{WORDS} {WORDS}"
    for stream, lines in ((io.StringIO(), 1), (Terminal(), 3)):
        Console(err=stream).warning(long)
        written = stream.getvalue().replace("\r\x1b[K", "")
        assert len(written.splitlines()) == lines
        assert " ".join(written.split()) == f"warning: {long}"
