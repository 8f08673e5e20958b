"""Comparisons of instance strings as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ckprof.formatting import counted
from ckprof.model.parity import ParityFinding
from ckprof.report.document import Block, Document
from ckprof.report.escape import html_text, markdown_block, markdown_cell
from ckprof.report.table import ESSENTIAL, Column, Table
from ckprof.sanitize import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.parity import FieldDifference, Lossy, ParityReport, StringComparison, Unmatched

SCHEMA: Final = "ckprof-parity"
#: raised when a key changes its meaning or vanishes; new keys do not raise it
VERSION: Final = 1

#: instances with the same loss that are shown one by one
_MOST_ALIKE: Final = 8


def parity_document(report: ParityReport) -> Document:
    """Return a summary of all comparisons, then every finding."""
    document = Document([_summary(report)])
    for comparison in report.comparisons:
        lines = [f"  {one_line(line)}" for line in _findings(comparison)]
        if lines:
            document.add(Block((one_line(comparison.title), *lines)))
    document.add(verdict(report))
    return document


def render_parity_markdown(report: ParityReport) -> str:
    """Render the same for a pull request: findings are folded away, but for those that fail it."""
    parts = [f"**{markdown_cell(verdict(report))}**", "", _summary(report).markdown(), ""]
    for comparison in report.comparisons:
        lines = list(_findings(comparison))
        if not lines:
            continue
        opened = " open" if comparison.failed(report.fail_on) else ""
        title = html_text(one_line(comparison.title))
        parts += [f"<details{opened}><summary>{title}</summary>", "", markdown_block(lines), ""]
        parts += ["</details>", ""]
    return "\n".join(parts).rstrip() + "\n"


def verdict(report: ParityReport) -> str:
    """Return one sentence with all counts."""
    matched = sum(comparison.matched for comparison in report.comparisons)
    counts = {
        finding: sum(comparison.counts[finding] for comparison in report.comparisons)
        for finding in ParityFinding
    }
    listed = ", ".join(f"{count} {finding.value}" for finding, count in counts.items())
    return (
        f"{'parity holds' if report.passed else 'PARITY FAILS'}: {matched} matched, {listed} "
        f"in {counted(len(report.comparisons), 'comparison')}, CK revision {report.revision}"
    )


def _summary(report: ParityReport) -> Table[StringComparison]:
    first, second = report.comparisons[0].first, report.comparisons[0].second
    if any((c.first, c.second) != (first, second) for c in report.comparisons):
        first, second = "first", "second"
    columns: list[Column[StringComparison]] = [
        Column("", lambda comparison: _word(comparison, report)),
        Column("what", lambda comparison: comparison.title, whole_below=True),
        Column(first, lambda comparison: comparison.first_count, align="right", priority=2),
        Column(second, lambda comparison: comparison.second_count, align="right", priority=2),
        Column("matched", lambda comparison: comparison.matched, align="right"),
        *map(_count_column, ParityFinding),
    ]
    return Table(
        columns,
        report.comparisons,
        elsewhere="--format json has every figure",
        label=lambda comparison: _word(comparison, report),
    )


def _count_column(finding: ParityFinding) -> Column[StringComparison]:
    priority = ESSENTIAL if finding in (ParityFinding.MISSING, ParityFinding.EXTRA) else 1
    return Column(
        finding.value, lambda comparison: comparison.counts[finding], align="right", priority=priority
    )


def _word(comparison: StringComparison, report: ParityReport) -> str:
    if comparison.failed(report.fail_on):
        return "FAIL"
    return "ok" if comparison.compared else "none"


def _findings(comparison: StringComparison) -> Iterator[str]:
    for note in comparison.notes:
        yield f"note: {note}"
    yield from _unmatched("missing", f"only in {comparison.first}", comparison.missing)
    yield from _unmatched("extra", f"only in {comparison.second}", comparison.extra)
    for copy in comparison.duplicates:
        yield f"duplicate: {counted(len(copy.sources), 'time')} in {copy.side}: {copy.text}"
        yield f"    at {', '.join(copy.sources)}"
    yield from _lossy(comparison.lossy)
    for skip in comparison.skipped:
        yield f"skipped: {skip.rule}: {skip.source}: {skip.reason}"
        yield f"    {skip.text}"


def _lossy(items: Sequence[Lossy]) -> Iterator[str]:
    """Yield what is lost; what many instances lose alike is said once, with the first of them."""
    alike = Counter((loss.rule, loss.reason) for loss in items)
    said = set()
    for loss in items:
        key = loss.rule, loss.reason
        many = alike[key] > _MOST_ALIKE
        if many and key in said:
            continue
        said.add(key)
        first = f" ({counted(alike[key], 'instance')}, the first at {loss.sources[0]})" if many else ""
        yield f"lossy: {loss.rule}: {loss.reason}{first}"
        if loss.differences:
            yield f"    {differences(loss.differences)}"
        if loss.written != loss.text:
            yield f"    {loss.text}"
            yield f"    written as {loss.written}"


def _unmatched(word: str, where: str, items: Sequence[Unmatched]) -> Iterator[str]:
    for item in items:
        yield f"{word}: {where}: {item.source}: {item.text}"
        if item.note:
            yield f"    {item.note}"
        if item.nearest is not None:
            changed = differences(item.nearest.differences) or "nothing: the strings are equal"
            yield f"    nearest: {item.nearest.source}, differs in {changed}"


def differences(items: Sequence[FieldDifference]) -> str:
    """Return e.g. ``tile_m (64 -> 128), scheduler (Intrawave -> Interwave)``."""
    return ", ".join(f"{item.field} ({item.first} -> {item.second})" for item in items)


def render_parity_json(report: ParityReport) -> str:
    """Render everything that was found."""
    content = {
        "schema": SCHEMA,
        "version": VERSION,
        "ckprof_version": report.ckprof_version,
        "revision": report.revision,
        "fail_on": [finding.value for finding in report.fail_on],
        "passed": report.passed,
        "comparisons": [_comparison(comparison) for comparison in report.comparisons],
    }
    return json.dumps(content, indent=2) + "\n"


def _comparison(comparison: StringComparison) -> dict[str, Any]:
    values = asdict(comparison)
    del values["matches"]
    del values["title_of_checkout"]
    matches = [{"text": match.text, "source": match.source} for match in comparison.matches]
    counts = {finding.value: count for finding, count in comparison.counts.items()}
    return {**values, "counts": {"matched": comparison.matched, **counts}, "matches": matches}
