"""What a search found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.model.ranking import shares_first_place
from ckprof.report.best_libraries import best_libraries
from ckprof.wording import percent
from ckprof_plugins.tuning.search.loop import TuneStop
from ckprof_plugins.tuning.search.observations import Pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.model.problem import Problem
    from ckprof.report.best_libraries import BestLibrary
    from ckprof_plugins.tuning.baseline_comparison import BaselineComparison
    from ckprof_plugins.tuning.search.acquisition import Forecaster, Posterior
    from ckprof_plugins.tuning.search.loop import SearchProgress, TuneLoop
    from ckprof_plugins.tuning.search.observations import Observations, SearchSpace


#: kernels of the largest library of the curve, unless a size is asked for
USUAL_LIBRARY: Final = 12


def kept_library(libraries: Sequence[BestLibrary], most: int | None, tie: float) -> tuple[int, ...]:
    """Return the kernels of the library to keep.

    :param most: its size at most; ``None`` for the smallest one within the tie.
    """
    if not libraries:
        return ()
    if most is not None:
        return libraries[-1].kernels
    least = min(library.unserved for library in libraries)
    serving = [library for library in libraries if library.unserved == least]
    best = min(library.slowdown for library in serving)
    return next(library.kernels for library in serving if library.slowdown <= max(1.0 + tie, best))


def plan_libraries(
    observations: Observations, forecaster: Forecaster, most: int | None
) -> tuple[Sequence[BestLibrary], NDArray[np.int64], NDArray[np.float64]]:
    """Return the best libraries of each size of kernels that were tried.

    Where such a kernel supports a problem but was not measured on it, its expected time counts.

    :returns: the libraries; problems x kernels -> choice with the least time, and that time in microseconds,
        infinity without one.
    """
    space, tried = observations.space, observations.tried
    logs = np.where(observations.measured, observations.log_us, np.inf)
    rows: NDArray[np.bool_] = np.any(np.isfinite(logs), axis=1)
    if rows.any():
        counts = observations.open & tried[space.kernel_of][None] & rows[:, None]
        logs = np.where(counts, forecaster.expected_log_us(observations), logs)
    choices, least = _of_kernels(observations, logs)
    if not rows.any():
        return (), choices, least
    weights = np.ones(len(space.problems))
    if space.weighted:
        weights = np.array(space.counts) * np.where(rows, np.exp(observations.best_log_us), 0.0)
    # only measured times decide what is the best of all
    best = np.exp(observations.best_log_us)
    floored = np.maximum(least, best[:, None])
    libraries = best_libraries(floored[rows], weights[rows], most or USUAL_LIBRARY)
    return libraries, choices, least


def _of_kernels(
    observations: Observations, logs: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best choice of each kernel on each problem, and its time."""
    space = observations.space
    shape = len(space.problems), len(space.kernels)
    choices, least = np.zeros(shape, dtype=np.int64), np.full(shape, np.inf)
    for choice, kernel in enumerate(space.kernel_of.tolist()):
        better = logs[:, choice] < least[:, kernel]
        choices[better, kernel] = choice
        least[better, kernel] = logs[better, choice]
    return choices, np.exp(least)


def kept_pairs(
    observations: Observations, forecaster: Forecaster, most: int | None, tie: float
) -> tuple[list[int], list[Pair]]:
    """Return the kernels of the library that is kept, and what it rests on that was not measured yet."""
    libraries, choices, times_us = plan_libraries(observations, forecaster, most)
    kept = list(kept_library(libraries, most, tie))
    pairs = []
    for problem, times in enumerate(times_us[:, kept]) if kept else ():
        kernel = kept[int(times.argmin())]
        pair = Pair(problem, int(choices[problem, kernel]))
        if np.isfinite(times.min()) and observations.open[pair]:
            pairs.append(pair)
    return kept, pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class BestChoice:
    """The best kernel of one problem."""

    problem: Problem
    #: occurrences
    count: int
    #: name of the kernel; empty if nothing supports the problem or was measured on it
    kernel: str
    splits: int
    #: ``None`` without a measurement
    time_us: float | None
    #: kernels that are tied with it, see :mod:`ckprof.model.ranking`
    tied: int
    #: probability that an unmeasured choice is better by more than the tie of the search
    better: float
    #: expected improvement by the best unmeasured choice, relative
    gain: float
    #: choices that were measured, and those that might still be
    measured: int
    unmeasured: int
    #: the best one of the library that is kept; empty if none of it supports the problem
    kept: str = ""
    kept_splits: int = 0

    @property
    def missing(self) -> str:
        """Why there is no kernel; empty if there is one."""
        if self.kernel:
            return ""
        return "nothing was measured yet" if self.unmeasured else "no kernel supports it or works on it"


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
    progress: tuple[SearchProgress, ...]
    best: tuple[BestChoice, ...]
    #: kernel that was never built -> reason
    unbuilt: Mapping[str, str]
    #: names of all kernels, by position in the libraries
    kernels: tuple[str, ...]
    #: the best libraries of 1, 2, ... kernels
    libraries: tuple[BestLibrary, ...]
    #: the library that is kept
    chosen: tuple[str, ...]
    #: the comparison with baselines; ``None`` if not asked for, or if the search was stopped
    comparison: BaselineComparison | None = None


