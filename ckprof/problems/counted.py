"""A problem with its name, its weight and what else its source says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.model.dtype import DataType
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedProblem:
    """One problem of a set, a log or a sample."""

    problem: Problem
    #: how often the problem occurs, at least 1: its weight in a real model
    count: int = 1
    #: name of the layer, or where the problem was first found
    name: str = ""
    #: id of the direction; ``None``: the source does not say, or means all of them
    direction: str | None = None
    #: element type, if the source names one
    dtype: DataType | None = None
    #: layout name, if the source names one
    layout: str | None = None
    #: numbers of splits of the reduction, if the source names any; :data:`~ckprof.problems.tokens.AUTO` lets
    #: the kernel choose
    splits: tuple[int, ...] = ()


def merged(problems: list[CountedProblem]) -> list[CountedProblem]:
    """Return the problems without duplicates, in the order of their first occurrence, with summed counts.

    Two problems are duplicates when they agree in everything but name and count.
    """
    first: dict[tuple[object, ...], CountedProblem] = {}
    counts: dict[tuple[object, ...], int] = {}
    for one in problems:
        key = (one.problem, one.direction, one.dtype, one.layout, one.splits)
        first.setdefault(key, one)
        counts[key] = counts.get(key, 0) + one.count
    return [
        CountedProblem(
            problem=one.problem,
            count=counts[key],
            name=one.name,
            direction=one.direction,
            dtype=one.dtype,
            layout=one.layout,
            splits=one.splits,
        )
        for key, one in first.items()
    ]
