"""What a search chooses from: problems with weights, kernels, and the splits that each may run with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem


class Cell(NamedTuple):
    """One thing to measure: positions of a problem and of a choice in the space."""

    problem: int
    choice: int


class Choice(NamedTuple):
    """What competes on a problem: the position of a kernel, and its number of splits."""

    kernel: int
    splits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchKernel:
    """A kernel that may be built."""

    #: content key of the instance, or what else identifies it where measurements come from a table
    key: str
    name: str
    #: what its time depends on; ``None`` for a family without a time model
    traits: KernelTraits | None


@dataclass(frozen=True, kw_only=True)
class SearchSpace:
    """Problems x choices.

    A choice is offered on every problem; those that turn out not to be supported leave the search.
    """

    problems: tuple[Problem, ...]
    #: occurrences of each problem, at least 1
    counts: tuple[int, ...]
    kernels: tuple[SearchKernel, ...]
    choices: tuple[Choice, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of problems and of choices."""
        return len(self.problems), len(self.choices)

    @cached_property
    def kernel_of(self) -> NDArray[np.int64]:
        """Position of the kernel of each choice."""
        import numpy as np

        return np.array([choice.kernel for choice in self.choices], dtype=np.int64)

    @property
    def weighted(self) -> bool:
        """True if problems occur with different frequency, so that time saved counts, not the ratio."""
        return len(set(self.counts)) > 1
