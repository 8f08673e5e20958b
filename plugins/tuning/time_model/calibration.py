"""Finds out how far a fit is off on problems and kernels that it has not seen.

Errors on the problems of the fit itself say little: its parameters follow them. So problems are left out, in
two ways: shares of all of them, of which similar ones stay, and those at either end of an axis, to which the
rest has nothing similar. Kernels are left out, too: one by one, all of a family, all of a tile depth.

NumPy is imported by this module: it is for training only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from ckprof_plugins.tuning.time_model.formula import stacked
from ckprof_plugins.tuning.time_model.intervals import (
    BANDS,
    COVERAGE,
    Trial,
    Trials,
    beyond,
    extents,
    place,
    ranges_of,
)
from ckprof_plugins.tuning.time_model.model import Similarity, derived, distance, similarity
from ckprof_plugins.tuning.time_model.selector import precedence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof_plugins.tuning.time_model.fit import Errors, Fit
    from ckprof_plugins.tuning.time_model.formula import GemmSizes, Sizes
    from ckprof_plugins.tuning.time_model.measurements import Measurements
    from ckprof_plugins.tuning.time_model.model import ModelKernel, TimeModel

#: Shares that are left out one after the other.
SHARES: Final = 5
#: Axes whose ends are left out, the part of the problems that is an end, and the most that may be one.
_END_AXES: Final = ("m", "k", "n_run", "k_run", "taps", "work")
_END: Final = 0.25
_LARGEST_END: Final = 0.6
#: Fewer problems than that are not worth a fit.
_LEAST_LEFT: Final = 6
#: The scale of a kernel's errors is this quantile of them, drawn to that of all kernels as by some more rows.
_SCALE_LEVEL: Final = 0.7
_SCALE_ROWS: Final = 10
_LEAST_SCALE: Final = 0.005
#: How much farther off a family is of which nothing was measured than those that were left out.
_STRANGER: Final = 2.0
#: scale where no kernel was measured on enough problems to leave some out
_NOTHING_KNOWN: Final = 0.5
#: errors of a kind of kernels of which nothing could be left out, as a multiple of the largest known ones
_UNKNOWN: Final = 1.5


def left_out_groups(problems: Sequence[Sizes]) -> tuple[tuple[int, ...], ...]:
    """Return which problems are left out together: first the :data:`SHARES`, then the ends of axes."""
    count = len(problems)
    groups = [tuple(range(share, count, SHARES)) for share in range(SHARES)]
    every = [extents(sizes) for sizes in problems]
    part = max(1, round(_END * count))
    for axis in _END_AXES:
        values = sorted(one[axis] for one in every)
        low, high = values[part - 1], values[-part]
        groups.append(tuple(index for index, one in enumerate(every) if one[axis] <= low))
        groups.append(tuple(index for index, one in enumerate(every) if one[axis] >= high))
    sizes = max(_LARGEST_END * count, count / SHARES + 1)
    kept = [group for group in groups if group and len(group) <= sizes and count - len(group) >= _LEAST_LEFT]
    return tuple(dict.fromkeys(kept))


def calibrated(fitted: Fit, model: TimeModel, table: Measurements, gemm_sizes: GemmSizes) -> TimeModel:
    """Return a model with what refits, and kernels that are left out, say about its errors.

    :param model: of the fit, without calibration.
    :raises IndexError: the fit has no refits.
    """
    problems = [gemm_sizes(problem) for problem in table.problems]
    pool_of = {name: number for number, names in enumerate(fitted.pools) for name in names}
    scales = _scales(fitted, pool_of)
    places = np.array([place(sizes) for sizes in problems])
    gaps = np.sqrt(((places[:, None] - places) ** 2).sum(axis=-1))
    errors = [_of_problems(refit, pool_of, scales) for refit in fitted.refits.values()]
    middles = np.cumsum(BANDS) - np.array(BANDS) / 2
    trials = []
    for group, of_problems in zip(fitted.refits, errors, strict=True):
        left = sorted(set(range(len(problems))) - set(group))
        ranges = ranges_of([problems[index] for index in left])
        trials += [
            Trial(
                problem=index,
                nearest=_rounded(gaps[index, left].min()),
                beyond=tuple(map(_rounded, beyond(ranges, problems[index]))),
                errors=tuple(map(_rounded, np.quantile(own, middles, method="inverted_cdf"))),
            )
            for index, own in of_problems.items()
        ]
    unseen = [error for of_problems in errors[:SHARES] for own in of_problems.values() for error in own]
    usual = float(np.quantile(unseen, COVERAGE)) if unseen else 1.0
    return replace(
        model,
        kernels={
            name: msgspec.structs.replace(kernel, spread=scales[pool_of[name]])
            for name, kernel in model.kernels.items()
        },
        derived_spreads={
            kind: max(scale / usual, *scales) for kind, scale in _derived(model, table, problems).items()
        },
        trials=Trials(places=tuple(tuple(map(_rounded, row)) for row in places), trials=tuple(trials)),
    )


def efficiencies(fitted: Fit, table: Measurements) -> list[float]:
    """Return best time / time of the choice for each problem while it was left out, if there was a choice."""
    rank = {name: number for number, name in enumerate(precedence(table.kernels))}
    found = []
    for refit in list(fitted.refits.values())[:SHARES]:
        choices: dict[int, list[tuple[float, int, str, int]]] = {}
        for (index, name, splits), (predicted, _) in refit.items():
            choices.setdefault(index, []).append((predicted, rank[name], name, splits))
        for index, offered in choices.items():
            row = table.rows[index]
            _, _, name, splits = min(offered)
            if len(row) > 1:
                found.append(min(row.values()) / row[name, splits])
    return found


def _scales(fitted: Fit, pool_of: Mapping[str, int]) -> list[float]:
    """Return the scale of the errors of each pool, of shares that were left out."""
    errors: list[list[float]] = [[] for _ in fitted.pools]
    for refit in list(fitted.refits.values())[:SHARES]:
        for (_, name, _), (_, error) in refit.items():
            errors[pool_of[name]].append(abs(error))
    every = [error for own in errors for error in own] or [_NOTHING_KNOWN]
    common = np.log(np.quantile(every, _SCALE_LEVEL) + 1e-9)
    scales = []
    for own in errors:
        log_scale = np.log(np.quantile(own, _SCALE_LEVEL) + 1e-9) if own else common
        weight = len(own) / (len(own) + _SCALE_ROWS)
        scales.append(max(_LEAST_SCALE, float(np.exp(weight * log_scale + (1 - weight) * common))))
    return scales


def _of_problems(
    refit: Errors, pool_of: Mapping[str, int], scales: Sequence[float]
) -> dict[int, list[float]]:
    """Return the errors on each problem that was left out, as multiples of the kernels' scales."""
    errors: dict[int, list[float]] = {}
    for (index, name, _), (_, error) in refit.items():
        errors.setdefault(index, []).append(abs(error) / scales[pool_of[name]])
    return errors


