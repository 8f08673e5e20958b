"""Problems that no kernel serves: they keep their place in tables of best kernels, with the reason.

Runs, stores, reports and comparisons take the reason from here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.formatting import counted
from ckprof.model.outcome import Status
from ckprof.model.problem import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ckprof.compare.compare import Comparison
    from ckprof.compare.side import MeasuredRow, ProblemKey
    from ckprof.model.problem import Problem
    from ckprof.model.results import RunResults
    from ckprof.report.table import Column

#: reason of a problem that a run did not come to
NOT_MEASURED: Final = "not measured, the run was ended before"
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
    #: False where the run was ended before all of its kernels were measured
    complete: bool = True

    @property
    def text(self) -> str:
        """What stands where others have the name of their best kernel."""
        return f"none: {self.reason}"


def compared_unserved(comparison: Comparison) -> list[tuple[ProblemKey, Unserved | None, Unserved | None]]:
    """Return the problems that no kernel serves on a side, with the reason on each that is one of these."""
    sides: list[dict[ProblemKey, Unserved]] = []
    for name, alone in (("old", comparison.only_old), ("new", comparison.only_new)):
        groups: dict[ProblemKey, list[MeasuredRow]] = defaultdict(list)
        for row in (*(getattr(compared, name) for compared in comparison.rows), *alone):
            groups[row.key.problem].append(row)
        sides.append({one.key: one for one in unserved_of(groups) if one.key is not None})
    old, new = sides
    return [(key, old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new))]


def unserved_in(results: RunResults, problem_index: int) -> Unserved | None:
    """Return what a run says of a problem without a verified time; ``None`` for one that has a best one."""
    if results.best(problem_index) is not None:
        return None
    outcomes, complete = results.of_problem(problem_index), results.is_complete(problem_index)
    return Unserved(
        problem=results.problems[problem_index],
        number=problem_index,
        tried=len(outcomes),
        complete=complete,
        reason=NOT_MEASURED
        if not complete
        else main_reason(
            (outcome.status, [unmet.rule for unmet in outcome.unmet_requirements], outcome.reason)
            for outcome in outcomes
        ),
    )


def unserved_of(groups: Mapping[ProblemKey, Sequence[MeasuredRow]]) -> tuple[Unserved, ...]:
    """Return the problems of a side without a verified time; numbers count all of its problems from 1."""
    return tuple(
        Unserved(
            problem=key.problem,
            number=number,
            tried=len(rows),
            reason=main_reason((row.status, row.requirements, row.reason) for row in rows),
            key=key,
        )
        for number, (key, rows) in enumerate(groups.items(), start=1)
        if not any(row.ranked for row in rows)
    )


def main_reason(ends: Iterable[tuple[Status, Sequence[str], str]]) -> str:
    """Return why most kernels gave no time: their most frequent reason, and how many they are.

    It does not depend on their order.

    :param ends: status, ids of requirements that are not met, and reason of each kernel.
    """
    kinds: dict[tuple[Status, str], list[str]] = defaultdict(list)
    for status, requirements, reason in ends:
        line = next(iter(reason.strip().splitlines()), "")[:_REASON]
        kind = status, requirements[0] if requirements else line
        kinds[kind].append(line or " ".join(requirements[:1]) or "no reason is recorded")
    if not kinds:
        return "nothing was measured"
    (status, _), lines = min(kinds.items(), key=lambda kind: (-len(kind[1]), kind[0][0].value, kind[0][1]))
    number, total = len(lines), sum(map(len, kinds.values()))
    example = min(lines, key=lambda line: (-lines.count(line), line))
    if status is Status.OK:
        text = "results were not verified"
    elif status is Status.UNSUPPORTED:
        text = example
    else:
        text = f"{status.value}: {example}"
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
    def either(own: Callable[[Any], Any], of_unserved: Callable[[Unserved], object]) -> Callable[[Any], Any]:
        return lambda row: of_unserved(row) if isinstance(row, Unserved) else own(row)

    def text(row: Unserved) -> str:
        return str(show(row)) if show is not None else ""

    def short(row: Unserved) -> str:
        return brief(row.problem) if column.name == "problem" else text(row)

    def quiet(render: Callable[[Any], str] | None) -> Callable[[Any], str] | None:
        return render and either(render, lambda row: "")

    return replace(
        column,
        value=either(column.value, show or (lambda row: None)),
        text=either(column.shown, text),
        short=column.short and either(column.short, short),
        names=quiet(column.names),
        # the reason, which stands in place of a name
        whole_below=column.names is not None,
        style=quiet(column.style),
        hint=quiet(column.hint),
    )
