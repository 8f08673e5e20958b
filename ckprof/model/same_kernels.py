"""Instances that a target makes the same kernel of."""

from __future__ import annotations

from dataclasses import dataclass


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
