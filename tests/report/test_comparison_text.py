"""Comparisons for people."""

import re
from dataclasses import replace

from ckprof.compare.change import Verdict
from ckprof.compare.compare import compare
from ckprof.compare.options import FailOn
from ckprof.compare.side import side_of, with_rounds
from ckprof.report.comparison_data import as_json
from ckprof.report.comparison_text import MOST_ROWS, compared_columns, comparison_document
from ckprof.report.table import Terminal
from ckprof.store.attempt import Mark
from tests.compare.test_compare import failing_on
from tests.measured import Made, attempts, later
from tests.report.conftest import NEW, OLD, comparison_of


def test_the_table_says_what_happened(comparison):
    text = comparison_document(comparison).text()
    assert "old.db (old) against new.db (new)" in text
    assert "11 rows with times on both sides: 1 SLOWER, 0 FASTER, 1 UNCLEAR, 9 SAME" in text
    assert re.search(r"about \d+ passes per side would resolve half of the UNCLEAR rows, or --settle", text)
    assert "conditions (medians): load 0.5 \N{RIGHTWARDS ARROW} 9.0" in text
    assert "toolchain.compiler    clang 19.1" in text
    assert "wrong_result" in text
    slower = text[text.index("\nSLOWER\n") :].strip().splitlines()
    assert "+30" in slower[4] or "+29" in slower[4] or "+31" in slower[4]


def test_markdown_is_the_same_with_pipes(comparison):
    text = comparison_document(comparison).markdown()
    assert "### SLOWER" in text
    assert "| clang 19.1" in text


def test_long_tables_say_that_they_are_cut():
    many = replace(Made(seed=2, session=later()), problems=3, instances=20, factor=lambda p, i: 2.0)
    old = side_of("old.db", attempts(Made(seed=1, instances=20)))
    text = comparison_document(compare(old, side_of("new.db", attempts(many)))).text()
    assert f"... and {60 - MOST_ROWS} more" in text


def test_a_shift_that_all_rows_share_is_said():
    slower = Made(seed=2, noise=0.004, session=later(), factor=lambda p, i: 1.06)
    shifted = comparison_of(replace(slower, canaries=False))
    text = comparison_document(shifted).text()
    assert re.search(r"SHIFTED: all rows changed by \+[56]\.\d %, and there are no canaries to compare", text)
    assert failing_on(shifted, FailOn.SLOWER) == []
    assert failing_on(shifted, FailOn.SHIFT) == ["12 SHIFTED"]
    known = comparison_of(slower)
    assert "SHIFTED" not in comparison_document(known).text()
    assert failing_on(known, FailOn.SLOWER, FailOn.SHIFT) == ["12 slower"]
    unchanged = comparison_of(replace(slower, canaries=False, factor=lambda p, i: 1.0))
    assert "no canaries to compare" in comparison_document(unchanged).text()


def test_what_limits_verdicts_is_said():
    text = comparison_document(comparison_of(Made(seed=2, processes=1, session=later()))).text()
    assert "12 rows were measured in one pass on a side" in text
    assert "0 SLOWER, 0 FASTER, 12 UNCLEAR, 0 SAME" in text
    same = compare(side_of("a.db", attempts(OLD)), side_of("a.db", attempts(OLD)))
    text = comparison_document(same).text()
    assert "both sides are the same measurements" in text and "would resolve" not in text
    busy = [replace(one, marks=(Mark.BUSY_HOST,)) for one in attempts(NEW)]
    text = comparison_document(compare(side_of("old.db", attempts(OLD)), side_of("new.db", busy))).text()
    assert "warning: new side: 100 % of its measurements are marked busy_host" in text
    other = Made(seed=2, session=later(), device=replace(Made().device, arch="other"))
    assert "warning: device.arch differs" in comparison_document(comparison_of(other)).text()


def test_at_80_columns_times_and_changes_stay(comparison):
    text = comparison_document(comparison).text(Terminal(width=80))
    assert max(map(len, text.splitlines())) <= 80
    head = next(line for line in text.splitlines() if line.startswith("problem") and "old ms" in line)
    assert head.split()[-5:] == ["old", "ms", "new", "ms", "change"]
    wide = comparison_document(comparison).text(Terminal(width=300))
    assert "interval" in wide and "passes" in wide


def test_a_time_against_its_verdict_is_explained(comparison):
    assert "say the opposite" not in comparison_document(comparison).text()
    (row, *_) = comparison.with_verdict(Verdict.SLOWER)
    faster = with_rounds(row.new, [replace(one, time_ms=one.time_ms / 9) for one in row.new.rounds])
    rows = [replace(one, new=faster) if one is row else one for one in comparison.rows]
    assert "say the opposite" in comparison_document(replace(comparison, rows=tuple(rows))).text()


def test_errors_are_shown_where_they_differ():
    def with_error(made, ulp):
        for one in attempts(made):
            seen = one.verification
            yield replace(one, verification=seen and replace(seen, max_error=ulp / 4, spacing=0.25))

    old, same = (side_of(name, with_error(made, 0.5)) for name, made in (("old.db", OLD), ("same.db", NEW)))
    worse = side_of("new.db", with_error(NEW, 8.0))
    unknown = side_of("new.db", attempts(NEW))
    for new, cell in (
        (worse, "0.5 \N{RIGHTWARDS ARROW} 8"),
        (same, "0.5"),
        (unknown, "0.5 \N{RIGHTWARDS ARROW} ?"),
    ):
        compared = compare(old, new)
        row = next(row for row in compared.rows if row.change)
        column = next(column for column in compared_columns() if column.name == "error [ulp]")
        assert column.shown(row) == cell
    (data,) = {
        (row["old_error_ulp"], row["new_error_ulp"])
        for row in as_json(compare(old, worse))["rows"]
        if row["ratio"]
    }
    assert data == (0.5, 8.0)
