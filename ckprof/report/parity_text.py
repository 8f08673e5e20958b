"""Comparisons of instance strings as text for a terminal and as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from tabulate import tabulate

from ckprof.model.parity import ParityFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.parity import Comparison, FieldDifference, Lossy, ParityReport, Unmatched

#: what follows the counts of all comparisons
_COLUMNS = ("matched", *(trouble.value for trouble in ParityFinding))


#: instances with the same loss that are shown one by one
_MOST_ALIKE: Final = 8


def render_parity_table(report: ParityReport) -> str:
    """Render a summary of all comparisons, then every finding."""
    parts = [_summary(report, "simple"), ""]
    for comparison in report.comparisons:
        lines = list(_findings(comparison))
        if lines:
            parts += [comparison.title, *(f"  {line}" for line in lines), ""]
    parts.append(verdict(report))
    return "\n".join(parts) + "\n"


def render_parity_markdown(report: ParityReport) -> str:
    """Render the same for a pull request: findings are folded away, but for those that fail it."""
    parts = [f"**{verdict(report)}**", "", _summary(report, "github"), ""]
    for comparison in report.comparisons:
        lines = list(_findings(comparison))
        if not lines:
            continue
        opened = " open" if comparison.failed(report.fail_on) else ""
        parts += [f"<details{opened}><summary>{comparison.title}</summary>", "", "```", *lines, "```", ""]
        parts += ["</details>", ""]
    return "\n".join(parts).rstrip() + "\n"


def verdict(report: ParityReport) -> str:
    """Return one sentence with all counts."""
    matched = sum(comparison.matched for comparison in report.comparisons)
    counts = {
        trouble: sum(comparison.counts[trouble] for comparison in report.comparisons)
        for trouble in ParityFinding
    }
    found = ", ".join(f"{count} {trouble.value}" for trouble, count in counts.items())
    plural = "" if len(report.comparisons) == 1 else "s"
    return (
        f"{'parity holds' if report.passed else 'PARITY FAILS'}: {matched} matched, {found} "
        f"in {len(report.comparisons)} comparison{plural}, CK revision {report.revision}"
    )


def _summary(report: ParityReport, style: str) -> str:
    first, second = report.comparisons[0].first, report.comparisons[0].second
    if any((c.first, c.second) != (first, second) for c in report.comparisons):
        first, second = "first", "second"
    rows = [
        [
            _word(comparison, report),
            comparison.title,
            comparison.first_count,
            comparison.second_count,
            comparison.matched,
            *comparison.counts.values(),
        ]
        for comparison in report.comparisons
    ]
    return tabulate(rows, headers=["", "what", first, second, *_COLUMNS], tablefmt=style)


def _word(comparison: Comparison, report: ParityReport) -> str:
    if comparison.failed(report.fail_on):
        return "FAIL"
    return "ok" if comparison.compared else "none"


def _findings(comparison: Comparison) -> Iterator[str]:
    for note in comparison.notes:
        yield f"note: {note}"
    yield from _unmatched("missing", f"only in {comparison.first}", comparison.missing)
    yield from _unmatched("extra", f"only in {comparison.second}", comparison.extra)
    for copy in comparison.duplicates:
        yield f"duplicate: {len(copy.sources)} times in {copy.side}: {copy.text}"
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
        first = f" ({alike[key]} instances, the first at {loss.sources[0]})" if many else ""
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
