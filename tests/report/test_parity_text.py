"""Comparisons in all formats: every finding is shown, and what fails is told from what does not."""

import json

import pytest

from ckprof.model.parity import (
    DEFAULT_FAIL_ON,
    Duplicate,
    FieldDifference,
    Lossy,
    Match,
    ParityReport,
    Skipped,
    StringComparison,
    Unmatched,
)
from ckprof.report.parity_text import parity_document, render_parity_json, render_parity_markdown

DIFFERENCE = FieldDifference(field="tile_m", first="64", second="128")
FULL = StringComparison(
    title="fwd a.conf",
    first="CK Builder",
    second="catalog",
    first_count=6,
    second_count=3,
    matches=(Match(text="Kernel<1>", source="a.conf:1"),),
    missing=(
        Unmatched(
            text="Kernel<2>",
            source="a.conf:2",
            nearest=Match(text="Kernel<3>", source="c.json", differences=(DIFFERENCE,)),
            note="the conversion drops it",
        ),
    ),
    extra=(Unmatched(text="Kernel<3>", source="c.json"),),
    duplicates=(Duplicate(text="Kernel<1>", side="CK Builder", sources=("a.conf:1", "a.conf:9")),),
    lossy=(
        Lossy(
            rule="async-v4",
            reason="written as mem",
            text="Kernel<4>",
            written="Kernel<5>",
            sources=("a.conf:4",),
            differences=(DIFFERENCE,),
        ),
    ),
    skipped=(Skipped(text="Kernel<6>", source="a.conf:6", rule="thread-share", reason="too wide"),),
    notes=("an annotation \x1b",),
)
FINE = StringComparison(
    title="fwd b.conf",
    first="CK Builder",
    second="catalog",
    first_count=1,
    second_count=1,
    matches=(Match(text="Kernel<7>", source="b.conf:1"),),
)
EMPTY = StringComparison(
    title="fwd c.conf", first="CK Builder", second="catalog", first_count=0, second_count=0
)


def report(*comparisons, fail_on=DEFAULT_FAIL_ON):
    return ParityReport(ckprof_version="1", revision="2026-06", fail_on=fail_on, comparisons=comparisons)


SHOWN = [
    *("missing: only in CK Builder: a.conf:2: Kernel<2>", "the conversion drops it"),
    *("nearest: c.json, differs in tile_m (64 -> 128)", "extra: only in catalog: c.json: Kernel<3>"),
    *("duplicate: 2 times in CK Builder: Kernel<1>", "a.conf:1, a.conf:9"),
    *("lossy: async-v4: written as mem", "Kernel<4>", "written as Kernel<5>"),
    *("skipped: thread-share: a.conf:6: too wide", "Kernel<6>"),
    "1 matched, 1 missing, 1 extra, 1 duplicate, 1 lossy, 1 skipped in 1 comparison",
]


@pytest.mark.parametrize("render", [lambda report: parity_document(report).text(), render_parity_markdown])
def test_every_finding_is_shown(render):
    text = render(report(FULL))
    for words in SHOWN:
        assert words in text
    assert "PARITY FAILS" in text


def test_what_became_of_comparisons_is_seen_first():
    lines = parity_document(report(FULL, FINE, EMPTY)).text().splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["FAIL", "ok", "none"]
    assert "parity holds: 1 matched" in parity_document(report(FINE)).text()
    assert "<details open><summary>fwd a.conf" in render_parity_markdown(report(FULL))
    lossy = report(FULL, fail_on=())
    assert "<details><summary>fwd a.conf" in render_parity_markdown(lossy)
    assert "<details" not in render_parity_markdown(report(FINE))


def test_json_has_everything():
    content = json.loads(render_parity_json(report(FULL)))
    assert content["fail_on"] == ["missing", "extra", "duplicate"]
    (comparison,) = content["comparisons"]
    assert comparison["missing"][0]["nearest"]["differences"] == [
        {"field": "tile_m", "first": "64", "second": "128"}
    ]
    assert comparison["matches"] == [{"text": "Kernel<1>", "source": "a.conf:1"}]
