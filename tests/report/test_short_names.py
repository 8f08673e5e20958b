"""A name is shortened in one way: tables, ``--best``, ``print(results)``, comparisons, lines of progress."""

import io
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.cli.console import ProgressLine
from ckprof.compare.compare import compare
from ckprof.compare.side import side_of
from ckprof.kernels.requests import InstanceQuery
from ckprof.paths import conf_root
from ckprof.profiler import Profiler
from ckprof.report.comparison_text import comparison_document
from ckprof.report.run_summary import best_table, terminal_document
from ckprof.report.short_names import WHOLE_NAMES, ShortNames
from ckprof.report.table import Column, Table, Terminal
from ckprof.report.text_width import CUT, display_width
from ckprof.results import Results
from tests.kernel_names import FIELDS, kernel_name
from tests.measured import Made, attempts, later

START, END = ("grouped_conv_fwd", "fp16", "nhwgc", "2d"), ("2x2x1", "16x16x16", "vec8_8_8")
MIDDLES = [f"compv{number}_{16 << number}x64x64" for number in range(8)]


def long_name(middle):
    pipeline, tile = middle.split("_")
    return kernel_name(*START, pipeline, "cshuffle", "intrawave", tile, *END)


NAMES = [*map(long_name, MIDDLES)]


@pytest.fixture
def named(results):
    """A run whose kernels have long names."""
    pairs = zip(results.instances, NAMES * len(results.instances), strict=False)
    instances = (replace(instance, name=str(name), parts=name.parts) for instance, name in pairs)
    return replace(results, instances=tuple(instances))


def renamed(attempt, names):
    name = names[int(attempt.key.kernel.instance, 16)]
    return replace(attempt, kernel=replace(attempt.kernel, name=str(name), parts=name.parts))


def test_a_name_loses_what_all_have_then_what_tells_least():
    common = ShortNames(NAMES)
    assert common.common == "grouped_conv_fwd_fp16_nhwgc_2d, cshuffle_intrawave, 2x2x1_16x16x16_vec8_8_8"
    assert [common.short(name) for name in NAMES] == MIDDLES
    assert WHOLE_NAMES.short(NAMES[0]) == NAMES[0]
    for width, text in (
        (60, "grouped_conv_fwd_fp16_nhwgc_2d_compv0_16x64x64_vec8_8_8"),
        (40, "fp16_nhwgc_2d_compv0_16x64x64_vec8_8_8"),
        (20, "compv0_16x64x64"),
        (10, "16x64x64"),
        (5, "16\N{HORIZONTAL ELLIPSIS}64"),
    ):
        assert WHOLE_NAMES.short(NAMES[0], width) == text


def test_what_tells_two_names_apart_stays():
    names = [
        kernel_name("conv", *text.split(), fields=(FIELDS[0], *FIELDS[4:10], "filter", "pad"))
        for text in (
            "mem cshuffle intrawave 32x64x64 1x2x1 16x16x32",
            "mem cshuffle interwave 32x64x64 1x2x1 16x16x32",
            "mem cshuffle interwave 32x32x64 2x1x1 16x16x32",
            "mem cshuffle interwave 32x32x64 1x2x1 16x16x32",
            "basic_async_v1 cshuffle interwave 64x64x64 1x2x1 16x16x32 filter1x1 pad0",
        )
    ]
    common = ShortNames(names)
    assert [common.short(name, 28) for name in names] == [
        "mem_intrawave_32x64x64",
        "mem_interwave_32x64x64",
        "mem_32x32x64_2x1x1",
        "mem_32x32x64_1x2x1",
        "basic_async_v1_64x64x64_pad0",
    ]


@given(st.lists(st.text("ab_1x ", min_size=1, max_size=20), max_size=5), st.integers(0, 20))
def test_names_stay_different(names, width):
    common = ShortNames(names)
    for texts in ([common.short(name) for name in names], [common.short(name, width) for name in names]):
        assert len({*texts}) == len({*names})


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.thorough), 9])
def test_names_of_shipped_lists_differ_at_80_columns(step):
    profiler = Profiler()
    lists = sorted(conf_root().rglob("*.conf"))
    assert len(lists) >= 194
    for path in lists[::step]:
        chosen = [(one.index, one.shown) for one in profiler.instances(InstanceQuery(conf=path)).candidates]
        table = Table(
            [
                Column("rank", lambda row: row[0]),
                Column("instance", lambda row: f"[{row[0]}] {row[1]}", names=lambda row: row[1]),
                Column("time [ms]", lambda row: "10.2975 ± 2.7312"),
                Column("GFLOP/s", lambda row: "26.42", priority=3),
            ],
            chosen,
        )
        lines = table.text(Terminal(width=80)).split("\n")
        assert max(map(display_width, lines)) <= 80, path
        shown = [line.split()[2] for line in lines if line.strip()[:1].isdigit() and "[" in line]
        assert len({*shown}) == len(chosen), path
        for text, (_, name) in zip(shown, chosen, strict=True):
            tile = next(word for rank, field, word in name.parts if field == "tile")
            assert CUT not in text and tile in text, name
            assert name == "_".join(word for *_, word in name.parts if word), "what the name is made of"


def test_tables_best_and_printed_results_have_the_same_names(named, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    terminal = Terminal(width=110)
    # two kernels are verified, all have rows in whole tables
    for text, names in (
        (terminal_document(named).text(terminal), NAMES),
        (str(Results(named)), NAMES),
        (best_table(named, 2).text(terminal), NAMES[1:3]),
    ):
        common = ShortNames(names)
        lines = text.splitlines()
        assert f"common to all names: {common.common}" in " ".join(text.split())
        assert any(name in text for name in NAMES) == (names is not NAMES), "the best are whole below"
        for name in NAMES[1:3]:
            assert any(common.short(name) in line for line in lines)


def test_comparisons_have_the_same_names():
    def side(made):
        return [renamed(one, NAMES) for one in attempts(made)]

    slower = Made(seed=2, session=later(), factor=lambda p, i: 1.5 if (p, i) in ((0, 0), (1, 1)) else 1.0)
    found = compare(side_of("old.db", side(Made(seed=1))), side_of("new.db", side(slower)))
    text = comparison_document(found).text(Terminal(width=100))
    assert MIDDLES[0] in text and NAMES[0] not in text


def test_printed_results_are_whole_without_a_terminal_and_name_no_option(named, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    text = str(Results(replace(named, warnings=("more in several --passes", *"abcd"))))
    assert NAMES[1] in text and "GB/s" in text and "no room" not in text
    assert "--" not in re.sub("-{3,}", "", text) and "-v" not in text and "several passes" in text


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_lines_of_progress_cut_names_alike(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    monkeypatch.setattr("ckprof.cli.console.terminal_width", lambda stream: columns)
    line = ProgressLine(stream, rewritten=True)
    line.begin("run", at_once=True)
    line.show("kernel 1 of 8", NAMES[0])
    shown = stream.getvalue().removeprefix("\r\x1b[K").removeprefix("kernel 1 of 8 ")
    assert shown == WHOLE_NAMES.short(NAMES[0], columns - 1 - len("kernel 1 of 8 "))
