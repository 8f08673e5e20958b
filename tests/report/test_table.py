"""The one table: each rendering holds what it should, and nothing from outside acts on a terminal."""

from __future__ import annotations

import csv
import io
import re
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.report.document import Block, Document, Heading
from ckprof.report.layout import common_ends, display_width
from ckprof.report.table import ESSENTIAL, Column, Table, Terminal, csv_text

COLOUR = re.compile(r"\x1b\[\d+m")


class Kernel(NamedTuple):
    name: str
    ms: float | None = None
    splits: int = 1
    state: str = ""


COLUMNS: list[Column[Kernel]] = [
    Column("kernel", lambda kernel: kernel.name),
    Column("time", lambda kernel: kernel.ms, unit="ms", align="right", form=".2f", key="time_ms"),
    Column("splits", lambda kernel: kernel.splits, align="right", priority=2),
    Column("state", lambda kernel: kernel.state, priority=1, style=lambda kernel: kernel.state),
]
ROWS = [Kernel("first", 1.2345, state="good"), Kernel("second", None, 12, "bad")]


def table(*rows: Kernel, **options: object) -> Table[Kernel]:
    return Table(COLUMNS, rows or ROWS, **options)


def test_text_has_headings_with_units_and_aligned_cells() -> None:
    assert table().text().split("\n") == [
        "kernel      time [ms]    splits  state",
        "--------  -----------  --------  -------",
        "first            1.23         1  good",
        "second                       12  bad",
    ]


def test_markdown() -> None:
    lines = table().markdown().split("\n")
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "kernel",
        "time [ms]",
        "splits",
        "state",
    ]
    assert [cell.strip() for cell in lines[3].strip("|").split("|")] == ["second", "", "12", "bad"]


def test_csv_and_records_hold_raw_values() -> None:
    assert table().csv() == "kernel,time_ms,splits,state\nfirst,1.2345,1,good\nsecond,,12,bad\n"
    assert table().records()[1] == {"kernel": "second", "time_ms": None, "splits": 12, "state": "bad"}


def test_a_table_without_rows_still_has_its_headings() -> None:
    empty = Table(COLUMNS, ())
    assert empty.csv() == "kernel,time_ms,splits,state\n"
    assert empty.records() == []
    for text in (empty.text(), empty.text(Terminal(width=80)), empty.markdown()):
        assert "kernel" in text and "splits" in text


def test_points_of_numbers_stand_below_each_other() -> None:
    columns: list[Column[float | None]] = [Column("ms", lambda value: value, align="decimal", form=".4g")]
    lines = Table(columns, [1.5, 22.25, 3.0, None]).text().split("\n")[2:]
    assert [line.rstrip() for line in lines] == [" 1.5", "22.25", " 3", ""]


def test_rows_after_the_most_are_counted_where_people_read_and_present_where_programs_do() -> None:
    many = table(*[Kernel(f"k{n}") for n in range(5)], most_rows=2, elsewhere="--format csv has all")
    for text in (many.text(), many.markdown()):
        assert "k1" in text and "k2" not in text
        assert text.endswith("\n\n... and 3 more; --format csv has all")
    assert len(many.csv().split("\n")) == 5 + 2


def test_columns_of_low_priority_leave_first_and_are_named() -> None:
    full = table(elsewhere="--format csv has all")
    assert "no room" not in full.text(Terminal(width=40))
    assert "no room for state; --format csv has all" in full.text(Terminal(width=39)).replace("\n", " ")
    narrow = full.text(Terminal(width=25))
    assert narrow.split("\n")[0].split() == ["kernel", "time", "[ms]"]
    assert "no room for state, splits;" in narrow.replace("\n", " ")


def test_long_texts_are_cut_and_stand_whole_below_on_request() -> None:
    reason = "a long reason " * 8
    for below in (False, True):
        columns = [COLUMNS[1], Column[Kernel]("why", lambda kernel: kernel.name, whole_below=below)]
        lines = Table(columns, [Kernel(reason, 1.0)]).text(Terminal(width=60)).split("\n")
        assert lines[2].startswith("       1.00  a long reason") and lines[2].endswith(
            "\N{HORIZONTAL ELLIPSIS}"
        )
        assert " ".join(lines[3:]) == (f"1.00: {reason.strip()}" if below else "")


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


def test_columns_without_a_text_are_not_shown_on_a_terminal() -> None:
    untimed = table(Kernel("first"), Kernel("second"))
    assert "time" in untimed.text() and "time" not in untimed.text(Terminal(width=80))


