"""Texts that mean harm stay texts in every format: no link, image, tag or control results."""

import csv
import io
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ckprof.compare.compare import compare
from ckprof.compare.side import side_of
from ckprof.model.outcome import Status
from ckprof.model.results import BatchResults, ListResult, ListVerdict
from ckprof.report import (
    batch_report,
    ci_formats,
    comparison_data,
    comparison_text,
    parity_text,
    run_data,
    run_table,
)
from ckprof.report.ci import JUnit, add
from ckprof.report.escape import csv_cell, html_text, markdown_block, markdown_cell, markdown_text, xml_text
from ckprof.report.run_summary import render_best, terminal_document
from ckprof.report.table import Terminal
from ckprof.sanitize import plain, visible
from tests.cases import each
from tests.measured import Made, attempts, later

from .hostile_text import (
    CONTROL,
    PAYLOADS,
    Elements,
    assert_harmless_markdown,
    assert_harmless_text,
    poisoned,
)
from .test_parity_text import FULL, report

ALL = " ".join(PAYLOADS)
HOSTILE = each(payload=[*PAYLOADS, ALL])
#: characters that some format acts upon
SPECIAL = st.text("ab1 \n\t\\`*_{}[]()<>#+-=.!|~&;:/@$\"'\r\x00\x1b\x9b\u202e\u200b漢", max_size=30)


@given(text=SPECIAL)
@example(text="a\r\nb")
def test_text_in_markdown_is_the_text(text):
    shown = markdown_cell(text)
    tokens = MarkdownIt("gfm-like", {"html": True}).parse(shown)
    kinds = [token.type for token in tokens]
    assert kinds in ([], ["paragraph_open", "inline", "paragraph_close"], ["code_block"])
    words = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in words} <= {"text", "text_special"}
    seen = "".join(token.content for token in (words or tokens))
    if kinds != ["code_block"]:
        assert " ".join(seen.split()) == " ".join(plain(text).split())


@given(text=SPECIAL)
def test_lines_in_markdown_begin_nothing(text):
    tokens = MarkdownIt("gfm-like", {"html": True}).parse(markdown_text(text))
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close", "code_block"}
    children = {child.type for token in tokens for child in token.children or ()}
    assert children <= {"text", "text_special", "softbreak", "hardbreak"}


@given(cells=st.lists(SPECIAL, min_size=2, max_size=3))
def test_cells_in_markdown_stay_cells(cells):
    row = "| " + " | ".join(map(markdown_cell, cells)) + " |"
    head = "|" + " h |" * len(cells) + "\n|" + "---|" * len(cells)
    tokens = MarkdownIt("gfm-like").parse(f"{head}\n{row}\n")
    assert sum(token.type == "td_open" for token in tokens) == len(cells)


@given(lines=st.lists(SPECIAL, min_size=1, max_size=4))
def test_no_line_ends_a_block(lines):
    tokens = MarkdownIt("gfm-like").parse(markdown_block(lines))
    assert [token.type for token in tokens] == ["fence"]
    assert len(tokens[0].content.splitlines()) == len(lines)


@given(text=SPECIAL)
def test_text_in_html_is_the_text(text):
    found = Elements(f'<p title="{html_text(text)}">{html_text(text)}</p>')
    (only,) = found.seen
    assert found.text == only[1]["title"] == plain(text)


@HOSTILE
def test_csv_cells_are_texts(payload):
    shown = csv_cell(payload)
    assert isinstance(shown, str) and not CONTROL.search(shown)
    assert shown.removeprefix("'") == visible(payload)
    assert not shown.startswith(("=", "+", "-", "@", "\t"))
    assert csv_cell(-1.5) == -1.5


@each(text=["=1+1", "+1", "-x", "@a", "\tx", "\rx"])
def test_no_cell_is_a_formula(text):
    assert csv_cell(text) == f"'{visible(text)}"


@HOSTILE
def test_xml_holds_the_text(payload):
    junit = JUnit(payload)
    add(junit.suite(payload), "testcase", payload, name=payload)
    root = ElementTree.fromstring(junit.render())  # noqa: S314 - our own text
    (case,) = root.iter("testcase")
    assert case.text == xml_text(payload) and not CONTROL.search(junit.render())
    assert len([*root.iter()]) == 3


@HOSTILE
def test_runs_show_texts_as_texts(payload, results):
    hostile = poisoned(results, payload)
    for text in (run_table.run_document(hostile).text(), render_best(hostile, "table", 3)):
        assert_harmless_text(text)
    # lines are folded for terminals alone, which no build service reads
    assert not CONTROL.search(terminal_document(hostile, all_rows=True).text(Terminal(width=90)))
    for text in (run_table.run_document(hostile).markdown(), render_best(hostile, "md", 3)):
        assert_harmless_markdown(text)
    for text in (run_data.render_csv(hostile), render_best(hostile, "csv", 3)):
        assert not CONTROL.search(text)
        rows = list(csv.reader(io.StringIO(text)))
        assert {len(row) for row in rows} == {len(rows[0])}


@HOSTILE
def test_batches_show_texts_as_texts(payload, results):
    lists = tuple(
        ListResult(name=f"{n}", direction="fwd", verdict=verdict, reason="why", results=some, seconds=1.0)
        for n, (verdict, some) in enumerate(
            [(ListVerdict.FAILED, results), (ListVerdict.BROKEN, None), (ListVerdict.SKIPPED, None)]
        )
    )
    batch = poisoned(BatchResults(root="conf", set_name="", found=3, lists=lists, why=True), payload)
    assert_harmless_text(batch_report.batch_document(batch).text())
    assert_harmless_markdown(batch_report.batch_document(batch).markdown())
    assert not CONTROL.search(batch_report.render_batch_csv(batch))


@HOSTILE
def test_parity_shows_texts_as_texts(payload):
    hostile = poisoned(report(FULL), payload)
    assert_harmless_text(parity_text.parity_document(hostile).text())
    assert_harmless_markdown(parity_text.render_parity_markdown(hostile))
    text = ci_formats.render_parity_junit(hostile)
    assert not CONTROL.search(text)
    ElementTree.fromstring(text)  # noqa: S314 - our own text


def sides(payload):
    """Two sides whose every text means harm; stores hold nothing that is no character."""
    payload = payload.encode(errors="ignore").decode()
    made = Made(
        problems=2,
        rounds=3,
        failing=lambda p, i: Status.RUN_ERROR if i == 0 else Status.UNSUPPORTED if i == 1 else None,
    )
    other = Made(problems=2, rounds=3, session=later(), factor=lambda p, i: 1.5 if i == 2 else 1.0)
    return (
        side_of(f"{name}{payload}", [poisoned(one, payload) for one in attempts(some)])
        for name, some in (("old", made), ("new", other))
    )


@HOSTILE
def test_comparisons_show_texts_as_texts(payload):
    comparison = compare(*sides(payload))
    assert_harmless_text(comparison_text.comparison_document(comparison).text())
    assert_harmless_markdown(comparison_text.comparison_document(comparison).markdown())
    assert not CONTROL.search(comparison_data.render_csv(comparison))
    text = ci_formats.render_comparison_junit(comparison)
    assert not CONTROL.search(text)
    ElementTree.fromstring(text)  # noqa: S314 - our own text
