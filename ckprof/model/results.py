"""Everything that one run found out: the input of every report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.model.outcome import Outcome, Status
from ckprof.model.ranking import Ranked, ranking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.baseline import BaselineOutcome
    from ckprof.model.compute_type import ComputeType
    from ckprof.model.conversion import Conversion
    from ckprof.model.dtype import DataType
    from ckprof.model.problem import Problem
    from ckprof.model.same_kernels import SameKernels, Substitution


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInstance:
    """An instance as reports show it."""

    key: str
    #: position among the selected instances, from 0: what ``--instance`` takes
    index: int
    #: record id in its catalog
    id: int
    #: kernel name
    name: str
    #: CK Builder's text
    instance_string: str
    pipeline: str
    dtype: DataType
    #: ``file:line`` of the list it came from, empty for a catalog
    source: str = ""
    #: name of its layout
    layout: str = ""
    #: what its operands are rounded to before they are multiplied; ``None`` for nothing
    compute_type: ComputeType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSummary:
    """What the build did and what it cost."""

    compiled: int = 0
    from_cache: int = 0
    failed: int = 0
    wall_s: float = 0.0
    #: CPU time of all compiler processes
    cpu_s: float = 0.0
    #: largest resident memory of one compiler process
    peak_memory_bytes: int = 0
    jobs: int = 1
    #: (kernel name, wall seconds), slowest first
    slowest: tuple[tuple[str, float], ...] = ()
    #: (kernels, wall seconds) of each translation unit of kernels that was compiled
    units: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """One run of ``ckprof run``."""

    direction: str
    target: str
    arch: str
    #: properties needed to reproduce the run: host, compiler, flags, git state, seed, options
    environment: Mapping[str, object]
    conversions: tuple[Conversion, ...]
    instances: tuple[RunInstance, ...]
    problems: tuple[Problem, ...]
    build: BuildSummary
    outcomes: tuple[Outcome, ...]
    #: wall seconds per stage
    stages_s: Mapping[str, float] = field(default_factory=dict)
    #: whether reports shall say every condition that rejected an instance
    why: bool = False
    #: instances that are the same kernel on the target, where reports shall say so
    same_kernels: tuple[SameKernels, ...] = ()
    #: kernels that computed problems in place of instances'
    substitutions: tuple[Substitution, ...] = ()
    #: the run was ended before its last outcome, by a signal or an error
    partial: bool = False
    #: what disturbed the times, e.g. a high load
    warnings: tuple[str, ...] = ()
    #: ids of the baselines that were asked for
    baseline_ids: tuple[str, ...] = ()
    #: what became of them
    baselines: tuple[BaselineOutcome, ...] = ()

    @property
    def succeeded(self) -> bool:
        """False if an outcome failed, also of a baseline, or no instance could serve one of the problems."""
        outcomes = (*self.outcomes, *(one.outcome for one in self.baselines))
        if any(outcome.status.is_failure for outcome in outcomes):
            return False
        served = {outcome.problem_index for outcome in self.outcomes if outcome.status is Status.OK}
        return len(served) == len(self.problems)

    def ranking(self, problem_index: int) -> list[Ranked]:
        """Return the outcomes of one problem with their places, best first."""
        positions = {instance.key: instance.index for instance in self.instances}
        return ranking([one for one in self.outcomes if one.problem_index == problem_index], positions)

    def of_problem(self, problem_index: int) -> list[Outcome]:
        """Return the outcomes of one problem, in the order of :meth:`ranking`."""
        return [one.outcome for one in self.ranking(problem_index)]

    def best(self, problem_index: int) -> Outcome | None:
        """Return the fastest verified outcome of a problem, or ``None``."""
        for outcome in self.of_problem(problem_index):
            if outcome.status is Status.OK and outcome.measurement and outcome.verification:
                return outcome
        return None
