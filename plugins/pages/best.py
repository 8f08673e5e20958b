"""The best kernel of each problem, its runner-up, and how sure their order is."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.compare.side import MeasuredRow, ProblemKey
from ckprof.model.ranking import Field
from ckprof.model.roof import Roof, RoofKind
from ckprof.model.types import DataType
from ckprof.report.unserved import served_text
from ckprof.sweep.evidence import kept_roofs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.compare.side import Side
    from ckprof.model.ranking import Interval, Standing
    from ckprof.store.key import DeviceKey
    from ckprof.sweep.evidence import SweptLayer
    from ckprof_plugins.pages.options import ReportOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class BestRow:
    """The best of one problem."""

    key: ProblemKey
    #: from 1, in the order of the report
    number: int
    best: MeasuredRow
    runner_up: MeasuredRow | None
    standing: Standing
    #: estimate of runner-up time / best time; ``None`` for a kernel without rivals
    change: Interval | None
    #: rows with a verified time
    ranked: int
    rows: int
    #: of the device and the element type
    roofs: tuple[Roof, ...] = ()
    #: what the source of the problem says of it; ``None`` if nothing
    layer: SweptLayer | None = None

    @property
    def lead_ratio(self) -> float | None:
        """Runner-up time / best time."""
        return self.runner_up.time_ms / self.best.time_ms if self.runner_up else None

    @property
    def traffic_bytes(self) -> int | None:
        """Bytes of all tensors, where the input says the type."""
        return self.key.problem.traffic_bytes(DataType(self.key.dtype)) if self.key.dtype else None

    @property
    def gflops(self) -> float:
        """FLOP / time / 1e9."""
        return self.key.problem.flop / self.best.time_ms / 1e6

    @property
    def gbytes_per_s(self) -> float | None:
        """Bytes of all tensors / time / 1e9."""
        moved = self.traffic_bytes
        return moved / self.best.time_ms / 1e6 if moved else None

    @property
    def intensity(self) -> float | None:
        """Floating-point operations per byte moved."""
        moved = self.traffic_bytes
        return self.key.problem.flop / moved if moved else None

    @property
    def of_roof(self) -> float | None:
        """Return the share of the lowest roof that is known; ``None`` without one."""
        intensity = self.intensity
        if intensity is None or not self.roofs:
            return None
        return self.gflops / min(roof.at(intensity) for roof in self.roofs)


def best_rows(
    side: Side, options: ReportOptions, layers: Mapping[ProblemKey, SweptLayer] | None = None
) -> list[BestRow]:
    """Return the problems with a verified kernel, in the order of the input.

    :param layers: what is known of problems.
    """
    best = []
    roofs = Roofs(side, options.roofs)
    for number, (key, rows) in enumerate(side.by_problem.items(), start=1):
        ranked = [(row, row.time) for row in rows if row.time is not None]
        if not ranked:
            continue
        field = Field([time for _, time in ranked])
        best.append(
            BestRow(
                key=key,
                number=number,
                best=ranked[0][0],
                runner_up=ranked[1][0] if len(ranked) > 1 else None,
                standing=field.standing(options.tie),
                change=field.leads()[1] if len(ranked) > 1 else None,
                ranked=len(ranked),
                rows=len(rows),
                roofs=roofs.of(ranked[0][0]),
                layer=(layers or {}).get(key),
            )
        )
    return best


class Roofs:
    """The roofs of a report.

    :param side: whose sessions have kept roofs.
    :param given: by hand; each replaces the kept ones of its kind.
    """

    def __init__(self, side: Side, given: Sequence[Roof]) -> None:
        self._side = side
        self._given = tuple(given)
        self._of_key: dict[tuple[DeviceKey, str], tuple[Roof, ...]] = {}

    def of(self, row: MeasuredRow) -> tuple[Roof, ...]:
        """Return the roofs of the device and the element type of a row, at most one of each kind."""
        key = row.measurement.device, row.key.problem.dtype
        if key not in self._of_key:
            self._of_key[key] = self._find(*key)
        return self._of_key[key]

    def _find(self, device: DeviceKey, dtype: str) -> tuple[Roof, ...]:
        kept = [roof for session in self._side.sessions for roof in kept_roofs(session, device)]
        fitting = [roof for roof in kept if roof.dtype is None or roof.dtype.value == dtype]
        chosen: list[Roof] = []
        for kind in RoofKind:
            given = [roof for roof in self._given if roof.kind is kind]
            chosen += given or _highest([roof for roof in fitting if roof.kind is kind], dtype)
        return tuple(chosen)


def _highest(roofs: Sequence[Roof], dtype: str) -> Iterable[Roof]:
    """Return the highest of what several sessions saw: a roof is what the device reaches undisturbed."""
    if roofs:
        yield Roof(
            kind=roofs[0].kind,
            gflops=max(roof.gflops for roof in roofs),
            gbytes_per_s=max(roof.gbytes_per_s for roof in roofs),
            dtype=DataType(dtype) if dtype else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverStep:
    """One more kernel in the library."""

    #: content key of the instance
    instance: str
    name: str
    #: problems for which some kernel of the library is good enough now
    covered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The library for one tolerance."""

    #: a kernel is good enough within this share of the best
    tolerance: float
    #: those that no kernel serves included
    problems: int
    #: problems with a verified kernel
    served: int
    steps: tuple[CoverStep, ...]

    @property
    def text(self) -> str:
        """How many kernels serve how many problems."""
        return served_text(len(self.steps), self.served, self.problems)


def coverage(side: Side, tolerance: float) -> Coverage:
    """Choose kernels until every problem that can be served has one that is good enough.

    Each step takes the kernel that serves most of the remaining problems; among equal ones, the one that is
    closer to the best on them. The greedy choice needs at most ln(problems) + 1 times the smallest number.
    """
    served, names = _served(side, tolerance)
    problems = {problem for group in served.values() for problem in group}
    remaining = set(problems)
    steps: list[CoverStep] = []
    while remaining:
        instance = min(served, key=lambda key: _merit(served[key], remaining, key))
        remaining -= served.pop(instance).keys()
        steps.append(
            CoverStep(instance=instance, name=names[instance], covered=len(problems) - len(remaining))
        )
    return Coverage(
        tolerance=tolerance, problems=len(side.by_problem), served=len(problems), steps=tuple(steps)
    )


def _merit(group: Mapping[ProblemKey, float], remaining: set[ProblemKey], key: str) -> tuple[int, float, str]:
    ratios = [ratio for problem, ratio in group.items() if problem in remaining]
    return -len(ratios), sum(ratios), key


def _served(side: Side, tolerance: float) -> tuple[dict[str, dict[ProblemKey, float]], dict[str, str]]:
    """Return instance -> problem -> time / best time, where good enough with any split; and the names."""
    served: dict[str, dict[ProblemKey, float]] = defaultdict(dict)
    names: dict[str, str] = {}
    for problem, rows in side.by_problem.items():
        best = side.best(problem)
        if best is None:
            continue
        for row in rows:
            ratio = row.time_ms / best.time_ms
            if row.ranked and ratio <= 1 + tolerance:
                group = served[row.key.instance]
                group[problem] = min(ratio, group.get(problem, ratio))
                names.setdefault(row.key.instance, row.kernel.name or row.key.instance[:12])
    return served, names
