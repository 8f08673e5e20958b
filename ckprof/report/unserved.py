"""Problems that no kernel serves: they keep their place in tables of best kernels, with the reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.outcome import Status
from ckprof.model.problem import brief
from ckprof.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ckprof.compare.side import ProblemKey, Side
    from ckprof.model.problem import Problem
    from ckprof.report.table import Column

#: characters of a reason that are shown
_REASON: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved:
    """A problem on which no kernel gave a verified time."""

    problem: Problem
    #: position, as the table counts problems
    number: int
    #: kernels that were tried, with each number of splits
    tried: int
    #: what most of them say
    reason: str
    #: as reports tell problems apart; ``None`` elsewhere
    key: ProblemKey | None = None

    @property
    def text(self) -> str:
        """What stands where others have the name of their best kernel."""
        return f"none: {self.reason}"


def unserved_of(side: Side) -> tuple[Unserved, ...]:
    """Return the problems of a side without a verified time; numbers count all of its problems from 1."""
    return tuple(
        Unserved(
            problem=key.problem,
            number=number,
            tried=len(rows),
            reason=main_reason((row.status, row.requirements, row.reason) for row in rows),
            key=key,
        )
        for number, (key, rows) in enumerate(side.by_problem.items(), start=1)
        if not rows[0].ranked
    )


def main_reason(ends: Iterable[tuple[Status, Sequence[str], str]]) -> str:
    """Return what most kernels say of why they gave no time: the reason of one of them, and of how many.

    :param ends: status, ids of requirements that are not met, and reason of each kernel.
    """
    counts: Counter[tuple[Status, str]] = Counter()
    examples: dict[tuple[Status, str], str] = {}
    for status, requirements, reason in ends:
        lines = reason.strip().splitlines()
        line = lines[0][:_REASON] if lines else ""
        kind = status, requirements[0] if requirements else line
        counts[kind] += 1
        examples.setdefault(kind, line or " ".join(requirements[:1]) or "no reason is recorded")
    if not counts:
        return "nothing was measured"
    (kind, number), total = counts.most_common(1)[0], counts.total()
    status = kind[0]
    if status is Status.OK:
        text = "results were not verified"
    elif status is Status.UNSUPPORTED:
        text = examples[kind]
    else:
        text = f"{status.value}: {examples[kind]}"
    return text if number == total else f"{text} ({number} of {counted(total, 'kernel')})"


def served_text(kernels: int, served: int, problems: int) -> str:
    """Return how many problems some kernels serve, in words."""
    noun, verb = ("kernel", "serves") if kernels == 1 else ("kernels", "serve")
    if served == problems:
        return f"{kernels} {noun} {verb} all {counted(problems, 'problem')}"
    return f"{kernels} {noun} {verb} {served} of {counted(problems, 'problem')}"


def with_unserved(
    columns: Sequence[Column[Any]],
    shown: Mapping[str, Callable[[Unserved], object]],
    own: Collection[str] = (),
) -> list[Column[Any]]:
    """Return columns that also show problems which no kernel serves.

    :param shown: name of a column -> what it shows of such a problem; the others show nothing.
    :param own: columns that show them by themselves.
    """
    return [column if column.name in own else _wrapped(column, shown.get(column.name)) for column in columns]


def _wrapped(column: Column[Any], show: Callable[[Unserved], object] | None) -> Column[Any]:
    def value(row: Any) -> object:
        if isinstance(row, Unserved):
            return show(row) if show is not None else None
        return column.value(row)

    def text(row: Any) -> str:
        if isinstance(row, Unserved):
            return str(show(row)) if show is not None else ""
        return column.shown(row)

    def quiet(render: Callable[[Any], str] | None) -> Callable[[Any], str] | None:
        return render and (lambda row: "" if isinstance(row, Unserved) else render(row))

    def short(row: Any) -> str:
        if isinstance(row, Unserved):
            return brief(row.problem) if column.name == "problem" else text(row)
        return column.short(row) if column.short is not None else column.shown(row)

    return replace(
        column,
        value=value,
        text=text,
        short=short if column.short is not None else None,
        names=quiet(column.names),
        # the reason, which stands in place of a name
        whole_below=column.names is not None,
        style=quiet(column.style),
        hint=quiet(column.hint),
    )
