"""A name is shortened in one way: tables, ``--best``, ``print(results)``, comparisons, lines of progress."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from ckprof.cli.console import ProgressLine
from ckprof.compare.compare import compare
from ckprof.compare.side import side_of
from ckprof.model.results import RunResults
from ckprof.report.comparison_text import comparison_document
from ckprof.report.layout import WHOLE_NAMES, ShortNames
from ckprof.report.run_summary import best_table, terminal_document
from ckprof.report.table import Terminal
from ckprof.results import Results
from tests.measured import Made, attempts, later

START, END = "grouped_conv_fwd_fp16_nhwgc_2d_", "_intrawave_16x16x16_2x2_vectors_8_8_8"
MIDDLES = [f"compv{number}_{16 << number}x64x64" for number in range(8)]
NAMES = [f"{START}{middle}{END}" for middle in MIDDLES]


@pytest.fixture
def named(results: RunResults) -> RunResults:
    """A run whose kernels have long names."""
    pairs = zip(results.instances, NAMES * len(results.instances), strict=False)
    return replace(results, instances=tuple(replace(instance, name=name) for instance, name in pairs))


def test_a_name_loses_what_all_have_then_its_middle() -> None:
    common = ShortNames(NAMES)
    assert (common.start, common.end) == (START, END)
    assert [common.short(name) for name in NAMES] == MIDDLES
    assert common.short(NAMES[0], 10) == "compv\N{HORIZONTAL ELLIPSIS}4x64"
    assert WHOLE_NAMES.short(NAMES[0]) == NAMES[0]


def test_tables_best_and_printed_results_have_the_same_names(
    named: RunResults, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        assert f"(names without their common {common.left_out})" in " ".join(text.split())
        assert not any(name in text for name in NAMES)
        for name in NAMES[1:3]:
            assert any(common.short(name) in line for line in lines)


def test_comparisons_have_the_same_names() -> None:
    def side(made: Made) -> list:
        found = attempts(made)
        return [
            replace(one, kernel=replace(one.kernel, name=NAMES[int(one.key.kernel.instance, 16)]))
            for one in found
        ]

    slower = Made(seed=2, session=later(), factor=lambda p, i: 1.5 if (p, i) in ((0, 0), (1, 1)) else 1.0)
    found = compare(side_of("old.db", side(Made(seed=1))), side_of("new.db", side(slower)))
    text = comparison_document(found).text(Terminal(width=100))
    assert MIDDLES[0] in text and NAMES[0] not in text


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_lines_of_progress_cut_names_alike(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    monkeypatch.setattr("ckprof.cli.console.terminal_width", lambda stream: columns)
    line = ProgressLine(stream, rewritten=True)
    line.begin(at_once=True)
    line.show("kernel 1 of 8", NAMES[0])
    shown = stream.getvalue().removeprefix("\r\x1b[K").removeprefix("kernel 1 of 8 ")
    assert shown == WHOLE_NAMES.short(NAMES[0], columns - 1 - len("kernel 1 of 8 "))
