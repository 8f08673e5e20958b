"""Instances that a target makes the same kernel of, and kernels that it runs in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredFields:
    """Fields of an instance that have no meaning where it runs."""

    #: of :meth:`ckprof.model.instance.Instance.fields`
    names: tuple[str, ...]
    #: a clause that says why, e.g. ``the MMA tile is that of the device's own instructions``
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SameKernels:
    """Instances whose differences have no meaning where they run: times of theirs differ by noise alone."""

    #: positions among the selected instances
    instances: tuple[int, ...]
    #: fields in which they differ
    fields: tuple[str, ...]
    #: why these have no meaning
    reasons: tuple[str, ...]

    def describe(self) -> str:
        """Return one sentence."""
        numbers = ", ".join(map(str, self.instances))
        return (
            f"instances {numbers} are the same kernel here: they differ only in {', '.join(self.fields)} "
            f"({'; '.join(self.reasons)})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """A kernel that computes a problem in place of those of some instances: their times tie."""

    problem_index: int
    #: a few words that name it, e.g. ``a kernel for groups of one channel``
    kernel: str
    #: positions among the selected instances
    instances: tuple[int, ...]

    def describe(self, instances: Collection[int]) -> str:
        """Return one sentence.

        :param instances: those that it is about.
        """
        named = [index for index in self.instances if index in instances]
        subject = f"instance {named[0]}" if len(named) == 1 else f"instances {_runs(named)}"
        return (
            f"{subject}: this problem is computed by {self.kernel} here, whatever the fields of instances are"
        )


def _runs(indices: Sequence[int]) -> str:
    """Return e.g. ``0-3, 7`` for increasing numbers."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
