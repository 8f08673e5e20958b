"""What ``ckprof extract`` prints: one row per list, and how lists differ."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ckprof.report.document import Document
from ckprof.report.list_changes import change_lines
from ckprof.report.table import Column, Table
from ckprof.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.extraction import ExtractionReport, ListComparison


def summary(report: ExtractionReport) -> Document:
    """Return one row per list, a total, and what the lists come from."""
    total: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for item in report.lists:
        total.update(item.counts)
        skipped.update(item.skipped)
    rows = [_Row(f"{item.direction} {item.name}", item.counts, item.skipped) for item in report.lists]
    columns: list[Column[_Row]] = [
        Column("list", lambda row: row.title),
        *(_count_column(name) for name in dict.fromkeys(name for row in rows for name in row.counts)),
        Column("skipped functions", lambda row: _counts(row.skipped), priority=1),
    ]
    lines = [f"{_origin(report)}: {counted(len(report.lists), 'list')} in {report.seconds:.1f} s"]
    lines += [f"not in this library: {name}" for name in report.absent]
    lines += [f"not derived: {name}" for name in report.failures]
    return Document([Table(columns, [*rows, _Row("total", total, skipped)]), "\n".join(lines)])


class _Row(NamedTuple):
    title: str
    counts: Mapping[str, int]
    skipped: Mapping[str, int]


def _count_column(name: str) -> Column[_Row]:
    return Column(name.replace("_", " "), lambda row: row.counts[name], align="right")


def _origin(report: ExtractionReport) -> str:
    library = report.library
    version = " ".join(library[key] for key in ("name", "version", "commit") if key in library)
    return f"{version} ({library.get('package') or library.get('source', '')})"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()) if number)


def comparison_lines(comparisons: Sequence[ListComparison]) -> Iterator[str]:
    """Yield how each list differs, and a summary."""
    for item in comparisons:
        yield from change_lines(item)
    different = sum(not item.is_same for item in comparisons)
    added = sum(item.added_count for item in comparisons if not item.missing)
    removed_count = sum(len(item.removed) for item in comparisons)
    yield (
        f"{counted(len(comparisons), 'list')}: {len(comparisons) - different} same, {different} different; "
        f"{counted(added, 'line')} added, {removed_count} removed"
    )
