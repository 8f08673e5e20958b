"""Which roofs hold for a row: those given by hand, and those that the sweeps of its device have kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.model.dtype import DataType
from ckprof.model.roof import Roof, RoofKind
from ckprof.sweep.roofs import kept_roofs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.compare.side import Row, Side
    from ckprof.store.key import DeviceKey


class Roofs:
    """The roofs of a report.

    :param side: whose sessions have kept roofs.
    :param given: by hand; each replaces the kept ones of its kind.
    """

    def __init__(self, side: Side, given: Sequence[Roof]) -> None:
        self._side = side
        self._given = tuple(given)
        self._known: dict[tuple[DeviceKey, str], tuple[Roof, ...]] = {}

    def of(self, row: Row) -> tuple[Roof, ...]:
        """Return the roofs of the device and the element type of a row, at most one of each kind."""
        place = row.measurement.device, row.key.problem.dtype
        if place not in self._known:
            self._known[place] = self._find(*place)
        return self._known[place]

    def _find(self, device: DeviceKey, dtype: str) -> tuple[Roof, ...]:
        kept = [roof for session in self._side.sessions for roof in kept_roofs(session, device)]
        fitting = [roof for roof in kept if roof.dtype is None or roof.dtype.value == dtype]
        found: list[Roof] = []
        for kind in RoofKind:
            given = [roof for roof in self._given if roof.kind is kind]
            found += given or _highest([roof for roof in fitting if roof.kind is kind], dtype)
        return tuple(found)


def _highest(roofs: Sequence[Roof], dtype: str) -> Iterable[Roof]:
    """Return the highest of what several sessions saw: a roof is what the device reaches undisturbed."""
    if roofs:
        yield Roof(
            kind=roofs[0].kind,
            gflops=max(roof.gflops for roof in roofs),
            gbytes_per_s=max(roof.gbytes_per_s for roof in roofs),
            dtype=DataType(dtype) if dtype else None,
        )
