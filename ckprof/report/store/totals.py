"""What a whole network takes: its layers, each as often as it occurs, with libraries of some sizes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.tuning.search.libraries import best_libraries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.compare.side import ProblemKey, Row, Side
    from ckprof.sweep.layers import Layer

#: kernels of the libraries that are shown; the largest one that is worth it is shown as well
_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What the layers of a network take together with some kernels."""

    #: which kernels may be used
    library: str
    #: names of the kernels of a library; empty where every layer has its best
    kernels: tuple[str, ...] = ()
    time_ms: float
    #: this time / that of the best kernel per layer, on the layers that both serve
    ratio: float
    #: layers in the sum, each as often as it occurs
    layers: int
    #: numbers of the problems that are not in the sum
    missing: tuple[int, ...]
    #: no library of that size takes less time
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The problems of one direction, type, layout and device."""

    direction: str
    dtype: str
    layout: str
    device: str
    problems: int
    #: layers: problems, each as often as it occurs
    layers: int
    #: the best per layer first, then libraries, then what is compared; empty if nothing is served
    totals: tuple[Total, ...]
    #: numbers of the problems that no kernel serves
    unserved: tuple[int, ...]

    @property
    def kind(self) -> str:
        """Direction, type, layout and device in one line."""
        return " ".join(filter(None, (self.direction, self.dtype, self.layout, self.device)))


def networks(
    side: Side, layers: Mapping[ProblemKey, Layer], older: Side | None = None
) -> tuple[Network, ...]:
    """Return the totals of a side, for each direction, type, layout and device.

    :param layers: what is known of problems; others occur once.
    :param older: what is compared.
    """
    kinds: dict[tuple[str, str, str, str], list[tuple[int, ProblemKey]]] = defaultdict(list)
    for number, key in enumerate(side.by_problem, start=1):
        kinds[key.direction, key.dtype, key.layout, key.device].append((number, key))
    found = []
    for (direction, dtype, layout, device), problems in kinds.items():
        counts = [layers[key].count if key in layers else 1 for _, key in problems]
        sums = _Sums(side, problems, counts)
        found.append(
            Network(
                direction=direction,
                dtype=dtype,
                layout=layout,
                device=device,
                problems=len(problems),
                layers=sum(counts),
                totals=tuple(sums.totals(older)),
                unserved=sums.missing(sums.best),
            )
        )
    return tuple(found)


class _Sums:
    """Adds times of problems up, each as often as it occurs."""

    def __init__(self, side: Side, problems: Sequence[tuple[int, ProblemKey]], counts: Sequence[int]) -> None:
        self._side = side
        self._numbers = [number for number, _ in problems]
        self._keys = [key for _, key in problems]
        self._counts = np.array(counts, dtype=float)
        self.best = self._best_of(side)

    def _best_of(self, side: Side) -> np.ndarray:
        """Return the best time of each problem; infinity where nothing serves it."""
        rows = [side.best(key) for key in self._keys]
        return np.array([row.time_ms if row else np.inf for row in rows])

    def missing(self, times: np.ndarray) -> tuple[int, ...]:
        """Return the numbers of the problems without a time."""
        return tuple(
            number for number, time in zip(self._numbers, times, strict=True) if not np.isfinite(time)
        )

    def _total(
        self, library: str, times: np.ndarray, kernels: Sequence[str] = (), *, exact: bool = True
    ) -> Total:
        there = np.isfinite(times)
        both = there & np.isfinite(self.best)
        with_all = float(self.best[both] @ self._counts[both])
        return Total(
            library=library,
            kernels=tuple(kernels),
            time_ms=float(times[there] @ self._counts[there]),
            ratio=float(times[both] @ self._counts[both]) / with_all if with_all else 1.0,
            layers=int(self._counts[there].sum()),
            missing=self.missing(times),
            exact=exact,
        )

    def totals(self, older: Side | None) -> list[Total]:
        """Return the total of the best kernels, of libraries, and of an older side."""
        if not np.isfinite(self.best).any():
            return []
        found = [self._total("best kernel per layer", self.best), *self._libraries()]
        if older is not None:
            found.append(self._total(f"best kernel per layer of {older.label}", self._best_of(older)))
        return found

    def _libraries(self) -> list[Total]:
        names, times = self._times()
        served = np.isfinite(self.best)
        weights = self._counts[served] * self.best[served]
        found = best_libraries(times[served], weights, _SIZES[-1])
        shown = [library for library in found if len(library.kernels) in _SIZES or library is found[-1]]
        totals = []
        for library in shown:
            count = len(library.kernels)
            label = f"one library of {count} kernels" if count > 1 else "a single kernel"
            chosen = times[:, list(library.kernels)].min(axis=1)
            kernels = [names[kernel] for kernel in library.kernels]
            totals.append(self._total(label, chosen, kernels, exact=library.exact))
        return totals

    def _times(self) -> tuple[list[str], np.ndarray]:
        """Return the names of the instances, and problems x instances -> time with the best splits."""
        columns: dict[str, int] = {}
        names: list[str] = []
        cells: list[tuple[int, int, float]] = []
        for place, key in enumerate(self._keys):
            for row in self._side.by_problem[key]:
                if row.ranked:
                    column = columns.setdefault(row.key.instance, len(columns))
                    if column == len(names):
                        names.append(_name(row))
                    cells.append((place, column, row.time_ms))
        times = np.full((len(self._keys), len(names)), np.inf)
        for place, column, time_ms in cells:
            times[place, column] = min(times[place, column], time_ms)
        return names, times


def _name(row: Row) -> str:
    return row.kernel.name or row.key.instance[:12]
