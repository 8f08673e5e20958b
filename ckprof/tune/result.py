"""What a search found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckprof.tune.libraries import KernelLibrary, best_libraries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.problem import ConvProblem
    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.loop import Progress, TuneLoop, TuneStop
    from ckprof.tune.outlook import Certainty, Forecaster
    from ckprof.tune.space import SearchSpace

#: kernels of the largest library of the curve, unless a size is asked for
USUAL_LIBRARY = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class BestChoice:
    """The best kernel of one problem."""

    problem: ConvProblem
    #: occurrences
    count: int
    #: name of the kernel; empty if nothing supports the problem or was measured on it
    kernel: str
    splits: int
    #: ``None`` without a measurement
    time_us: float | None
    #: how sure it is
    certainty: Certainty
    #: choices that were measured, and those that might still be
    measured: int
    unmeasured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnbuiltKernel:
    """A kernel that was never built."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """What a search found."""

    strategy: str
    stop: TuneStop
    seconds: float
    #: seconds of them that were spent on planning
    planning_s: float
    #: improvements below this share were not looked for
    tie: float
    #: after each batch
    progress: tuple[Progress, ...]
    best: tuple[BestChoice, ...]
    unbuilt: tuple[UnbuiltKernel, ...]
    #: names of all kernels, by position in the libraries
    kernels: tuple[str, ...]
    #: the best libraries of 1, 2, ... kernels
    libraries: tuple[KernelLibrary, ...]
    #: the library that is kept
    chosen: tuple[str, ...]


def tune_result(
    loop: TuneLoop, forecaster: Forecaster, stop: TuneStop, *, strategy: str, tie: float, most: int | None
) -> TuneResult:
    """Return what a finished search found.

    :param most: kernels of the library that is kept at most; ``None`` for the smallest within the tie.
    """
    knowledge, space = loop.knowledge, loop.knowledge.space
    certainty = forecaster.certainty(knowledge, tie)
    libraries = _libraries(knowledge, most or USUAL_LIBRARY)
    return TuneResult(
        strategy=strategy,
        stop=stop,
        seconds=loop.bench.seconds(),
        planning_s=loop.planning_s,
        tie=tie,
        progress=tuple(loop.progress),
        best=tuple(_best(knowledge, number, certainty[number]) for number in range(len(space.problems))),
        unbuilt=tuple(_unbuilt(knowledge, forecaster, loop.failures, stop)),
        kernels=tuple(one.name for one in space.kernels),
        libraries=tuple(libraries),
        chosen=tuple(space.kernels[one].name for one in _kept(libraries, most, tie)),
    )


def _kept(libraries: Sequence[KernelLibrary], most: int | None, tie: float) -> tuple[int, ...]:
    if not libraries:
        return ()
    if most is not None:
        return libraries[-1].kernels
    least = min(one.unserved for one in libraries)
    served = [one for one in libraries if one.unserved == least]
    best = min(one.slowdown for one in served)
    return next(one.kernels for one in served if one.slowdown <= max(1.0 + tie, best))


def _libraries(knowledge: Knowledge, most: int) -> list[KernelLibrary]:
    """Return the best libraries of measured kernels for the problems that were measured."""
    times = kernel_times(knowledge)
    rows = np.isfinite(times).any(axis=1)
    if not rows.any():
        return []
    space = knowledge.space
    weights = np.ones(len(space.problems))
    if space.weighted:
        weights = np.array(space.counts) * np.where(rows, np.exp(knowledge.best_log_us), 0.0)
    return best_libraries(times[rows], weights[rows], most)


def kernel_times(knowledge: Knowledge) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return problems x kernels -> measured microseconds with the best split; infinity without one."""
    space = knowledge.space
    found = np.full((len(space.problems), len(space.kernels)), np.inf)
    times = np.where(knowledge.measured, np.exp(knowledge.log_us), np.inf)
    for choice, kernel in enumerate(space.kernel_of.tolist()):
        found[:, kernel] = np.minimum(found[:, kernel], times[:, choice])
    return found


def _best(knowledge: Knowledge, number: int, certainty: Certainty) -> BestChoice:
    space, row = knowledge.space, knowledge.log_us[number]
    measured = int(np.isfinite(row).sum())
    kernel, splits, time_us = "", 0, None
    if measured:
        choice = int(np.nanargmin(row))
        kernel = space.kernels[space.choices[choice].kernel].name
        splits = space.choices[choice].splits
        time_us = float(np.exp(row[choice]))
    return BestChoice(
        problem=space.problems[number],
        count=space.counts[number],
        kernel=kernel,
        splits=splits,
        time_us=time_us,
        certainty=certainty,
        measured=measured,
        unmeasured=int(knowledge.open[number].sum()),
    )


def _unbuilt(
    knowledge: Knowledge, forecaster: Forecaster, failures: Mapping[int, str], stop: TuneStop
) -> list[UnbuiltKernel]:
    """Return the kernels that were never built, with the reason."""
    space: SearchSpace = knowledge.space
    lead = forecaster.least_lead(knowledge)
    tried = knowledge.tried
    found = []
    for number, kernel in enumerate(space.kernels):
        if tried[number]:
            continue
        if number in failures:
            reason = failures[number]
        elif not knowledge.possible[:, space.kernel_of == number].any():
            reason = "it supports none of the problems"
        elif not np.isfinite(lead[number]):
            reason = f"the search ended before it ({stop.value})"
        else:
            percent = 100 * np.expm1(lead[number])
            reason = f"expected to be at least {percent:.0f} % slower than the best found on every problem"
            if lead[number] < 0:
                reason = (
                    f"expected to be {-percent:.0f} % faster on some problem; the search ended ({stop.value})"
                )
        found.append(UnbuiltKernel(name=kernel.name, reason=reason))
    return found
