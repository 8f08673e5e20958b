"""The raw samples of the leading kernels, as boxes: quartiles, whiskers, and what lies beyond."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.model.noise import quantile
from ckprof.report.figures import display_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.compare.side import ProblemKey, Side
    from ckprof.store.attempt import Attempt

#: whiskers reach to the farthest sample within this many distances of the quartiles (Tukey)
_REACH: Final = 1.5
#: samples beyond the whiskers that are drawn, the farthest ones
_MOST_BEYOND: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The samples of one kernel on one problem, in milliseconds."""

    name: str
    samples: int
    low: float
    first_quartile: float
    median: float
    third_quartile: float
    high: float
    #: samples beyond the whiskers, at most some of them
    beyond: tuple[float, ...] = ()
    #: how many there are
    beyond_count: int = 0


def box_of(name: str, samples_ms: Sequence[float]) -> Box:
    """Return the box of some samples, at least one."""
    ordered = sorted(samples_ms)
    first, third = quantile(ordered, 0.25), quantile(ordered, 0.75)
    reach = _REACH * (third - first)
    within = [sample for sample in ordered if first - reach <= sample <= third + reach]
    beyond = [sample for sample in ordered if not first - reach <= sample <= third + reach]
    middle = quantile(ordered, 0.5)
    farthest = sorted(beyond, key=lambda sample: -abs(sample - middle))[:_MOST_BEYOND]
    return Box(
        name=name,
        samples=len(ordered),
        low=within[0],
        first_quartile=first,
        median=middle,
        third_quartile=third,
        high=within[-1],
        beyond=tuple(sorted(farthest)),
        beyond_count=len(beyond),
    )


def boxes(side: Side, attempts: Iterable[Attempt], kernels: int) -> dict[ProblemKey, tuple[Box, ...]]:
    """Return the boxes of the fastest kernels of each problem, of rounds that count.

    :param attempts: those of the side, with their samples.
    :param kernels: how many of the fastest.
    """
    wanted = {
        row.measurement.digest: row
        for rows in side.by_problem.values()
        for row in rows[:kernels]
        if row.time is not None
    }
    counted = {digest: {one.place for one in row.rounds} for digest, row in wanted.items()}
    samples: dict[bytes, list[float]] = defaultdict(list)
    for attempt in attempts:
        digest, taken, when = attempt.key.digest, attempt.measurement, attempt.round_time
        if digest in wanted and taken is not None and when is not None and when.place in counted[digest]:
            samples[digest] += taken.samples_ms
    found: dict[ProblemKey, list[Box]] = defaultdict(list)
    for digest, row in wanted.items():
        if samples[digest]:
            found[row.key.problem].append(box_of(display_name(row), samples[digest]))
    return {key: tuple(of_problem) for key, of_problem in found.items()}
