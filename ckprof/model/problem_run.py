"""A problem with what its line says of the instances that are run on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.model.dtype import DataType
    from ckprof.model.instance import Instance
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemRun:
    """One problem of a run."""

    problem: Problem
    #: only instances of this type are run; ``None`` for all
    dtype: DataType | None = None
    #: only instances of the layout of this name are run; ``None`` for all
    layout: str | None = None
    #: numbers of splits of the reduction; empty for those of the run's options
    splits: tuple[int, ...] = ()
    #: how often it occurs in what the user runs
    count: int = 1
    #: content keys of the only instances that are run on it; ``None`` for all
    instances: frozenset[str] | None = None

    def takes(self, instance: Instance) -> bool:
        """Say whether an instance is run on the problem; whether it supports it is another question."""
        return (
            (self.dtype is None or instance.dtype is self.dtype)
            and (self.layout is None or instance.layout.name == self.layout)
            and (self.instances is None or instance.key in self.instances)
        )


def as_problem_run(problem: Problem | ProblemRun) -> ProblemRun:
    """Return a problem that all instances are run on, unless it says itself which."""
    return problem if isinstance(problem, ProblemRun) else ProblemRun(problem=problem)