def test_notes_are_told_which_columns_have_no_room() -> None:
    told = table(notes=lambda left_out: [f"left out: {list(left_out)}"])
    assert told.text().endswith("\nleft out: []") and told.markdown().endswith("\nleft out: []")
    assert "left out: ['state']" in told.text(Terminal(width=39))


def test_colours_change_nothing_but_colours() -> None:
    shown = table(style=lambda kernel: "warning" if kernel.splits > 1 else "")
    plain, coloured = (shown.text(Terminal(width=80, colour=colour)) for colour in (False, True))
    assert COLOUR.sub("", coloured) == plain and "\x1b" not in plain
    first, second = coloured.split("\n")[2:]
    assert "\x1b[32mgood\x1b[0m" in first
    assert second.startswith("\x1b[33msecond") and second.endswith("\x1b[0m")


HOSTILE = "\x1b[31mred\x1b[0m\n|a|<b>\t\x9b2J\u202e"


def test_hostile_values_are_spelled_out() -> None:
    rows = [Kernel(HOSTILE, state=HOSTILE), Kernel("::error::x")]
    columns = [*COLUMNS, Column[Kernel](HOSTILE, lambda kernel: 1)]
    hostile = Table(columns, rows, elsewhere=HOSTILE, most_rows=1, notes=lambda left_out: [HOSTILE])
    for terminal in (None, Terminal(width=30), Terminal(width=300, colour=True)):
        text = hostile.text(terminal)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert "\\u001b[31mred" in text.replace("\n", "") or terminal
    markdown = hostile.markdown().split("\n")[:3]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 6 for line in markdown)
    assert "<b>" not in "\n".join(markdown)
    assert not re.search(r"(?m)^\s*::", Table(COLUMNS, rows[1:]).text())


def test_csv_texts_are_no_formulas() -> None:
    rows = list(csv.reader(io.StringIO(table(Kernel("=1+1"), Kernel('a,b\n"c"', -2.5)).csv())))
    assert rows[1][0] == "'=1+1"
    assert rows[2][:2] == ['a,b\n"c"', "-2.5"]


def test_records_may_lack_fields() -> None:
    assert csv_text([{"b": 1}, {"a": "x"}], ("a", "b")) == "a,b\n,1\nx,\n"


texts = st.text(
    st.one_of(
        st.sampled_from("ab_ ,|\x1b\n\t漢字가😀e\u0301\u200b:#-"),
        st.characters(exclude_categories=("Cs",)),
    ),
    max_size=40,
)
columns = st.lists(
    st.tuples(
        st.text("abc [漢", min_size=1, max_size=12),
        st.sampled_from(["left", "right", "decimal"]),
        st.sampled_from([1, 2, ESSENTIAL]),
    ),
    min_size=1,
    max_size=6,
)


@given(data=st.data(), shape=columns, width=st.integers(16, 130), colour=st.booleans())
def test_no_line_is_longer_than_the_terminal(data, shape, width, colour) -> None:
    rows = data.draw(st.lists(st.tuples(*(texts for _ in shape)), max_size=4))
    made = [
        Column(
            name,
            lambda row, index=index: row[index],
            align=align,
            priority=priority,
            style=lambda row: "good" if "a" in row[0] else "",
        )
        for index, (name, align, priority) in enumerate(shape)
    ]
    drawn = Table(made, rows, elsewhere="somewhere", notes=lambda left_out: ["a note " * 5])
    text = drawn.text(Terminal(width=width, colour=colour))
    # the rules below the headings, a line for each row, the note
    assert COLOUR.sub("", text).split("\n")[2 + len(rows)].startswith("a note")
    assert max(display_width(line) for line in COLOUR.sub("", text).split("\n")) <= width
    if not colour:
        assert "\x1b" not in text
    assert len(drawn.text().split("\n")) == 2 + len(rows) + 1
    lines = Table(made, rows).markdown().split("\n")
    assert len(lines) == 2 + len(rows)
    assert len({display_width(line) for line in lines}) == 1


@given(text=texts)
def test_documents_are_plain_but_for_line_feeds(text: str) -> None:
    document = Document()
    document.add(Heading(text), text, Block((text,)), table(Kernel(text)))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", document.text(Terminal(width=50)))


def test_the_parts_of_a_document() -> None:
    document = Document([Heading("Title"), "two\nlines", Block(("code",))])
    document.add("", "last")
    assert document.text() == "Title\n\ntwo\nlines\n\ncode\n\nlast\n"
    assert document.markdown() == "### Title\n\ntwo\nlines\n\n```\ncode\n```\n\nlast\n"


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0), ("😀", 2)])
def test_display_width(text: str, width: int) -> None:
    assert display_width(text) == width
