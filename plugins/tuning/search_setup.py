"""What a search on a device chooses from, and how its cells are called in the store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.kernels.build_dir import build_dir_for
from ckprof.kernels.units import functions_per_unit, job_count, memory_budget_bytes
from ckprof.measure.rounds import KernelCell
from ckprof.model.device import DeviceIdentity
from ckprof.model.recipe import Purpose
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline
from ckprof.sweep.device_sweep import as_stored, sweep_run_options
from ckprof.sweep.identity import shared_key
from ckprof_plugins.tuning.model_use import (
    KernelKind,
    SearchedDevice,
    device_of,
    executed_traits,
    runs_elsewhere,
)
from ckprof_plugins.tuning.search.observations import Configuration, Costs, Pair, SearchKernel, SearchSpace
from ckprof_plugins.tuning.time_model.selector import ModelCandidate, precedence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.recipe import BuildRecipe
    from ckprof.plugin.protocols import Target
    from ckprof.session import Session
    from ckprof.store.query import SharedKey
    from ckprof.store.store import Store

#: seconds of generating, linking, comparing strings and starting a worker, about
_START_S: Final = 2.0


# Not slotted: positions are computed once and kept.
@dataclass(frozen=True, kw_only=True)
class SearchSetup:
    """What is searched on a device."""

    target: Target
    recipe: BuildRecipe
    #: how kernels are run
    run: RunOptions
    #: what measurements have in common, as far as the target knows it before anything is built
    shared: SharedKey
    #: what the times of kernels depend on here
    searched: SearchedDevice
    #: kernels, in the order of the space
    candidates: tuple[Candidate, ...]
    #: problems, in the order of the space
    problems: tuple[ProblemCase, ...]
    space: SearchSpace

    @classmethod
    def of(cls, session: Session, request: RunRequest, store: Store) -> SearchSetup:
        """Return what a search for the best kernels of a request begins with.

        :param store: what was measured before.
        :raises UsageError: no problem is for the instances.
        :raises CkprofError: there is no toolchain.
        """
        candidates = request.selection.candidates
        build_dir = build_dir_for(session, candidates, request.build, Purpose.RUN)
        recipe, target = build_dir.recipe, session.target(request.build.target)
        run = sweep_run_options(request.options, recipe)
        shared = shared_key(build_dir.direction.id, target, recipe, run, DeviceIdentity())
        if not target.embedded:
            shared = as_stored(store, shared)
        instance = candidates[0].instance
        emulated = shared.device.is_emulated
        elsewhere = runs_elsewhere(session.registry, target.id, emulated=emulated)
        kind = KernelKind(
            direction=instance.direction, dtype=instance.dtype.value, target=target.id if elsewhere else ""
        )
        timed = {
            candidate.name: executed_traits(
                session.registry,
                kind,
                candidate.instance.fields(),
                candidate.pipeline.traits(candidate.instance.fields()),
            )
            for candidate in candidates
            if offers(candidate.pipeline, Pipeline.traits)
        }
        ordered, problems = _ordered(candidates, timed), _problems_of(request)
        return cls(
            target=target,
            recipe=recipe,
            run=run,
            shared=shared,
            searched=SearchedDevice(
                kind=kind,
                dtype=instance.dtype,
                name=device_of(
                    session.registry, target.id, shared.device.model, recipe.arch, emulated=emulated
                ),
                compute_units=shared.device.compute_units,
            ),
            candidates=tuple(ordered),
            problems=tuple(problems),
            space=_space(ordered, timed, problems, request.options.splits),
        )

    @cached_property
    def kernel_numbers(self) -> Mapping[str, int]:
        """Content key -> position of the kernel."""
        return {candidate.instance.key: number for number, candidate in enumerate(self.candidates)}

    @cached_property
    def choice_numbers(self) -> Mapping[tuple[int, int], int]:
        """Position of a kernel, number of splits -> position of the choice."""
        return {(choice.kernel, choice.splits): number for number, choice in enumerate(self.space.choices)}

    def choice_of(self, cell: KernelCell) -> int | None:
        """Return the position of the choice of a kernel and its splits; ``None`` if the search has none."""
        kernel = self.kernel_numbers.get(cell.instance)
        return None if kernel is None else self.choice_numbers.get((kernel, cell.split_k))

    def measured_pair(self, cell: Pair) -> tuple[Problem, KernelCell]:
        """Return how a cell of the space is called where it is measured."""
        choice = self.space.choices[cell.choice]
        key = self.space.kernels[choice.kernel].key
        return self.space.problems[cell.problem], KernelCell(key, choice.splits)

    def costs(self, jobs: int | None) -> Costs:
        """Return what the target declares, for as many compilers as the build will run.

        :param jobs: parallel compilers; ``None`` for as many as cores and memory allow.
        """
        recipe = self.recipe
        count = job_count(jobs, recipe.compile_memory_bytes)
        return Costs(
            start_s=_START_S,
            unit_s=recipe.unit_s,
            kernel_s=recipe.function_s,
            jobs=count,
            per_unit=max(1, functions_per_unit(recipe, count, memory_budget_bytes())),
        )


def require_one_kind(candidates: Sequence[Candidate]) -> None:
    """Check that all instances compete with one another.

    :raises UsageError: they are of several types, layouts or numbers of dimensions.
    """
    kinds = {
        (candidate.instance.ndim, candidate.instance.dtype.value, candidate.instance.layout.name)
        for candidate in candidates
    }
    if len(kinds) > 1:
        listed = ", ".join(f"{ndim}D {dtype} {layout}" for ndim, dtype, layout in sorted(kinds))
        raise UsageError(
            f"the instances are of several kinds ({listed}), which do not compete: choose one with --dtype, "
            "--ndim or --filter"
        )


def _ordered(candidates: Sequence[Candidate], timed: Mapping[str, KernelTraits]) -> list[Candidate]:
    """Return kernels such that of equal predictions the preferred ones come first."""
    by_name = {candidate.name: candidate for candidate in candidates}
    ranked = [ModelCandidate(name=name, traits=traits) for name, traits in timed.items()]
    return [
        *(by_name[candidate.name] for candidate in precedence(ranked)),
        *(candidate for candidate in candidates if candidate.name not in timed),
    ]


def _problems_of(request: RunRequest) -> list[ProblemCase]:
    """Return the problems that the kernels can be run on, each with the splits and counts of all its lines.

    :raises UsageError: no problem fits.
    """
    ndim = request.selection.candidates[0].instance.ndim
    merged: dict[Problem, ProblemCase] = {}
    for run in request.problems:
        if run.problem.ndim == ndim:
            before = merged.get(run.problem, replace(run, splits=(), count=0))
            splits = tuple(dict.fromkeys((*before.splits, *run.splits)))
            merged[run.problem] = replace(before, count=before.count + run.count, splits=splits)
    if not merged:
        raise UsageError(f"no problem has {ndim} dimensions, as the instances have")
    return list(merged.values())


def _space(
    candidates: Sequence[Candidate],
    timed: Mapping[str, KernelTraits],
    problems: Sequence[ProblemCase],
    usual_splits: Sequence[int],
) -> SearchSpace:
    splits = dict.fromkeys(split for run in problems for split in run.splits or usual_splits)
    kernels = [
        SearchKernel(key=candidate.instance.key, name=candidate.name, traits=timed.get(candidate.name))
        for candidate in candidates
    ]
    return SearchSpace(
        problems=tuple(run.problem for run in problems),
        counts=tuple(run.count for run in problems),
        kernels=tuple(kernels),
        choices=tuple(Configuration(kernel, split) for kernel in range(len(kernels)) for split in splits),
    )
