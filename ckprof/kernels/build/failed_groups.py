"""Translation units of several kernels that did not compile, and which kernel of them is to blame, if any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.model.results import SeparatedKernels

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ckprof.kernels.build.plan import Unit


@dataclass
class FailedGroups:
    """Divides what did not compile, until it is known which kernels do not."""

    #: key of a unit -> largest group in which it may still be, after a group with it has failed
    limits: dict[str, int] = field(default_factory=dict)
    #: content key of each instance -> name of its kernel; the reason
    _failed: list[tuple[Mapping[str, str], str]] = field(default_factory=list)

    def add(self, members: Sequence[Unit], reason: str) -> None:
        """Note a group that did not compile; its members go into groups of half its size.

        :param reason: what the compiler said.
        """
        half = (len(members) + 1) // 2
        self.limits |= {unit.key: half for unit in members}
        names = {unit.kernel.key: unit.name for unit in members if unit.kernel is not None}
        self._failed.append((names, reason))

    def separated(self, failed: Collection[str]) -> tuple[SeparatedKernels, ...]:
        """Return the largest groups whose kernels all compile, but not together.

        :param failed: content keys of the instances that do not compile.
        """
        blameless = [one for one in self._failed if one[0].keys().isdisjoint(failed)]
        return tuple(
            SeparatedKernels(kernels=tuple(names.values()), reason=reason)
            for names, reason in blameless
            if not any(names.keys() < others.keys() for others, _ in blameless)
        )
