"""Says what became of the lines of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.wording import agreeing, counted

if TYPE_CHECKING:
    from ckprof.cli.console import Console
    from ckprof.model.conversion import Conversion

#: wrong lines of a list that are shown one by one without ``-v``
_WARNINGS: Final = 20


def report_conversion(conversion: Conversion, console: Console) -> None:
    """Say how many lines became instances, and count every dropped line by its reason."""
    count = sum(len(catalog.records) for catalog in conversion.catalogs)
    dropped = ", ".join(f"{n} {rule}" for rule, n in sorted(conversion.dropped_by_rule.items()))
    console.info(
        f"read {conversion.path}: {counted(conversion.lines, 'line')}, {counted(count, 'instance')}"
        + (f"; dropped lines: {dropped}" if dropped else "")
    )
    report_lossy_lines(conversion, console)
    for note in conversion.notes:
        console.info(f"note: {note}")
    report_dropped_lines(conversion, console)


def report_lossy_lines(conversion: Conversion, console: Console) -> None:
    """Warn of lines that say more than catalogs can hold; ``-v`` shows each of them."""
    if not conversion.lossy:
        return
    first = conversion.lossy[0]
    lines = counted(len(conversion.lossy), "line")
    console.warning(
        f"{conversion.path}: lossy: kernels of {lines} do without what the list says, "
        f"first in line {first.line}: {first.what}"
    )
    for line in conversion.lossy:
        console.detail(f"{conversion.path}:{line.line}: lossy: {line.what}")


def report_dropped_lines(conversion: Conversion, console: Console) -> None:
    """Warn of wrong lines that were left out, the first ones one by one; ``-v`` shows every dropped line."""
    wrong = 0
    for line in conversion.dropped:
        where = f"{conversion.path}:{line.line}"
        if line.rule == "error" and wrong < _WARNINGS:
            wrong += 1
            console.warning(f"{where}: left out: {line.reason}")
        else:
            console.detail(f"{where}: {line.rule}: {line.reason}")
    count = conversion.dropped_by_rule["error"]
    if count > wrong:
        more = count - wrong
        lines = counted(more, "more wrong line", "more wrong lines")
        console.warning(f"{conversion.path}: {lines} {agreeing(more, 'was', 'were')} left out")
    unlisted = sum(conversion.unlisted.values())
    if unlisted:
        console.detail(f"{conversion.path}: {unlisted} more dropped lines, counted above")
