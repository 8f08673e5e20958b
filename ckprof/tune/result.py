"""What a search found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckprof.tune.library_plan import plan_libraries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.problem import Problem
    from ckprof.tune.comparison import BaselineComparison
    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.libraries import KernelLibrary
    from ckprof.tune.loop import Progress, TuneLoop, TuneStop
    from ckprof.tune.outlook import Certainty, Forecaster
    from ckprof.tune.space import SearchSpace


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
    #: what was found beside the libraries of others; ``None`` if not asked for, or if the search was stopped
    comparison: BaselineComparison | None = None


def tune_result(
    loop: TuneLoop, forecaster: Forecaster, stop: TuneStop, *, strategy: str, tie: float, most: int | None
) -> TuneResult:
    """Return what a finished search found.

    :param most: kernels of the library that is kept at most; ``None`` for the smallest within the tie.
    """
    knowledge, space = loop.knowledge, loop.knowledge.space
    certainty = forecaster.certainty(knowledge, tie)
    plan = plan_libraries(knowledge, forecaster, most)
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
        libraries=tuple(plan.libraries),
        chosen=tuple(space.kernels[one].name for one in plan.kept(most, tie)),
    )


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
