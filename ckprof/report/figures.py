"""How reports of stores and comparisons write problems, kernels and figures, and columns of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ckprof.formatting import counted, percent, would_resolve
from ckprof.model.kernel import KernelName
from ckprof.model.problem import brief
from ckprof.model.ranking import Order
from ckprof.report.short_names import WHOLE_NAMES, ShortNames
from ckprof.report.table import ESSENTIAL, Column, RowT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ckprof.compare.side import MeasuredRow
    from ckprof.model.problem import Problem
    from ckprof.model.ranking import Resolution


class Launched(Protocol):
    """Something with a number of launches, 0 where it is not known, and of those that were checked."""

    @property
    def launches(self) -> int: ...
    @property
    def checked(self) -> int: ...


def checked_text(parts: Iterable[Launched]) -> str:
    """Return how many launches had their results checked, of all parts; empty where that is not known."""
    known = [(part.launches, part.checked) for part in parts if part.launches]
    launches, checked = sum(launches for launches, _ in known), sum(checked for _, checked in known)
    if not launches:
        return ""
    return f"{checked} of {counted(launches, 'launch', 'launches')} ({percent(checked / launches, 0)})"


def problem_column(problem: Callable[[RowT], Problem]) -> Column[RowT]:
    """Return a column with the sizes of problems that have an effect; all of them are its hints."""
    return Column(
        "problem",
        problem,
        text=lambda row: brief(problem(row)),
        hint=lambda row: problem(row).describe(),
        css_class="problem",
    )


def sizes_column(problem: Callable[[RowT], Problem]) -> Column[RowT]:
    """Return a column with all sizes of problems; without room for them, with those that have an effect."""
    return Column("problem", lambda row: problem(row).describe(), short=lambda row: brief(problem(row)))


def name_column(heading: str, name: Callable[[RowT], str], names: ShortNames = WHOLE_NAMES) -> Column[RowT]:
    """Return a column of kernels.

    :param names: what shortens them; terminals shorten whole ones where there is no room.
    """

    def text(row: RowT) -> str:
        return names.short(name(row))

    return Column(heading, name, text=text, names=text, hint=name, css_class="name")


def number_column(
    heading: str,
    value: Callable[[RowT], float | None],
    show: Callable[[float], str] | None = None,
    hint: Callable[[RowT], str] | None = None,
    priority: int = ESSENTIAL,
) -> Column[RowT]:
    """Return a column of figures.

    :param show: how they are written, if not as :func:`number` does.
    """

    def text(row: RowT) -> str:
        figure = value(row)
        return "" if figure is None else (show or number)(figure)

    return Column(heading, value, align="right", text=text, hint=hint, priority=priority)


def number(value: float) -> str:
    """Return four significant digits without an exponent where that is short."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def resolution_text(resolution: Resolution) -> str:
    """Return how sure it is which kernel is the fastest, and what it would take to know."""
    if resolution.order is Order.ALONE:
        return "no other kernel has a time"
    if resolution.order is Order.CLEAR:
        return "significantly faster than all others"
    shared = f"{counted(resolution.first, 'kernel')} may be the fastest"
    if resolution.order is Order.TIE:
        return f"{shared}; the first of them is as good as any"
    if resolution.rounds is not None:
        return f"{shared}; {would_resolve(resolution.rounds, 'round')}"
    return f"{shared}; more passes would resolve it (--passes)"


def display_name(row: MeasuredRow) -> KernelName:
    """Return what readers call the kernel: its name, with the splits where they are not 1."""
    name = row.kernel.shown or KernelName(row.kernel.instance_string or row.key.instance[:12])
    return name.splitting(row.key.split_k)
