"""Everything that one input says, with one row per kernel and problem."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import geometric_mean, median
from typing import Final

from ckprof.compare.cards import CardCounter, CardRow
from ckprof.model.outcome import Measurement, Status
from ckprof.model.problem import Problem
from ckprof.store.attempt import Attempt, KernelInfo, Mark, Session
from ckprof.store.key import MeasurementKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemKey:
    """What kernels compete on: only the best of one problem key may be called the best."""

    direction: str
    problem: Problem
    #: spelling of the element type; empty where the input does not say
    dtype: str = ""
    layout: str = ""
    #: device, where a side is asked to tell several apart
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKey:
    """What rows of two sides are matched by. The rest of a measurement's key may differ."""

    problem: ProblemKey
    #: content key of the instance
    instance: str
    #: splits of the reduction as asked for
    split_k: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTime:
    """The time of one kernel in one round."""

    median_ms: float
    #: seconds since the epoch
    started: float
    #: (session, number of the round): equal for kernels that ran beside each other; empty for imports
    place: tuple[str, int] | None = None
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one side knows of one kernel on one problem."""

    key: RowKey
    #: the full key of the latest measurement
    measurement: MeasurementKey
    kernel: KernelInfo
    #: of the latest attempt
    status: Status
    reason: str = ""
    requirements: tuple[str, ...] = ()
    #: verified times, oldest first; empty unless the latest attempt may be ranked
    rounds: tuple[RoundTime, ...] = ()
    #: largest error of the latest comparison with the reference
    max_error: float | None = None
    split_chosen: int | None = None
    #: measurements with another device, toolchain or method that stood back for the latest one
    superseded: int = 0

    @property
    def ranked(self) -> bool:
        """True for a kernel with verified times."""
        return bool(self.rounds)

    @property
    def median_ms(self) -> float:
        """Return the median over the rounds, in milliseconds; infinite without any."""
        return median(one.median_ms for one in self.rounds) if self.rounds else math.inf

    @property
    def mean_ms(self) -> float:
        """Return the geometric mean over the rounds: what ratios are taken of."""
        return math.exp(sum(self.logs) / len(self.rounds)) if self.rounds else math.inf

    @property
    def logs(self) -> tuple[float, ...]:
        """Return the logarithms of the rounds' times in milliseconds."""
        return tuple(math.log(one.median_ms) for one in self.rounds)


# Not slotted: views are computed once and kept.
@dataclass(frozen=True, kw_only=True)
class Side:
    """One input of a comparison or a report."""

    #: as the user named it
    label: str
    rows: Mapping[RowKey, Row]
    #: commands whose attempts are in the rows, oldest first
    sessions: tuple[Session, ...] = ()
    #: cards that they used, where a sweep used several; the slowest first
    cards: tuple[CardRow, ...] = ()

    @cached_property
    def by_problem(self) -> Mapping[ProblemKey, tuple[Row, ...]]:
        """Return the rows per problem, fastest first, those that may not be ranked last."""
        groups: dict[ProblemKey, list[Row]] = defaultdict(list)
        for row in self.rows.values():
            groups[row.key.problem].append(row)
        return {key: tuple(sorted(rows, key=lambda row: row.median_ms)) for key, rows in groups.items()}

    def best(self, problem: ProblemKey) -> Row | None:
        """Return the fastest verified row of a problem."""
        rows = self.by_problem.get(problem, ())
        return rows[0] if rows and rows[0].ranked else None


def side_of(label: str, attempts: Iterable[Attempt], *, by_device: bool = False) -> Side:
    """Group attempts into rows.

    Where a kernel was measured on several devices, with several toolchains or methods, the latest one counts.

    :param by_device: tell devices apart instead of taking the latest one.
    """
    measured: dict[bytes, list[Attempt]] = defaultdict(list)
    sessions: dict[str, Session] = {}
    cards = CardCounter()
    for attempt in attempts:
        sessions.setdefault(attempt.session.uid, attempt.session)
        cards.add(attempt)
        measured[attempt.key.digest].append(attempt)
    groups: dict[RowKey, list[list[Attempt]]] = defaultdict(list)
    for group in measured.values():
        groups[row_key(group[0], by_device=by_device)].append(group)
    rows = {key: _row(key, candidates) for key, candidates in groups.items()}
    ordered = sorted(sessions.values(), key=lambda session: (session.started, session.uid))
    return Side(label=label, rows=rows, sessions=tuple(ordered), cards=cards.rows())


def row_key(attempt: Attempt, *, by_device: bool = False) -> RowKey:
    """Return the row that an attempt belongs to."""
    key, kernel = attempt.key, attempt.kernel
    return RowKey(
        problem=ProblemKey(
            direction=key.operation.direction,
            problem=key.problem,
            dtype=kernel.dtype.value if kernel.dtype else "",
            layout=kernel.layout,
            device=device_name(key) if by_device else "",
        ),
        instance=key.kernel.instance,
        split_k=key.split_k,
    )


def device_name(key: MeasurementKey) -> str:
    """Return a few words for the device of a measurement."""
    device = key.device
    return " ".join(dict.fromkeys(part for part in (device.target, device.model, device.arch) if part))


def _order(attempt: Attempt) -> tuple[float, str, int]:
    return attempt.conditions.started, attempt.session.uid, attempt.sequence


def _row(key: RowKey, measured: list[list[Attempt]]) -> Row:
    attempts = max(measured, key=lambda group: max(map(_order, group)))
    attempts.sort(key=_order)
    last = attempts[-1]
    rounds = () if last.status.is_failure else tuple(_rounds(attempts))
    verification = last.verification
    return Row(
        key=key,
        measurement=last.key,
        kernel=last.kernel,
        status=last.status,
        reason=last.reason,
        requirements=last.requirements,
        rounds=rounds,
        max_error=verification.max_error if verification else None,
        split_chosen=last.split_chosen,
        superseded=len(measured) - 1,
    )


#: marks of times that do not count where there are others
_DOUBTFUL: Final = frozenset({Mark.DRIFT, Mark.SLOW_CARD})


def _rounds(attempts: list[Attempt]) -> list[RoundTime]:
    """Return the ranked rounds; those that were repeated for their drift only if there are no others.

    A kernel that ran several times in one round, as the reference kernel does, has one time in it: their
    geometric mean.
    """
    timed = [_round_time(one, one.measurement) for one in attempts if one.ranked and one.measurement]
    timed = [one for one in timed if one.median_ms > 0]
    steady = [one for one in timed if not _DOUBTFUL.intersection(one.marks)] or timed
    groups: dict[object, list[RoundTime]] = {}
    for index, one in enumerate(steady):
        groups.setdefault(one.place or index, []).append(one)
    return [_joined(group) for group in groups.values()]


def _round_time(attempt: Attempt, measurement: Measurement) -> RoundTime:
    conditions = attempt.conditions
    return RoundTime(
        median_ms=measurement.median_ms,
        started=conditions.started,
        place=(attempt.session.uid, conditions.round) if conditions.round else None,
        marks=attempt.marks,
    )


def _joined(group: list[RoundTime]) -> RoundTime:
    if len(group) == 1:
        return group[0]
    return replace(group[0], median_ms=geometric_mean(one.median_ms for one in group))


def with_rounds(row: Row, rounds: Iterable[RoundTime]) -> Row:
    """Return the row with other rounds."""
    return replace(row, rounds=tuple(rounds))
