"""What proposes to a tuner what to measure next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence


@runtime_checkable
class Search(Protocol):
    """One search of a strategy.

    One with an attribute ``replans`` that is true chooses again what to measure when kernels are built; for
    others, what was proposed with the kernels is measured.
    """

    def propose(self, knowledge: Any) -> Sequence[tuple[int, int]]:
        """Return what to build and measure next; nothing if no further measurement is worth it.

        :param knowledge: everything that is known; do not change it.
        :returns: (problem, choice) of open cells.
        """


def replans(search: Search) -> bool:
    """Say whether what a search proposes of kernels that are not built is only a wish to have them built."""
    return bool(getattr(search, "replans", False))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStrategy:
    """A way to search that a plugin adds."""

    #: what ``--strategy`` takes
    id: str
    label: str
    #: begins a search of a request; raises a :class:`~ckprof.errors.CkprofError` if something that it needs
    #: is missing
    start: Callable[[Any], Search] = field(repr=False)