def _rounded(value: Any) -> float:
    return float(f"{value:.4g}")


def _derived(model: TimeModel, table: Measurements, problems: Sequence[Sizes]) -> dict[Similarity, float]:
    """Return how far times of measured kernels are off when they are derived from similar ones."""
    # kernels of one pool are one kernel here
    kernels = {id(kernel.parameters): kernel for kernel in model.kernels.values()}
    times: dict[int, list[tuple[int, int, float]]] = {}
    for (index, name, splits), time in table.times.items():
        times.setdefault(id(model.kernels[name].parameters), []).append((index, splits, time))
    errors: dict[Similarity, list[float]] = {kind: [] for kind in Similarity}
    gaps: list[float] = []
    for number, kernel in kernels.items():
        others = {other.name: other for other in kernels.values() if other is not kernel}
        if others:
            least_alike = max(others.values(), key=lambda other: distance(kernel.traits, other.traits))
            gaps += _errors(model, least_alike, times[number], problems)
        for kind in Similarity:
            similar = {
                name: other
                for name, other in others.items()
                if similarity(kernel.traits, [other.traits]) not in _CLOSER[kind]
            }
            if similar and similarity(kernel.traits, [other.traits for other in similar.values()]) is kind:
                guess = derived(replace(model, kernels=similar), kernel.name, kernel.traits)
                errors[kind] += _errors(model, guess, times[number], problems)
    found = {kind: float(np.quantile(own, COVERAGE)) for kind, own in errors.items() if own}
    largest = max(found.values(), default=1.0)
    spreads = {kind: found.get(kind, _UNKNOWN * largest) for kind in Similarity}
    # two measured families may well be more similar than a third one is to them: the distance of the third is
    # assumed to exceed that of the two kernels that have least in common
    unlike = _UNKNOWN * float(np.quantile(gaps, COVERAGE)) if gaps else 0.0
    spreads[Similarity.FAMILY] = max(
        _STRANGER * spreads[Similarity.FAMILY], spreads[Similarity.ALIKE], unlike
    )
    return spreads


def _errors(
    model: TimeModel, kernel: ModelKernel, times: Sequence[tuple[int, int, float]], problems: Sequence[Sizes]
) -> list[float]:
    """Return the absolute logarithms of measured / predicted."""
    errors: list[float] = []
    for splits in {splits for _, splits, _ in times}:
        rows = [(index, time) for index, count, time in times if count == splits]
        sizes = stacked([problems[index] for index, _ in rows])
        predicted = model.terms(kernel, sizes, splits).total
        errors += np.abs(np.log([time for _, time in rows] / predicted)).tolist()
    return errors


#: What is left out so that the nearest of the rest are of a similarity.
_CLOSER: Final[Mapping[Similarity, frozenset[Similarity]]] = {
    Similarity.ALIKE: frozenset(),
    Similarity.DEPTH: frozenset({Similarity.ALIKE}),
    Similarity.FAMILY: frozenset({Similarity.ALIKE, Similarity.DEPTH}),
}
