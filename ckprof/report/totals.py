"""What a whole network takes: its layers, each as often as it occurs, with libraries of some sizes.

Reports of stores, tables of runs and ``results show`` have the same sums.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from ckprof.compare.side import ProblemKey
from ckprof.formatting import change
from ckprof.model.ranking import time_of, unranked_ms
from ckprof.report.best_libraries import best_libraries
from ckprof.report.document import Document, Heading
from ckprof.report.figures import number_column
from ckprof.report.table import Column, Table
from ckprof.sweep.evidence import SweptLayer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ckprof.compare.side import Side
    from ckprof.model.results import RunResults

    Line: TypeAlias = "tuple[Network, Total]"


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
    #: layers, or numbers of problems, that are not in the sum
    missing: tuple[str, ...]
    #: no library of that size takes less time
    exact: bool = True


#: a kernel on a problem, with one number of splits: content key of the instance, name, milliseconds
LayerTime: TypeAlias = tuple[str, str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTimes:
    """What sums are made of."""

    #: what was measured, for people
    label: str = ""
    #: every problem in the order of its number, with its verified kernels
    kernels: Mapping[ProblemKey, Sequence[LayerTime]]
    #: id of a baseline -> its time on problems in milliseconds
    baselines: Mapping[str, Mapping[ProblemKey, float]] = field(default_factory=dict)

    @classmethod
    def of_side(cls, side: Side) -> NetworkTimes:
        """Return the times of an input of reports."""
        return cls(
            label=side.label,
            kernels={
                key: [
                    (row.key.instance, row.kernel.name or row.key.instance[:12], row.time_ms)
                    for row in rows
                    if row.ranked
                ]
                for key, rows in side.by_problem.items()
            },
            baselines=side.baselines,
        )


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
    #: layers, or numbers of problems, that no kernel serves
    unserved: tuple[str, ...]


def networks(
    times: NetworkTimes, layers: Mapping[ProblemKey, SweptLayer], older: NetworkTimes | None = None
) -> tuple[Network, ...]:
    """Return the totals of each network, direction, type, layout and device.

    A problem that several networks have is in the sum of each.

    :param layers: what is known of problems; others occur once, in no network.
    :param older: what is compared.
    """
    # what each problem is called, the problem, and how often it occurs
    kinds: dict[tuple[str, ...], list[tuple[str, ProblemKey, int]]] = defaultdict(list)
    for number, key in enumerate(times.kernels, start=1):
        layer = layers.get(key, SweptLayer())
        for name, count in layer.counts.items():
            kind = (name, key.direction, key.dtype, key.layout, key.device)
            kinds[kind].append((layer.name or f"P{number}", key, count))
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
                layers=sum(occurs for _, _, occurs in summands),
                totals=tuple(sums.totals(older)),
                unserved=sums.missing(sums.best),
            )
        )
    return tuple(found)


class _Sums:
    """Adds times of problems up, each as often as it occurs."""

    def __init__(self, times: NetworkTimes, summands: Sequence[tuple[str, ProblemKey, int]]) -> None:
        self._from = times
        self._names, self._keys, occurs = zip(*summands, strict=True)
        self._counts = np.array(occurs, dtype=float)
        self.best = self._best_of(times)

    def _best_of(self, times: NetworkTimes) -> np.ndarray:
        """Return the best time of each problem; infinity where nothing serves it."""
        found = ([time_ms for _, _, time_ms in times.kernels.get(key, ())] for key in self._keys)
        return np.array([min(own, default=np.inf) for own in found])

    def missing(self, times: np.ndarray) -> tuple[str, ...]:
        """Return the problems without a time."""
        return tuple(name for name, time in zip(self._names, times, strict=True) if not np.isfinite(time))

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
        """Return the total of the best kernels, of libraries, of baselines, and of what is compared.

        What has no time on any of the layers has no total.
        """
        if not np.isfinite(self.best).any():
            return []
        found = [self._total("best kernel per layer", self.best), *self._libraries()]
        found += self._baselines(self._from.baselines)
        if older is not None:
            found.append(self._total(f"best kernel per layer of {older.label}", self._best_of(older)))
            lacking = {id_: one for id_, one in older.baselines.items() if id_ not in self._from.baselines}
            found += self._baselines(lacking, f" of {older.label}")
        return [total for total in found if total.layers]

    def _baselines(self, times: Mapping[str, Mapping[ProblemKey, float]], of: str = "") -> Iterator[Total]:
        for id_, of_problem in times.items():
            found = np.array([of_problem.get(key, np.inf) for key in self._keys])
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
            for instance, name, time_ms in self._from.kernels[key]:
                column = columns.setdefault(instance, len(columns))
                if column == len(names):
                    names.append(name)
                cells.append((place, column, time_ms))
        times = np.full((len(self._keys), len(names)), np.inf)
        for place, column, time_ms in cells:
            times[place, column] = min(times[place, column], time_ms)
        return names, times


def total_lines(found: Sequence[Network]) -> list[Line]:
    """Return a line per total."""
    return [(network, total) for network in found for total in network.totals]


def network_labels(found: Sequence[Network]) -> dict[Network, str]:
    """Return what tells networks apart: names, and what else is not the same of all."""
    facets: list[Callable[[Network], str]] = [
        lambda network: network.direction,
        lambda network: network.dtype,
        lambda network: network.layout,
        lambda network: network.device,
    ]
    telling = [facet for facet in facets if len(set(map(facet, found))) > 1]
    named = any(network.name for network in found)

    def label(network: Network) -> str:
        name = network.name or ("other problems" if named else "")
        return " ".join(filter(None, (name, *(facet(network) for facet in telling))))

    return {network: label(network) for network in found}


def total_columns(found: Sequence[Network]) -> list[Column[Line]]:
    """Return the columns of a table of totals."""
    labels = network_labels(found)
    lines = total_lines(found)
    name: list[Column[Line]] = [Column("network", lambda line: labels[line[0]])]
    left_out: list[Column[Line]] = [Column("excluded", lambda line: ", ".join(line[1].missing), priority=3)]
    return [
        *(name if any(labels.values()) else []),
        Column("kernels", lambda line: line[1].library),
        number_column("total ms", lambda line: line[1].time_ms),
        number_column("slower", lambda line: line[1].ratio, slower, _hint),
        Column(
            "layers",
            lambda line: line[1].layers,
            align="right",
            text=lambda line: f"{line[1].layers} of {line[0].layers}",
            priority=4,
        ),
        *(left_out if any(total.missing for _, total in lines) else []),
    ]


def slower(ratio: float) -> str:
    """Return how much slower a total is than that of the best kernels."""
    return change(ratio) if ratio != 1 else "0 %"


def _hint(line: Line) -> str:
    same = "on the layers that both serve" if line[1].missing else ""
    exact = "" if line[1].exact else "chosen one after the other: another choice may be better"
    return "; ".join(filter(None, (same, exact)))


def add_totals(document: Document, found: Sequence[Network]) -> None:
    """Add the totals of networks to what a terminal or a file shows, if there are any."""
    if lines := total_lines(found):
        table: Table[Any] = Table(total_columns(found), lines)
        document.add(Heading("Network" if len(found) == 1 else "Networks"), table)


def networks_of_run(results: RunResults) -> tuple[Network, ...]:
    """Return the totals of a run, where the source of its problems names networks or counts layers."""
    cases = results.cases
    if not any(case.network or case.count > 1 for case in cases):
        return ()
    kernels: dict[ProblemKey, list[LayerTime]] = {}
    layers: dict[ProblemKey, SweptLayer] = {}
    instances = {instance.key: instance for instance in results.instances}

    def key_of(index: int, dtype: str, layout: str) -> ProblemKey:
        return ProblemKey(
            direction=results.direction, problem=results.problems[index], dtype=dtype, layout=layout
        )

    for index, case in enumerate(cases):
        # also of layers that the run did not come to
        taken = [instance for instance in results.instances if case.takes(instance)]
        keys = {key_of(index, instance.dtype.value, instance.layout) for instance in taken}
        for outcome in results.of_problem(index):
            instance = instances[outcome.key]
            time = time_of(outcome)
            if time is not None:
                timed = kernels.setdefault(key_of(index, instance.dtype.value, instance.layout), [])
                timed.append((outcome.key, instance.name, time.time_ms))
        for key in keys:
            kernels.setdefault(key, [])
            counts = layers[key].counts if key in layers else {}
            counts = {**counts, case.network: counts.get(case.network, 0) + case.count}
            layers[key] = SweptLayer(name=case.name or f"problem {index}", counts=counts)
    baselines: dict[str, dict[ProblemKey, float]] = {}
    for one in results.baselines:
        time_ms = unranked_ms(one.outcome)
        if time_ms is not None:
            key = key_of(one.outcome.problem_index, one.dtype.value, one.layout)
            baselines.setdefault(one.baseline, {})[key] = time_ms
    return networks(NetworkTimes(kernels=kernels, baselines=baselines), layers)
