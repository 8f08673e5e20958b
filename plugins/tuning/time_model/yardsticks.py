"""What the choices of a time model are compared with: simpler choices, and what nobody can beat."""

from __future__ import annotations

from math import log
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof_plugins.tuning.time_model.measurements import Choice, Measurements
    from ckprof_plugins.tuning.time_model.work import Sizes


#: Choices whose times differ by less than this on half of the problems are replicates of one another.
_REPLICATE: Final = 0.01
_COMMON: Final = 12


def best_single(table: Measurements) -> tuple[Choice, list[float]]:
    """Return the choice that is best on average, and its efficiency on each problem.

    It is chosen by the very problems that it is judged by, which flatters it. Only choices that were measured
    on all problems take part, if there are any.
    """
    rows = [table.of_problem(index) for index in range(len(table.problems))]

    def efficiencies(choice: Choice) -> list[float]:
        return [min(row.values()) / row[choice] if choice in row else 0.0 for row in rows]

    return max(
        ((choice, efficiencies(choice)) for choice in table.choices), key=lambda judged: fmean(judged[1])
    )


def nearest_neighbour(
    training: Sequence[Sizes], best: Sequence[Choice], problem: Sizes, offered: Mapping[Choice, float]
) -> Choice:
    """Return the best choice of the most similar training problem that is offered for a problem.

    :param training: the training problems.
    :param best: the best choice of each.
    """
    ranked = sorted(range(len(training)), key=lambda index: _gap(training[index], problem))
    return next((best[index] for index in ranked if best[index] in offered), next(iter(offered)))


def _gap(sizes: Sizes, other: Sizes) -> float:
    return sum(log(getattr(sizes, axis) / getattr(other, axis)) ** 2 for axis in ("m", "n", "k", "batch"))


def noise_ceiling(table: Measurements) -> list[float]:
    """Return what knowing the best group of replicates gives on each problem; nothing without replicates.

    Kernels that take the same time on all problems are replicates. Whoever knows the best group still does
    not know which of its members was lucky in this table: the expected efficiency is the mean over the
    members of the group with the smallest mean.
    """
    groups = _groups(table)
    if all(len(group) == 1 for group in groups):
        return []
    efficiencies = []
    for index in range(len(table.problems)):
        row = table.of_problem(index)
        means = []
        for group in groups:
            times = [row[choice] for choice in group if choice in row]
            if times:
                means.append((fmean(times), times))
        _, times = min(means)
        best = min(row.values())
        efficiencies.append(fmean(best / time for time in times))
    return efficiencies


def _groups(table: Measurements) -> list[list[Choice]]:
    rows = [table.of_problem(index) for index in range(len(table.problems))]
    groups: list[list[Choice]] = []
    for choice in table.choices:
        for group in groups:
            gaps = [
                abs(log(row[choice] / row[group[0]])) for row in rows if choice in row and group[0] in row
            ]
            if len(gaps) >= _COMMON and median(gaps) < _REPLICATE:
                group.append(choice)
                break
        else:
            groups.append([choice])
    return groups
