"""Predicted times as files: what ``ckprof predict --format json`` writes, and ``ckprof train`` learns from.

Nothing else reads them: a predicted time is no measured one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError
from ckprof.model.problem_types import problem_from
from ckprof.plugin.timing import TimedPipeline
from ckprof.versioned_json import read_versioned
from ckprof_plugins.tuning.model_use import executed_traits
from ckprof_plugins.tuning.time_model.measurements import Measurements, merged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.tuning.model_use import KernelKind

SCHEMA: Final = "ckprof-prediction"
VERSION: Final = 1


class _Instance(msgspec.Struct):
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


class _Calibration(msgspec.Struct):
    measured_times: int


class _Document(msgspec.Struct):
    """The part of the file that is needed here."""

    schema: str
    version: int
    direction: str
    dtypes: list[str]
    arch: str
    compute_units: int
    calibration: _Calibration
    instances: list[_Instance]
    problems: list[_Problem]


@dataclass(frozen=True, kw_only=True)
class PredictedTimes:
    """Predicted times as a table, and the fields of its kernels."""

    #: every time is predicted
    table: Measurements
    #: name of a kernel -> fields of its instance
    fields: Mapping[str, Mapping[str, Any]]


def read_predicted(registry: Registry, paths: tuple[Path, ...], kind: KernelKind) -> PredictedTimes:
    """Return what some files say of kernels of one kind.

    :raises InputError: a file is wrong or says nothing of such kernels, or they are of several devices.
    """
    fields: dict[str, Mapping[str, Any]] = {}
    tables = []
    for path in paths:
        document = _read(path)
        if document.direction != kind.direction or kind.dtype not in document.dtypes:
            of = f"{document.direction} {', '.join(document.dtypes)}"
            raise InputError(f"these times are of {of}, not of {kind.direction} {kind.dtype}", path)
        tables.append(_table(registry, document, kind, path))
        fields |= {instance.name: instance.fields for instance in document.instances}
    devices = {(table.arch, table.units) for table in tables}
    if len(devices) > 1:
        names = ", ".join(sorted(f"{arch} with {units} compute units" for arch, units in devices))
        raise InputError(f"the predicted times are of several devices: {names}", paths[0])
    table = merged(tuple(tables))
    return PredictedTimes(table=table, fields=fields)


def _read(path: Path) -> _Document:
    document = read_versioned(
        path, _Document, SCHEMA, VERSION, made_by="predicted times of 'ckprof predict --format json'"
    )
    if document.calibration.measured_times:
        raise InputError(
            "measured times have corrected these already, which would count twice: predict without "
            "--measured, and give the measured times to 'ckprof train'",
            path,
        )
    return document


def _table(registry: Registry, document: _Document, kind: KernelKind, path: Path) -> Measurements:
    instances = {instance.key: instance for instance in document.instances}
    kernels: dict[str, KernelTraits] = {}
    dropped: dict[str, None] = {}
    for instance in document.instances:
        pipeline = registry.pipelines.find(instance.pipeline)
        if isinstance(pipeline, TimedPipeline):
            traits = pipeline.traits(instance.fields)
            kernels[instance.name] = executed_traits(registry, kind, instance.fields, traits)
        else:
            dropped[f"{instance.name}: the family {instance.pipeline} has no time model"] = None
    problems: dict[Problem, int] = {}
    times: dict[tuple[int, str, int], float] = {}
    for entry in document.problems:
        for kernel in entry.kernels:
            known = instances.get(kernel.key)
            if known is None:
                raise InputError(f"it says nothing about kernel {kernel.key}", path)
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
        units=document.compute_units,
        dropped=tuple(dropped),
        predicted=frozenset(times),
    )
