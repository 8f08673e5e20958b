"""How many kernels a library needs: the greedy cover of all problems."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.report.unserved import served_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.compare.side import ProblemKey, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverStep:
    """One more kernel in the library."""

    #: content key of the instance
    instance: str
    name: str
    #: problems for which some kernel of the library is good enough now
    covered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The library for one tolerance."""

    #: a kernel is good enough within this share of the best
    tolerance: float
    #: those that no kernel serves included
    problems: int
    #: problems with a verified kernel
    served: int
    steps: tuple[CoverStep, ...]

    @property
    def text(self) -> str:
        """How many kernels serve how many problems."""
        return served_text(len(self.steps), self.served, self.problems)


def coverage(side: Side, tolerance: float) -> Coverage:
    """Choose kernels until every problem that can be served has one that is good enough.

    Each step takes the kernel that serves most of the remaining problems; among equal ones, the one that is
    closer to the best on them. The greedy choice needs at most ln(problems) + 1 times the smallest number.
    """
    served, names = _served(side, tolerance)
    problems = {problem for group in served.values() for problem in group}
    remaining = set(problems)
    steps: list[CoverStep] = []
    while remaining:
        instance = min(served, key=lambda key: _merit(served[key], remaining, key))
        remaining -= served.pop(instance).keys()
        steps.append(
            CoverStep(instance=instance, name=names[instance], covered=len(problems) - len(remaining))
        )
    return Coverage(
        tolerance=tolerance, problems=len(side.by_problem), served=len(problems), steps=tuple(steps)
    )


def _merit(group: Mapping[ProblemKey, float], remaining: set[ProblemKey], key: str) -> tuple[int, float, str]:
    ratios = [ratio for problem, ratio in group.items() if problem in remaining]
    return -len(ratios), sum(ratios), key


def _served(side: Side, tolerance: float) -> tuple[dict[str, dict[ProblemKey, float]], dict[str, str]]:
    """Return instance -> problem -> time / best time, where good enough with any split; and the names."""
    served: dict[str, dict[ProblemKey, float]] = defaultdict(dict)
    names: dict[str, str] = {}
    for problem, rows in side.by_problem.items():
        best = side.best(problem)
        if best is None:
            continue
        for row in rows:
            ratio = row.time_ms / best.time_ms
            if row.ranked and ratio <= 1 + tolerance:
                group = served[row.key.instance]
                group[problem] = min(ratio, group.get(problem, ratio))
                names.setdefault(row.key.instance, row.kernel.name or row.key.instance[:12])
    return served, names
