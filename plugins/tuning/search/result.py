"""What a search found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.formatting import percent
from ckprof.model.ranking import is_tied
from ckprof.report.best_libraries import best_libraries
from ckprof_plugins.tuning.search.loop import TuneStop
from ckprof_plugins.tuning.search.observations import Pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.model.problem import Problem
    from ckprof.report.best_libraries import BestLibrary
    from ckprof_plugins.tuning.baseline_comparison import BaselineComparison
    from ckprof_plugins.tuning.options import SearchOptions
    from ckprof_plugins.tuning.search.acquisition import Forecaster, Posterior
    from ckprof_plugins.tuning.search.loop import SearchProgress, TuneLoop
    from ckprof_plugins.tuning.search.observations import Observations


#: kernels of the largest library of the curve, unless a size is asked for
USUAL_LIBRARY: Final = 12


def kept_library(
    observations: Observations, forecaster: Forecaster, options: SearchOptions
) -> tuple[Sequence[BestLibrary], tuple[int, ...], list[Pair | None]]:
    """Return the best libraries of each size of kernels that were tried, and the one to keep.

    Where such a kernel supports a problem but was not measured on it, its expected time counts.

    :returns: the libraries; the kernels of the one that is kept; and what serves each problem best of it.
    """
    space = observations.space
    rows: NDArray[np.bool_] = np.any(observations.measured, axis=1)
    if not rows.any():
        return (), (), [None] * len(space.problems)
    counts = observations.open & observations.tried[space.kernel_of][None] & rows[:, None]
    logs = np.where(observations.measured, observations.log_us, np.inf)
    logs = np.where(counts, forecaster.expected_log_us(observations), logs)
    choices, least = _of_kernels(observations, logs)
    # only measured times decide what is the best of all
    best = np.exp(observations.best_log_us)
    weights = np.ones(len(space.problems))
    if space.weighted:
        weights = np.array(space.counts) * np.where(rows, best, 0.0)
    floored = np.maximum(least, best[:, None])
    libraries = best_libraries(floored[rows], weights[rows], options.kernels or USUAL_LIBRARY)
    kept = _chosen(libraries, options)
    served: list[Pair | None] = []
    for problem, times in enumerate(least[:, kept]):
        choice = int(choices[problem, kept[int(times.argmin())]])
        served.append(Pair(problem, choice) if np.isfinite(times.min()) else None)
    return libraries, kept, served


def _chosen(libraries: Sequence[BestLibrary], options: SearchOptions) -> tuple[int, ...]:
    """Return the kernels of the largest library if its size is limited, else of the smallest in the tie."""
    if options.kernels is not None:
        return libraries[-1].kernels
    least = min(library.unserved for library in libraries)
    serving = [library for library in libraries if library.unserved == least]
    best = min(library.slowdown for library in serving)
    return next(library.kernels for library in serving if library.slowdown <= max(1.0 + options.tie, best))


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
    #: pairs that chance drew among those that would be skipped, and how many of them beat the best
    #: by more than the tie
    blind: int
    surprises: int
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


def tune_result(loop: TuneLoop, forecaster: Forecaster, stop: TuneStop) -> TuneResult:
    """Return what a finished search found.

    :param stop: why it ended; settled is only what the reported probabilities agree with.
    """
    observations, space, options = loop.observations, loop.observations.space, loop.options
    posterior = forecaster.posterior(observations, thoroughly=True)
    if stop is TuneStop.SETTLED and not posterior.settled:
        # with a budget, what is left is what does not fit into it
        stop = TuneStop.ENDED if options.budget_s is None else TuneStop.BUDGET
    libraries, kept, served = kept_library(observations, forecaster, options)
    blind, surprises = observations.surprises(options.tie)
    return TuneResult(
        strategy=options.strategy,
        stop=stop,
        seconds=loop.bench.seconds(),
        planning_s=loop.planning_s,
        tie=options.tie,
        progress=tuple(loop.progress),
        best=tuple(_best(observations, number, posterior, pair) for number, pair in enumerate(served)),
        blind=blind,
        surprises=surprises,
        unbuilt=_unbuilt(observations, forecaster, loop.failures, stop),
        kernels=tuple(kernel.name for kernel in space.kernels),
        libraries=tuple(libraries),
        chosen=tuple(space.kernels[kernel].name for kernel in kept),
    )


def _best(observations: Observations, number: int, posterior: Posterior, served: Pair | None) -> BestChoice:
    space = observations.space
    choices, ranked = observations.ranking(number)

    def named(choice: int | None) -> tuple[str, int]:
        if choice is None:
            return "", 0
        kernel, splits = space.choices[choice]
        return space.kernels[kernel].name, splits

    kernel, splits = named(choices[0] if choices else None)
    kept, kept_splits = named(None if served is None else served.choice)
    return BestChoice(
        problem=space.problems[number],
        count=space.counts[number],
        kernel=kernel,
        splits=splits,
        time_us=1000 * ranked.kernels[0].time_ms if choices else None,
        tied=sum(map(is_tied, ranked.intervals())) - 1 if choices else 0,
        better=float(posterior.better[number]),
        gain=float(posterior.gain[number]),
        measured=len(choices),
        unmeasured=int(observations.open[number].sum()),
        kept=kept,
        kept_splits=kept_splits,
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
            share = percent(abs(float(np.expm1(lead[number]))), 0)
            reason = f"expected to be at least {share} slower than the best found on every problem"
            if lead[number] < 0:
                reason = f"expected to be {share} faster on some problem; the search ended ({stop.value})"
        unbuilt[kernel.name] = reason
    return unbuilt
