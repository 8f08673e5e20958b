"""Measured times of kernels on problems, as training and validation need them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median, median_low
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem

#: a kernel and the parts of the reduction it was run with
Choice = tuple[str, int]

#: A time this many times longer or shorter than the median of its problem, and than its kernel's usual place
#: there, is a glitch, unless others on the problem are nearly as long or short.
GLITCH_FACTOR = 4.0
_NEARLY = 0.5
#: One of fewer kernels may well be so much faster than all others.
_MANY = 4


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """A table: problems x kernels -> microseconds.

    Only verified kernels belong here: a wrong kernel may be fast.
    """

    #: where it was read, for people
    sources: tuple[str, ...]
    problems: tuple[Problem, ...]
    kernels: Mapping[str, KernelTraits]
    #: (index of the problem, kernel, splits) -> microseconds
    times: Mapping[tuple[int, str, int], float]
    #: architecture that the source names; empty if it names none
    arch: str = ""
    #: target that ran the kernels where it is not the architecture itself; empty otherwise
    target: str = ""
    #: compute units of the device; ``None`` if the source does not say
    compute_units: int | None = None
    #: rows that were left out, with the reason
    dropped: tuple[str, ...] = ()
    #: problems on which kernels were tried, none of which gave a verified time
    unserved: tuple[Problem, ...] = ()
    #: keys of the times that were predicted from machine code, and not measured
    predicted: frozenset[tuple[int, str, int]] = frozenset()

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """Every kernel with every number of splits that occurs, in a fixed order."""
        order = {name: index for index, name in enumerate(self.kernels)}
        choices = {(name, splits) for _, name, splits in self.times}
        return tuple(sorted(choices, key=lambda choice: (order[choice[0]], choice[1])))

    @cached_property
    def rows(self) -> list[dict[Choice, float]]:
        """Of each problem choice -> microseconds."""
        rows: list[dict[Choice, float]] = [{} for _ in self.problems]
        for (index, name, splits), time in self.times.items():
            rows[index][name, splits] = time
        return rows

    @property
    def digest(self) -> str:
        """Hash over problems, kernels and times: 32 hexadecimal digits."""
        rows = sorted(
            (self.problems[index].describe(), name, splits, time)
            for (index, name, splits), time in self.times.items()
        )
        return hashlib.blake2b(msgspec.json.encode(rows), digest_size=16).hexdigest()

    def without_glitches(self) -> Measurements:
        """Return the table without times that are far from those of all other kernels on the problem.

        A kernel may well be several times slower than others on a problem; it is then as slow on similar
        problems. A glitch is a single value: more than :data:`GLITCH_FACTOR` times what the kernel's usual
        ratio to the median of the problem lets expect, or less than that part of it. What makes a kernel slow
        or fast makes similar kernels so: a time with others nearly as long or short is not a glitch,
        nor is a short one among few.
        """
        centre = [median(row.values()) if row else 1.0 for row in self.rows]
        ratios: dict[Choice, list[float]] = {}
        for (index, name, splits), time in self.times.items():
            ratios.setdefault((name, splits), []).append(time / centre[index])
        usual = {choice: median(values) for choice, values in ratios.items()}
        kept, dropped = {}, list(self.dropped)
        for key, time in self.times.items():
            index, name, splits = key
            others = [other for choice, other in self.rows[index].items() if choice != (name, splits)]
            most = GLITCH_FACTOR * max(1.0, usual[name, splits]) * centre[index]
            least = min(1.0, usual[name, splits]) * centre[index] / GLITCH_FACTOR
            long = time > most and max(others, default=0.0) < _NEARLY * time
            short = len(others) >= _MANY and time < least and _NEARLY * min(others) > time
            if long or short:
                dropped.append(f"{name} on {self.problems[index].describe()}: {time:g} us is a glitch")
            else:
                kept[key] = time
        return replace(
            self, times=kept, dropped=tuple(dropped), unserved=(), predicted=self.predicted & kept.keys()
        )

    def subset(self, indices: tuple[int, ...]) -> Measurements:
        """Return the table of some problems, by their index, in that order."""
        positions = {index: position for position, index in enumerate(indices)}
        keys = {key: (positions[key[0]], key[1], key[2]) for key in self.times if key[0] in positions}
        return replace(
            self,
            problems=tuple(self.problems[index] for index in indices),
            times={new: self.times[key] for key, new in keys.items()},
            unserved=(),
            predicted=frozenset(keys[key] for key in self.predicted if key in keys),
        )


def usual_times(times: Mapping[tuple[int, str, int], Sequence[float]]) -> dict[tuple[int, str, int], float]:
    """Return the median of the times of each kernel on each problem.

    The smallest one would be luckier the more often a kernel was measured. Times of more than
    :data:`GLITCH_FACTOR` times the lower median do not count: of two that differ by so much, the longer one
    was disturbed.
    """
    usual = {}
    for key, values in times.items():
        most = GLITCH_FACTOR * median_low(values)
        usual[key] = median(value for value in values if value <= most)
    return usual


def merged(tables: tuple[Measurements, ...]) -> Measurements:
    """Return one table of several; problems that occur in more than one are one problem.

    Of several times for the same kernel and problem, the usual one stays; a predicted one only where none was
    measured.
    """
    problems: dict[Problem, int] = {}
    times: dict[tuple[int, str, int], list[float]] = {}
    predicted: dict[tuple[int, str, int], list[float]] = {}
    kernels: dict[str, KernelTraits] = {}
    for table in tables:
        kernels.update(table.kernels)
        for key, time in table.times.items():
            index, name, splits = key
            number = problems.setdefault(table.problems[index], len(problems))
            found = predicted if key in table.predicted else times
            found.setdefault((number, name, splits), []).append(time)
    predicted = {key: found for key, found in predicted.items() if key not in times}
    tried = (problem for table in tables for problem in (*table.problems, *table.unserved))
    arches = {table.arch for table in tables if table.arch}
    compute_units = {table.compute_units for table in tables if table.compute_units}
    return Measurements(
        sources=tuple(source for table in tables for source in table.sources),
        problems=tuple(problems),
        kernels=kernels,
        times=usual_times(times | predicted),
        predicted=frozenset(predicted),
        arch=arches.pop() if len(arches) == 1 else "",
        target=tables[0].target if tables else "",
        compute_units=compute_units.pop() if len(compute_units) == 1 else None,
        dropped=tuple(line for table in tables for line in table.dropped),
        unserved=tuple(problem for problem in dict.fromkeys(tried) if problem not in problems),
    )
