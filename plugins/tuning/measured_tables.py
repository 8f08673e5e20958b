"""Measured times from files: tables as CSV, and stores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from ckprof.errors import InputError
from ckprof.model.outcome import Status
from ckprof.plugin.timing import NamedFields, NamedKernels, TimedPipeline
from ckprof_plugins.tuning.time_model.csv_tables import read_csv
from ckprof_plugins.tuning.time_model.measurements import Measurements, merged, usual_times
from ckprof_plugins.tuning.timed_kernels import KernelKind, device_of, executed_traits, runs_elsewhere

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.plugin.registry import Registry
    from ckprof.store.query import MeasurementSummary

#: how the file of every SQLite database begins
_SQLITE: Final = b"SQLite format 3\0"


def read_tables(registry: Registry, paths: tuple[Path, ...], kind: KernelKind) -> Measurements:
    """Return the measured times of some files as one table.

    :param kind: direction and type whose measurements are taken from stores; what ran the kernels of tables.
    :raises InputError: a file is wrong, or they are of several devices.
    """
    operations = [registry.operation(kind.direction)] if kind.direction else registry.operations.registered
    problem_types = tuple(dict.fromkeys(of for operation in operations for of in operation.problem_types))
    naming = [pipeline for pipeline in registry.pipelines if isinstance(pipeline, NamedKernels)]

    def describe(name: str) -> KernelTraits | None:
        for pipeline in naming:
            traits = pipeline.traits_of_name(name)
            if traits is not None:
                fields = pipeline.fields_of_name(name) if isinstance(pipeline, NamedFields) else None
                return executed_traits(registry, kind, fields or {}, traits)
        return None

    tables = tuple(
        _of_store(registry, path, kind)
        if _is_store(path)
        else replace(read_csv(path, describe, problem_types), target=kind.target)
        for path in paths
    )
    for what, values in (
        ("devices", {table.arch for table in tables if table.arch}),
        ("targets", {table.target for table in tables}),
    ):
        if len(values) > 1:
            names = ", ".join(sorted(value or "the architecture itself" for value in values))
            raise InputError(f"the files are of several {what}: {names}", paths[0])
    return merged(tables)


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False  # the reader of tables says why


class _Device(NamedTuple):
    """What the measurements of one model must agree in."""

    target: str
    model: str
    arch: str
    compute_units: int
    emulated: bool


def _only_device(devices: set[_Device], path: Path) -> _Device:
    """Return the one device.

    :raises InputError: there are several.
    """
    if len(devices) > 1:
        names = ", ".join(
            sorted(f"{device.target} {device.model} {device.arch}".strip() for device in devices)
        )
        raise InputError(f"it holds times of several devices, which no model can be of: {names}", path)
    (device,) = devices
    return device


def _of_store(registry: Registry, path: Path, kind: KernelKind) -> Measurements:
    """Return what a store holds: verified measurements alone.

    :raises InputError: it holds none, or those of several devices.
    """
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

    problems: dict[Problem, int] = {}
    times: dict[tuple[int, str, int], list[float]] = {}
    kernels: dict[str, KernelTraits] = {}
    devices: set[_Device] = set()
    dropped: dict[str, None] = {}
    tried: dict[Problem, None] = {}
    with Store(path) as store:
        for row in store.measurements(StoreQuery(direction=kind.direction or None, dtype=kind.dtype or None)):
            tried[row.key.problem] = None
            reason = _reason_to_drop(registry, row)
            if reason:
                dropped[reason] = None
            if reason or row.median_ms is None:
                continue
            name = row.kernel.name
            device = row.key.device
            pipeline = registry.pipelines.find(row.kernel.pipeline)
            if name not in kernels and isinstance(pipeline, TimedPipeline):
                kernels[name] = executed_traits(
                    registry,
                    replace(kind, target=device.target),
                    row.kernel.fields,
                    pipeline.traits(row.kernel.fields),
                )
            devices.add(
                _Device(device.target, device.model, device.arch, device.compute_units, device.is_emulated)
            )
            index = problems.setdefault(row.key.problem, len(problems))
            key = index, name, max(1, row.key.split_k)
            times.setdefault(key, []).append(1000 * row.median_ms)
    if not times:
        raise InputError(f"it holds no verified time of {kind.direction} {kind.dtype}".rstrip(), path)
    target, model, arch, units, emulated = _only_device(devices, path)
    return Measurements(
        sources=(path.name,),
        problems=tuple(problems),
        kernels=kernels,
        times=usual_times(times),
        arch=device_of(registry, target, model, arch, emulated=emulated),
        target=target if runs_elsewhere(registry, target, emulated=emulated) else "",
        units=units or None,
        dropped=tuple(dropped),
        unserved=tuple(problem for problem in tried if problem not in problems),
    )


def _reason_to_drop(registry: Registry, row: MeasurementSummary) -> str:
    """Return why a measurement says nothing about times; empty if it does."""
    name = row.kernel.name
    if row.median_ms is None:
        return "" if row.status is Status.UNSUPPORTED else f"{name}: {row.status.value}, {row.reason}"
    if row.key.split_k < 1:
        return f"{name}: the number of splits was left to the kernel"
    if row.kernel.pipeline not in registry.pipelines.ids or not row.kernel.fields:
        return f"{name}: nothing is known about its configuration"
    if not isinstance(registry.pipelines.find(row.kernel.pipeline), TimedPipeline):
        return f"{name}: the family {row.kernel.pipeline} has no time model"
    return ""