def tune_result(
    loop: TuneLoop, forecaster: Forecaster, stop: TuneStop, *, strategy: str, tie: float, most: int | None
) -> TuneResult:
    """Return what a finished search found.

    :param stop: why it ended; settled is only what the reported probabilities agree with.
    :param most: kernels of the library that is kept at most; ``None`` for the smallest within the tie.
    """
    observations, space = loop.observations, loop.observations.space
    posterior = forecaster.posterior(observations, thoroughly=True)
    if stop is TuneStop.SETTLED and posterior.unsettled.any():
        stop = TuneStop.ENDED
    libraries, choices, times_us = plan_libraries(observations, forecaster, most)
    kept = list(kept_library(libraries, most, tie))
    of_library = [_of_library(space, kept, *row) for row in zip(choices, times_us, strict=True)]
    return TuneResult(
        strategy=strategy,
        stop=stop,
        seconds=loop.bench.seconds(),
        planning_s=loop.planning_s,
        tie=tie,
        progress=tuple(loop.progress),
        best=tuple(
            _best(observations, number, posterior, of_kept) for number, of_kept in enumerate(of_library)
        ),
        unbuilt=_unbuilt(observations, forecaster, loop.failures, stop),
        kernels=tuple(kernel.name for kernel in space.kernels),
        libraries=tuple(libraries),
        chosen=tuple(space.kernels[kernel].name for kernel in kept),
    )


def _of_library(
    space: SearchSpace, kept: Sequence[int], choices: NDArray[np.int64], times_us: NDArray[np.float64]
) -> tuple[str, int]:
    """Return the best kernel of the library that is kept on a problem, and its splits."""
    times = times_us[kept]
    if not np.isfinite(times).any():
        return "", 0
    kernel = kept[int(times.argmin())]
    return space.kernels[kernel].name, space.choices[choices[kernel]][1]


def _best(observations: Observations, number: int, posterior: Posterior, kept: tuple[str, int]) -> BestChoice:
    space = observations.space
    choices, field = observations.ranking(number)
    kernel, splits = space.choices[choices[0]] if choices else (-1, 0)
    return BestChoice(
        problem=space.problems[number],
        count=space.counts[number],
        kernel=space.kernels[kernel].name if choices else "",
        splits=splits,
        time_us=1000 * field.kernels[0].time_ms if choices else None,
        tied=sum(map(shares_first_place, field.leads())) - 1 if choices else 0,
        better=float(posterior.better[number]),
        gain=float(posterior.gain[number]),
        measured=len(choices),
        unmeasured=int(observations.open[number].sum()),
        kept=kept[0],
        kept_splits=kept[1],
    )


def _unbuilt(
    observations: Observations, forecaster: Forecaster, failures: Mapping[int, str], stop: TuneStop
) -> dict[str, str]:
    """Return the kernels that were never built, with the reason."""
    space = observations.space
    lead = forecaster.least_lead(observations)
    tried = observations.tried
    unbuilt: dict[str, str] = {}
    for number, kernel in enumerate(space.kernels):
        if tried[number]:
            continue
        if number in failures:
            reason = failures[number]
        elif not observations.possible[:, space.kernel_of == number].any():
            reason = "it supports none of the problems"
        elif not np.isfinite(lead[number]):
            reason = f"the search ended before it ({stop.value})"
        else:
            slower = float(np.expm1(lead[number]))
            reason = (
                f"expected to be at least {percent(slower, 0)} slower than the best found on every problem"
            )
            if lead[number] < 0:
                reason = (
                    f"expected to be {percent(-slower, 0)} faster on some problem; the search ended "
                    f"({stop.value})"
                )
        unbuilt[kernel.name] = reason
    return unbuilt
