"""Predicted times held against measured ones: one factor for the device, and one for each kernel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from ckprof.plugin.timing import NamedFields
from ckprof_plugins.tuning.measured_tables import read_tables
from ckprof_plugins.tuning.timed_kernels import KernelKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.prediction import PredictedTime
    from ckprof.model.problem import Problem
    from ckprof.plugin.registry import Registry

#: a kernel's factor is the mean of the logarithms of its errors and of so many zeros
_ZEROS: Final = 4
#: problems that are predicted to learn factors: more help little
_MOST_PROBLEMS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Factors of predicted times."""

    #: measured / predicted time, median over problems of the median over kernels; 1 if nothing was measured
    device: float = 1.0
    #: content key -> how much longer a kernel takes than others that are predicted alike
    kernels: Mapping[str, float] = field(default_factory=dict)
    #: pairs of times that it comes from
    pairs: int = 0

    def applied(self, key: str, time: PredictedTime) -> PredictedTime:
        """Return a kernel's predicted time as measured ones correct it."""
        factor = self.device * self.kernels.get(key, 1.0)
        return replace(
            time,
            time_us=time.time_us * factor,
            extrapolation_us=time.extrapolation_us * factor,
            roof_share=time.roof_share / factor,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTimes:
    """Measured times of kernels that can be predicted as well."""

    #: (problem, content key, splits) -> microseconds
    times: Mapping[tuple[Problem, str, int], float]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems, each once; not all of many."""
        found = tuple(dict.fromkeys(problem for problem, _, _ in self.times))
        step = -(-len(found) // _MOST_PROBLEMS)
        return found[:: max(1, step)]

    def calibration(self, predicted: Mapping[tuple[Problem, str, int], float]) -> Calibration:
        """Return the factors that predicted times of the same kernels and problems need.

        :param predicted: as :attr:`times`.
        """
        errors: dict[Problem, dict[tuple[str, int], float]] = {}
        for (problem, key, splits), time_us in self.times.items():
            guess = predicted.get((problem, key, splits))
            if guess is not None:
                errors.setdefault(problem, {})[key, splits] = log(time_us / guess)
        if not errors:
            return Calibration()
        middles = {problem: median(of.values()) for problem, of in errors.items()}
        by_kernel: dict[str, list[float]] = {}
        for problem, of in errors.items():
            for (key, _), error in of.items():
                by_kernel.setdefault(key, []).append(error - middles[problem])
        return Calibration(
            device=exp(median(middles.values())),
            kernels={key: exp(sum(found) / (len(found) + _ZEROS)) for key, found in by_kernel.items()},
            pairs=sum(map(len, errors.values())),
        )


def named_alike(
    registry: Registry, names: Iterable[str], kernels: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, str]:
    """Return name of measured times -> the kernel that is meant: one of that name, or the only one that fits.

    :param kernels: name -> fields of the instance.
    """
    naming = [pipeline for pipeline in registry.pipelines if isinstance(pipeline, NamedFields)]
    found: dict[str, str] = {}
    for name in names:
        if name in kernels:
            found[name] = name
            continue
        said = next(filter(None, (pipeline.fields_of_name(name) for pipeline in naming)), None)
        same = [kernel for kernel, fields in kernels.items() if said and said.items() <= fields.items()]
        if len(same) == 1:
            (found[name],) = same
    return found


def read_measured(registry: Registry, paths: Sequence[Path], kernels: Sequence[Candidate]) -> MeasuredTimes:
    """Return the times of some files that are those of given kernels.

    Kernels of stores are known by their names, those of tables by what their names say.

    :raises InputError: a file is wrong, or they are of several devices.
    """
    if not paths:
        return MeasuredTimes(times={})
    first = kernels[0].instance
    kind = KernelKind(direction=first.direction, dtype=first.dtype.value)
    table = read_tables(registry, tuple(paths), kind)
    by_name = {kernel.name: kernel.instance for kernel in kernels}
    fields = {name: instance.fields() for name, instance in by_name.items()}
    alike = named_alike(registry, table.kernels, fields)
    keys = {name: by_name[kernel].key for name, kernel in alike.items()}
    return MeasuredTimes(
        times={
            (table.problems[index], keys[name], splits): time_us
            for (index, name, splits), time_us in table.times.items()
            if name in keys
        }
    )
