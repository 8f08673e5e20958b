"""What a search found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckprof.wording import percent
from ckprof_plugins.tuning.search.libraries import plan_libraries
from ckprof_plugins.tuning.search.loop import TuneStop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.problem import Problem
    from ckprof.report.best_libraries import BestLibrary
    from ckprof_plugins.tuning.search.comparison import BaselineComparison
    from ckprof_plugins.tuning.search.knowledge import Knowledge
    from ckprof_plugins.tuning.search.libraries import LibraryPlan
    from ckprof_plugins.tuning.search.loop import Progress, TuneLoop
    from ckprof_plugins.tuning.search.outlook import Certainty, Forecaster
    from ckprof_plugins.tuning.search.space import SearchSpace


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
    #: how sure it is
    certainty: Certainty
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
    libraries: tuple[BestLibrary, ...]
    #: the library that is kept
    chosen: tuple[str, ...]
    #: what was found beside the libraries of others; ``None`` if not asked for, or if the search was stopped
    comparison: BaselineComparison | None = None


def tune_result(
    loop: TuneLoop, forecaster: Forecaster, stop: TuneStop, *, strategy: str, tie: float, most: int | None
) -> TuneResult:
    """Return what a finished search found.

    :param stop: why it ended; settled is only what the reported probabilities agree with.
    :param most: kernels of the library that is kept at most; ``None`` for the smallest within the tie.
    """
    knowledge, space = loop.knowledge, loop.knowledge.space
    outlook = forecaster.outlook(knowledge, thoroughly=True)
    if stop is TuneStop.SETTLED and outlook.unsettled.any():
        stop = TuneStop.ENDED
    plan = plan_libraries(knowledge, forecaster, most)
    kept = plan.kept(most, tie)
    return TuneResult(
        strategy=strategy,
        stop=stop,
        seconds=loop.bench.seconds(),
        planning_s=loop.planning_s,
        tie=tie,
        progress=tuple(loop.progress),
        best=tuple(
            replace(_best(knowledge, number, certainty), **_of_library(knowledge, plan, kept, number))
            for number, certainty in enumerate(outlook.certainty)
        ),
        unbuilt=tuple(_unbuilt(knowledge, forecaster, loop.failures, stop)),
        kernels=tuple(kernel.name for kernel in space.kernels),
        libraries=tuple(plan.libraries),
        chosen=tuple(space.kernels[kernel].name for kernel in kept),
    )


def _of_library(knowledge: Knowledge, plan: LibraryPlan, kept: Sequence[int], number: int) -> dict[str, Any]:
    """Return the best choice of the library that is kept on a problem, as fields of its best choice."""
    times = plan.times_us[number, list(kept)]
    if not np.isfinite(times).any():
        return {}
    kernel = kept[int(times.argmin())]
    choice = knowledge.space.choices[plan.choices[number, kernel]]
    return {"kept": knowledge.space.kernels[kernel].name, "kept_splits": choice.splits}


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
    unbuilt = []
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
            slower = float(np.expm1(lead[number]))
            reason = (
                f"expected to be at least {percent(slower, 0)} slower than the best found on every problem"
            )
            if lead[number] < 0:
                reason = (
                    f"expected to be {percent(-slower, 0)} faster on some problem; the search ended "
                    f"({stop.value})"
                )
        unbuilt.append(UnbuiltKernel(name=kernel.name, reason=reason))
    return unbuilt
