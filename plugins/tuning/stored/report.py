"""What a store of predictions holds, as a document: marked as predicted wherever a time is shown."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ckprof.formatting import counted
from ckprof.model.problem import brief
from ckprof.report.document import Document, Heading
from ckprof.report.figures import number_column
from ckprof.report.table import Column, Table
from ckprof_plugins.tuning.gate.baseline import PREDICTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.tuning.gate.baseline import KernelFigures, ProblemFigures
    from ckprof_plugins.tuning.stored.reading import StoredPredictions

#: sessions that are listed
_SESSIONS: Final = 10
#: said wherever times of a store of predictions are shown
NOT_MEASURED: Final = "predicted from machine code; nothing was measured"


def overview(held: StoredPredictions) -> Document:
    """Return what a store holds: counts, sessions, and the best kernel of each problem by predicted times."""
    document = Document([_about(held)])
    for direction, side in held.sides.items():
        if len(held.sides) > 1:
            document.add(Heading(direction, 2))
        document.add(Table(_BEST, [*side.problems]))
    return document


def report(held: StoredPredictions) -> Document:
    """Return the same with all kernels of each problem, the fastest first."""
    document = overview(held)
    for direction, side in held.sides.items():
        for problem in side.problems:
            document.add(Heading(f"{direction} {problem.problem}", 3), Table(_KERNELS, [*_ranked(problem)]))
    return document


def _about(held: StoredPredictions) -> str:
    predictor, sides = held.predictor, held.sides.values()
    statuses = Counter(one.status for side in sides for problem in side.problems for one in problem.kernels)
    found = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    lines = [
        f"{held.path}: {NOT_MEASURED}",
        f"for {predictor.gpu} ({predictor.arch}) by time model {predictor.model}",
        f"{counted(statuses.total(), 'outcome')} ({found})",
        *(f"{direction}: {side.compiler}" for direction, side in held.sides.items()),
        *(f"  {session.uid[:8]} {_moment(session.started)}{_tags(session.tags)}" for session in _last(held)),
    ]
    return "\n".join(lines)


def _last(held: StoredPredictions) -> Sequence[Any]:
    return held.sessions[-_SESSIONS:]


def _moment(started: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(started))


def _tags(tags: tuple[str, ...]) -> str:
    return f" [{', '.join(tags)}]" if tags else ""


def _ranked(problem: ProblemFigures) -> list[KernelFigures]:
    return sorted(problem.kernels, key=lambda one: (one.status != PREDICTED, one.time_us))


def _best(problem: ProblemFigures) -> KernelFigures | None:
    first = _ranked(problem)[0]
    return first if first.status == PREDICTED else None


def _of_best(name: str) -> Any:
    return lambda row: getattr(_best(row), name, None)


def _interval(one: KernelFigures | None) -> str:
    return f"{one.interval_us[0]:.4g} to {one.interval_us[1]:.4g}" if one and one.status == PREDICTED else ""


_TIME: Final = "predicted us"
_INTERVAL: Final = "90% interval us"

_BEST: Final[list[Column[ProblemFigures]]] = [
    Column("problem", lambda row: row.problem, short=lambda row: brief(row.parsed)),
    Column("best kernel, predicted", lambda row: one.name if (one := _best(row)) else "none has a time"),
    Column("split_k", _of_best("split_k"), align="right", priority=2),
    number_column(_TIME, _of_best("time_us")),
    Column(_INTERVAL, lambda row: _interval(_best(row)), align="right", priority=1),
    number_column("cycles", _of_best("cycles"), "{:,.0f}".format, priority=2),
    Column("bound by", lambda row: one.limit if (one := _best(row)) else ""),
    Column(
        "predicted",
        lambda row: sum(one.status == PREDICTED for one in row.kernels),
        text=lambda row: f"{sum(one.status == PREDICTED for one in row.kernels)} of {len(row.kernels)}",
        align="right",
        priority=1,
    ),
]


def _figure(name: str) -> Any:
    return lambda row: getattr(row, name) if row.status == PREDICTED else None


_KERNELS: Final[list[Column[KernelFigures]]] = [
    Column("kernel", lambda row: row.name),
    Column("line", lambda row: row.line, priority=2),
    Column("split_k", lambda row: row.split_k, align="right", priority=2),
    number_column(_TIME, _figure("time_us")),
    Column(_INTERVAL, _interval, align="right", priority=1),
    number_column("cycles", _figure("cycles"), "{:,.0f}".format, priority=2),
    Column("bound by", lambda row: row.limit),
    Column("wg/CU", _figure("resident"), align="right", priority=2),
    Column("status", lambda row: "" if row.status == PREDICTED else row.status),
    Column("reason", lambda row: row.reason, whole_below=True),
]
