"""Predicted times as files: what ``ckprof predict --format json`` writes, and ``ckprof train`` learns from.

Nothing else reads them: a predicted time is not a measured one. In a table to learn from, predicted times
stand where nothing was measured.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError
from ckprof.files import content_of, decoded
from ckprof.model.problem_types import problem_from
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline
from ckprof_plugins.tuning.model_use import executed_traits
from ckprof_plugins.tuning.prediction import calibration_of, named_alike
from ckprof_plugins.tuning.time_model.measurements import Measurements, merged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.tuning.model_use import KernelKind
    from ckprof_plugins.tuning.prediction import Times

SCHEMA: Final = "ckprof-prediction"
VERSION: Final = 1


class _PredictedInstance(msgspec.Struct):
    """A kernel that was predicted."""

    key: str
    name: str
    pipeline: str
    fields: dict[str, Any]


class _Kernel(msgspec.Struct):
    """A kernel on a problem."""

    key: str
    split_k: int
    predicted_us: float | None = None


class _Problem(msgspec.Struct):
    sizes: dict[str, Any]
    kernels: list[_Kernel]


class _Document(msgspec.Struct):
    """The part of the file that is needed here."""

    schema: str
    version: int
    direction: str
    dtypes: list[str]
    arch: str
    compute_units: int
    calibration: dict[str, Any]
    instances: list[_PredictedInstance]
    problems: list[_Problem]


def read_predicted(
    registry: Registry, paths: tuple[Path, ...], kind: KernelKind
) -> tuple[Measurements, dict[str, Mapping[str, Any]]]:
    """Return what some files say of kernels of one kind.

    :returns: a table of times, all of them predicted, and kernel -> fields of its instance.
    :raises InputError: a file is wrong or has no such kernels, or they are of several devices.
    """
    fields: dict[str, Mapping[str, Any]] = {}
    tables = []
    for path in paths:
        what = "predicted times of 'ckprof predict --format json'"
        document = decoded(content_of(path), path, _Document, what, SCHEMA, VERSION)
        if document.calibration.get("measured_times"):
            raise InputError(
                "measured times have corrected these already, which would count twice: predict without "
                "--measured, and give the measured times to 'ckprof train'",
                path,
            )
        if document.direction != kind.direction or kind.dtype not in document.dtypes:
            of = f"{document.direction} {', '.join(document.dtypes)}"
            raise InputError(f"these times are of {of}, not of {kind.direction} {kind.dtype}", path)
        tables.append(_table(registry, document, kind, path))
        fields |= {instance.name: instance.fields for instance in document.instances}
    devices = {(table.arch, table.compute_units) for table in tables}
    if len(devices) > 1:
        names = ", ".join(
            sorted(f"{arch} with {compute_units} compute units" for arch, compute_units in devices)
        )
        raise InputError(f"the predicted times are of several devices: {names}", paths[0])
    return merged(tuple(tables)), fields


def _table(registry: Registry, document: _Document, kind: KernelKind, path: Path) -> Measurements:
    instances = {instance.key: instance for instance in document.instances}
    kernels: dict[str, KernelTraits] = {}
    dropped: dict[str, None] = {}
    for instance in document.instances:
        pipeline = registry.pipelines.find(instance.pipeline)
        if offers(pipeline, Pipeline.traits):
            kernels[instance.name] = executed_traits(registry, kind, pipeline, instance.fields)
        else:
            dropped[f"{instance.name}: the family {instance.pipeline} has no time model"] = None
    problems: dict[Problem, int] = {}
    times: dict[tuple[int, str, int], float] = {}
    for entry in document.problems:
        for kernel in entry.kernels:
            known = instances.get(kernel.key)
            if known is None:
                raise InputError(f"it does not describe kernel {kernel.key}", path)
            if kernel.predicted_us is None or known.name not in kernels:
                continue
            if kernel.split_k < 1:
                dropped[f"{known.name}: the number of splits was left to the kernel"] = None
                continue
            problem = problem_from(entry.sizes)
            index = problems.setdefault(problem, len(problems))
            times[index, known.name, kernel.split_k] = kernel.predicted_us
    if not times:
        raise InputError("it has no predicted time of a kernel that a time model can be of", path)
    return Measurements(
        sources=(path.name,),
        problems=tuple(problems),
        kernels={name: traits for name, traits in kernels.items() if any(key[1] == name for key in times)},
        times=times,
        arch=document.arch.partition(":")[0],
        compute_units=document.compute_units,
        dropped=tuple(dropped),
        predicted=frozenset(times),
    )


#: half the logarithmic width of the interval around predicted times that holds 95 % of measured ones, on the
#: published tables
USUAL_HALF: Final = 0.55
#: pairs of measured and predicted times that are enough to estimate it
_LEAST_PAIRS: Final = 60
_LEAST_PROBLEMS: Final = 4
_COVERED: Final = 0.95


def with_predicted(
    registry: Registry,
    measured: Measurements | None,
    predicted: Measurements,
    fields: Mapping[str, Mapping[str, Any]],
    path: Path,
) -> tuple[Measurements, float]:
    """Return a table of both, the predicted times corrected by the measured ones.

    :param measured: ``None`` if nothing was measured.
    :param fields: predicted kernel -> fields of its instance.
    :param path: of the predicted times, for messages.
    :returns: the table, and how far measured times are from predicted ones, see
        :attr:`ckprof_plugins.tuning.time_model.model.TimeModel.predicted_half`.
    :raises InputError: the times are of different devices.
    """
    known = _by_problem(predicted)
    if measured is None:
        return predicted, USUAL_HALF
    here, there = measured.target or measured.arch, predicted.arch
    if measured.target or (measured.arch and measured.arch != there):
        raise InputError(f"these times are predicted for {there}, the others are measured on {here}", path)
    alike = {name: name for name in measured.kernels} | {**named_alike(registry, measured.kernels, fields)}
    # under the names that the predicted ones have
    named = replace(
        measured,
        kernels={
            alike[name]: predicted.kernels.get(alike[name], traits)
            for name, traits in measured.kernels.items()
        },
        times={
            (index, alike[name], splits): time_us for (index, name, splits), time_us in measured.times.items()
        },
    )
    times = _by_problem(named)
    calibration = calibration_of(times, known)
    corrected = {key: time_us * calibration.factor(key[1]) for key, time_us in predicted.times.items()}
    return merged((named, replace(predicted, times=corrected))), _half(times, known)


def _by_problem(table: Measurements) -> Times:
    return {
        (table.problems[index], name, splits): time_us
        for (index, name, splits), time_us in table.times.items()
    }


def _half(measured: Times, predicted: Times) -> float:
    """Return how far measured times are from predicted ones that the other problems' times have corrected."""
    both = {key: time_us for key, time_us in measured.items() if key in predicted}
    problems = {problem for problem, _, _ in both}
    if len(both) < _LEAST_PAIRS or len(problems) < _LEAST_PROBLEMS:
        return USUAL_HALF
    errors: list[float] = []
    for left_out in problems:
        others = {key: time_us for key, time_us in both.items() if key[0] != left_out}
        factors = calibration_of(others, predicted)
        left = {key: time_us for key, time_us in both.items() if key[0] == left_out}
        errors += [
            abs(log(time_us / (predicted[key] * factors.factor(key[1])))) for key, time_us in left.items()
        ]
    return sorted(errors)[min(len(errors) - 1, ceil(_COVERED * (len(errors) + 1)) - 1)]
