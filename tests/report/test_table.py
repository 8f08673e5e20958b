"""The one table: each rendering holds what it should, and nothing from outside acts on a terminal."""

from __future__ import annotations

import csv
import io
import re
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ckprof.report.table import ESSENTIAL, Column, Table, Terminal, csv_text
from ckprof.report.text_width import display_width
from tests.kernel_names import kernel_name

COLOUR = re.compile(r"\x1b\[\d+m")


class Kernel(NamedTuple):
    name: str
    ms: float | None = None
    splits: int = 1
    state: str = ""


COLUMNS = [
    Column("kernel", lambda kernel: kernel.name),
    Column("time", lambda kernel: kernel.ms, unit="ms", align="right", form=".2f", key="time_ms"),
    Column("splits", lambda kernel: kernel.splits, align="right", priority=2),
    Column("state", lambda kernel: kernel.state, priority=1, style=lambda kernel: kernel.state),
]
HEAD, GRIDS = ("grouped_conv_fwd", "fp16", "nhwgc", "2d"), ("2x2x1", "1x2x1")
ROWS = [Kernel("first", 1.2345, state="good"), Kernel("second", None, 12, "bad")]


def table(*rows, **options):
    return Table(COLUMNS, rows or ROWS, **options)


def test_text_has_headings_with_units_and_aligned_cells():
    assert table().text().split("\n") == [
        "kernel      time [ms]    splits  state",
        "--------  -----------  --------  -------",
        "first            1.23         1  good",
        "second                       12  bad",
    ]


def test_markdown():
    lines = table().markdown().split("\n")
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "kernel",
        "time [ms]",
        "splits",
        "state",
    ]
    assert [cell.strip() for cell in lines[3].strip("|").split("|")] == ["second", "", "12", "bad"]


def test_csv_and_records_are_for_programs():
    assert table().csv() == "kernel,time_ms,splits,state\nfirst,1.2345,1,good\nsecond,,12,bad\n"
    assert table().records()[1] == {"kernel": "second", "time_ms": None, "splits": 12, "state": "bad"}
    rows = list(csv.reader(io.StringIO(table(Kernel("=1+1"), Kernel('a,b\n"c"', -2.5)).csv())))
    assert rows[1][0] == "'=1+1"
    assert rows[2][:2] == ['a,b\n"c"', "-2.5"]
    assert csv_text([{"b": 1}, {"a": "x"}], ("a", "b")) == "a,b\n,1\nx,\n"


def test_a_table_without_rows_still_has_its_headings():
    empty = Table(COLUMNS, ())
    assert empty.csv() == "kernel,time_ms,splits,state\n"
    assert empty.records() == []
    for text in (empty.text(), empty.text(Terminal(width=80)), empty.markdown()):
        assert "kernel" in text and "splits" in text


def test_points_of_numbers_stand_below_each_other():
    columns = [Column("ms", lambda value: value, align="decimal", form=".4g")]
    lines = Table(columns, [1.5, 22.25, 3.0, None]).text().split("\n")[2:]
    assert [line.rstrip() for line in lines] == [" 1.5", "22.25", " 3", ""]


def test_rows_after_the_most_are_counted_where_people_read_and_present_where_programs_do():
    many = table(*[Kernel(f"k{n}") for n in range(5)], most_rows=2, elsewhere="--format csv has all")
    for text in (many.text(), many.markdown()):
        assert "k1" in text and "k2" not in text
        assert text.endswith("\n\n... and 3 more; --format csv has all")
    assert len(many.csv().split("\n")) == 5 + 2


def test_long_texts_are_cut_and_stand_whole_below_on_request():
    reason = "a long reason " * 8
    for below in (False, True):
        columns = [COLUMNS[1], Column[Kernel]("why", lambda kernel: kernel.name, whole_below=below)]
        lines = Table(columns, [Kernel(reason, 1.0)]).text(Terminal(width=60)).split("\n")
        assert lines[2].startswith("       1.00  a long reason") and lines[2].endswith(
            "\N{HORIZONTAL ELLIPSIS}"
        )
        assert " ".join(lines[3:]) == (f"1.00: {reason.strip()}" if below else "")


def test_what_has_no_room_is_left_out_and_told():
    untimed = table(Kernel("first"), Kernel("second"))
    assert "time" in untimed.text() and "time" not in untimed.text(Terminal(width=80))
    told = table(notes=lambda left_out: [f"left out: {list(left_out)}"])
    assert told.text().endswith("\nleft out: []") and told.markdown().endswith("\nleft out: []")
    assert "left out: ['state']" in told.text(Terminal(width=39))


def test_names_differ_from_those_of_kernels_that_have_no_row():
    names = [kernel_name(*HEAD, "compv1", "cshuffle", "intrawave", "64x128x32", grid) for grid in GRIDS]
    columns = [Column("best kernel", str, names=lambda name: name)]
    alone = Table(columns, names[:1]).text(Terminal(width=24))
    assert "64x128x32" in alone and "2x2x1" not in alone
    shown = Table(columns, names[:1], other_names=names).text(Terminal(width=24))
    assert "2x2x1" in shown and "common to all names: grouped" in " ".join(shown.split())


def test_colours_change_nothing_but_colours():
    shown = table(style=lambda kernel: "warning" if kernel.splits > 1 else "")
    plain, coloured = (shown.text(Terminal(width=80, colour=colour)) for colour in (False, True))
    assert COLOUR.sub("", coloured) == plain and "\x1b" not in plain
    first, second = coloured.split("\n")[2:]
    assert "\x1b[32mgood\x1b[0m" in first
    assert second.startswith("\x1b[33msecond") and second.endswith("\x1b[0m")


HOSTILE = "\x1b[31mred\x1b[0m\n|a|<b>\t\x9b2J\u202e"


def test_hostile_values_are_spelled_out():
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
def test_no_line_is_longer_than_the_terminal(data, shape, width, colour):
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
