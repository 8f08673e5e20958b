"""The ranked table of a run as a terminal shows it: as wide as the window, and no longer than is read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from tabulate import tabulate

from ckprof.model.outcome import Status
from ckprof.report.rows import reason_of, rows_with_baselines
from ckprof.report.run_table import closing_lines, columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.results import RunResults
    from ckprof.report.rows import Row
    from ckprof.report.run_table import Column

#: columns that can be left out, the least important first
_LESS_IMPORTANT: Final = ("max error", "GB/s", "GFLOP/s", "reason")
#: shortest beginning of names that is worth a line of its own
_WORTH_CUTTING: Final = 8
#: characters of a reason behind which the rest is cut
_REASON: Final = 60

_GREEN, _YELLOW, _RED, _PLAIN = "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """What is known about the terminal.

    :param width: characters of a line.
    :param colour: whether escape sequences for colours are wanted.
    """

    width: int
    colour: bool = False


def render_for_terminal(results: RunResults, terminal: Terminal, *, all_rows: bool = False) -> str:
    """Render all problems so that they fit the terminal.

    :param all_rows: show every unsupported instance in a row of its own instead of a count for each reason.
    """
    parts: list[str] = []
    for index, problem in enumerate(results.problems):
        rows = rows_with_baselines(results, index)
        folded = [] if all_rows else [row for row in rows if _is_folded(row)]
        shown = rows if all_rows else [row for row in rows if not _is_folded(row)]
        parts += [f"Problem {index}: {results.direction} {problem.describe()}", ""]
        if shown:
            parts += [*_table(results, shown, terminal), ""]
        parts += _folded_lines(folded)
        parts += [*closing_lines(results, index, "simple"), ""]
    return "\n".join(parts).rstrip() + "\n"


def _is_folded(row: Row) -> bool:
    """Say whether a row is counted instead of shown: an unsupported instance."""
    return row.outcome.status is Status.UNSUPPORTED and not row.baseline


def common_prefix(names: Sequence[str]) -> str:
    """Return the beginning that all names have, up to an underscore; empty where cutting it gains little."""
    if len(names) < 2:
        return ""
    # what the first and the last of the sorted names share, all between them share
    pairs = zip(min(names), max(names), strict=False)
    common = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    prefix = common[: common.rfind("_") + 1]
    return prefix if len(prefix) >= _WORTH_CUTTING else ""


def _table(results: RunResults, rows: Sequence[Row], terminal: Terminal) -> list[str]:
    columns = columns_of(results)
    prefix = common_prefix([row.instance.name for row in rows if not row.baseline])
    text, dropped = _fitting(columns, rows, prefix, terminal)
    lines = text.split("\n")
    if terminal.colour:
        lines[2:] = [_coloured(line, row) for line, row in zip(lines[2:], rows, strict=True)]
    if prefix:
        lines.append(f"(names without their common beginning {prefix})")
    lines += _cut_reasons(rows, dropped)
    if "reason" in dropped:
        lines += _notes(rows)
    if dropped:
        lines.append(f"(no room for {', '.join(dropped)}; --format csv has every figure)")
    return lines


def _cut_reasons(rows: Sequence[Row], dropped: Sequence[str]) -> list[str]:
    """Return the reasons of failures that the table has no room for."""
    reasons = [(row, reason_of(row.outcome, why=False)) for row in rows if row.outcome.status.is_failure]
    return [
        f"{_number(row)} {row.outcome.status.value}: {reason}"
        for row, reason in reasons
        if reason and ("reason" in dropped or len(reason) > _REASON)
    ]


def _number(row: Row) -> str:
    return f"baseline {row.baseline}" if row.baseline else f"[{row.instance.index}]"


def _notes(rows: Sequence[Row]) -> list[str]:
    """Return the notes that the table has no room for, e.g. ``tied with the best: [0] [3]``."""
    numbers: dict[str, list[str]] = {}
    for row in rows:
        if row.note:
            numbers.setdefault(row.note, []).append(_number(row))
    return [f"{note}: {' '.join(where)}" for note, where in numbers.items()]


def _fitting(
    columns: Sequence[Column], rows: Sequence[Row], prefix: str, terminal: Terminal
) -> tuple[str, list[str]]:
    """Return the table with as many columns as fit, and the titles of the others."""
    dropped: list[str] = []
    filled = [one for one in columns if any(one.cell(row) for row in rows)]
    text = _rendered(filled, rows, prefix)
    for title in _LESS_IMPORTANT:
        if max(map(len, text.split("\n"))) <= terminal.width:
            break
        if any(one.title == title for one in filled):
            filled = [one for one in filled if one.title != title]
            dropped.append(title)
            text = _rendered(filled, rows, prefix)
    return text, dropped


def _rendered(columns: Sequence[Column], rows: Sequence[Row], prefix: str) -> str:
    return tabulate(
        [[_cell(column, row, prefix) for column in columns] for row in rows],
        headers=[column.title for column in columns],
        tablefmt="simple",
        disable_numparse=True,
        colalign=[column.align for column in columns],
    )


def _cell(column: Column, row: Row, prefix: str) -> str:
    text = column.cell(row)
    if column.title == "instance":
        return text.replace(prefix, "", 1) if prefix else text
    if column.title == "reason" and len(text) > _REASON:
        return f"{text[:_REASON]}..."
    return text


def _coloured(line: str, row: Row) -> str:
    if row.rank == 1:
        return f"{_GREEN}{line}{_PLAIN}"
    if row.outcome.status.is_failure:
        return f"{_RED}{line}{_PLAIN}"
    return f"{_YELLOW}{line}{_PLAIN}" if row.outcome.status is Status.UNSUPPORTED else line


def _folded_lines(rows: Sequence[Row]) -> list[str]:
    """Return what rejected the instances that have no row, most first."""
    if not rows:
        return []
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for row in rows:
        unmet = row.outcome.unmet_requirements
        reason = reason_of(row.outcome, why=False)
        # without a requirement's name, as for kernels that answer by themselves, the text is the reason
        condition = unmet[0].rule if unmet else reason
        counts[condition] += 1
        examples.setdefault(condition, f"{reason} (instance {row.instance.index})")
    lines = [f"{len(rows)} unsupported, by the first condition that is not met (--all shows each):"]
    for condition, number in counts.most_common():
        example = examples[condition]
        lines.append(
            f"  {number:4}  {example if example.startswith(condition) else f'{condition}: {example}'}"
        )
    return [*lines, ""]
