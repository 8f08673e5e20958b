"""What a whole network takes: its layers, each as often as it occurs, with libraries of some sizes.

Reports of stores, tables of runs and ``results show`` have the same sums.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ckprof.report.best_libraries import best_libraries
from ckprof.sweep.evidence import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.compare.side import ProblemKey, Side

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


class KernelTime(NamedTuple):
    """The time of a kernel on a problem, with one number of splits."""

    #: content key of the instance
    instance: str
    name: str
    time_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTimes:
    """What sums are made of."""

    #: what was measured, for people
    label: str = ""
    #: every problem in the order of its number, with its verified kernels
    kernels: Mapping[ProblemKey, Sequence[KernelTime]]
    #: id of a baseline -> its time on problems in milliseconds
    baselines: Mapping[str, Mapping[ProblemKey, float]] = field(default_factory=dict)

    @classmethod
    def of_side(cls, side: Side) -> NetworkTimes:
        """Return the times of an input of reports."""
        return cls(
            label=side.label,
            kernels={
                key: [
                    KernelTime(row.key.instance, row.kernel.name or row.key.instance[:12], row.time_ms)
                    for row in rows
                    if row.ranked
                ]
                for key, rows in side.by_problem.items()
            },
            baselines=side.baselines,
        )

    def best(self, key: ProblemKey) -> float:
        """Return the best time on a problem; infinity where nothing serves it."""
        return min((kernel.time_ms for kernel in self.kernels.get(key, ())), default=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The problems of one network, direction, type, layout and device."""

    #: empty for problems whose source names none
    name: str = ""
    direction: str
    dtype: str
    layout: str
    device: str
    problems: int
    #: layers: problems, each as often as it occurs
    layers: int
    #: the best per layer first, then libraries, baselines and what is compared; empty if nothing is served
    totals: tuple[Total, ...]
    #: numbers of the problems that no kernel serves
    unserved: tuple[int, ...]


def networks(
    times: NetworkTimes, layers: Mapping[ProblemKey, Layer], older: NetworkTimes | None = None
) -> tuple[Network, ...]:
    """Return the totals of each network, direction, type, layout and device.

    A problem that several networks have is in the sum of each.

    :param layers: what is known of problems; others occur once, in no network.
    :param older: what is compared.
    """
    kinds: dict[tuple[str, ...], list[_Summand]] = defaultdict(list)
    for number, key in enumerate(times.kernels, start=1):
        for name, count in (layers[key] if key in layers else Layer()).counts.items():
            kind = (name, key.direction, key.dtype, key.layout, key.device)
            kinds[kind].append(_Summand(number, key, count))
    found = []
    for (name, direction, dtype, layout, device), summands in kinds.items():
        sums = _Sums(times, summands)
        found.append(
            Network(
                name=name,
                direction=direction,
                dtype=dtype,
                layout=layout,
                device=device,
                problems=len(summands),
                layers=sum(summand.occurs for summand in summands),
                totals=tuple(sums.totals(older)),
                unserved=sums.missing(sums.best),
            )
        )
    return tuple(found)


class _Summand(NamedTuple):
    number: int
    key: ProblemKey
    occurs: int


class _Sums:
    """Adds times of problems up, each as often as it occurs."""

    def __init__(self, times: NetworkTimes, summands: Sequence[_Summand]) -> None:
        self._from = times
        self._numbers = [summand.number for summand in summands]
        self._keys = [summand.key for summand in summands]
        self._counts = np.array([summand.occurs for summand in summands], dtype=float)
        self.best = self._best_of(times)

    def _best_of(self, times: NetworkTimes) -> np.ndarray:
        """Return the best time of each problem; infinity where nothing serves it."""
        return np.array([times.best(key) for key in self._keys])

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

    def totals(self, older: NetworkTimes | None) -> list[Total]:
        """Return the total of the best kernels, of libraries, of baselines, and of what is compared."""
        if not np.isfinite(self.best).any():
            return []
        found = [self._total("best kernel per layer", self.best), *self._libraries()]
        found += self._baselines(self._from.baselines)
        if older is not None:
            found.append(self._total(f"best kernel per layer of {older.label}", self._best_of(older)))
            lacking = {id_: one for id_, one in older.baselines.items() if id_ not in self._from.baselines}
            found += self._baselines(lacking, f" of {older.label}")
        return found

    def _baselines(self, times: Mapping[str, Mapping[ProblemKey, float]], of: str = "") -> Iterator[Total]:
        for id_, of_problem in times.items():
            found = np.array([of_problem.get(key, np.inf) for key in self._keys])
            if np.isfinite(found).any():
                yield self._total(f"baseline {id_}{of}", found)

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
            for kernel in self._from.kernels[key]:
                column = columns.setdefault(kernel.instance, len(columns))
                if column == len(names):
                    names.append(kernel.name)
                cells.append((place, column, kernel.time_ms))
        times = np.full((len(self._keys), len(names)), np.inf)
        for place, column, time_ms in cells:
            times[place, column] = min(times[place, column], time_ms)
        return names, times
