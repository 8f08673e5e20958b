"""From the code objects of a build to what each kernel needs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.build.jobs import available_cpus
from ckprof.errors import InputError, UsageError
from ckprof.flow.code_objects import FILE, read_code_objects
from ckprof.model.inspection import InspectedKernel, Inspection
from ckprof.plugin.protocols import InspectableTarget, MatrixPipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ckprof.flow.candidates import Candidate
    from ckprof.flow.code_objects import CodeObjects
    from ckprof.model.device_kernel import DeviceKernel
    from ckprof.model.gemm_work import Estimate
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Target
    from ckprof.plugin.registry import Registry

SCHEMA: Final = "ckprof-inspection"
VERSION: Final = 1


class Report(msgspec.Struct, forbid_unknown_fields=True):
    """An inspection as a file."""

    schema: str
    version: int
    inspection: Inspection


def render_report(inspection: Inspection) -> str:
    """Return the JSON text of an inspection."""
    report = Report(schema=SCHEMA, version=VERSION, inspection=inspection)
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


def read_report(path: Path) -> Inspection:
    """Return the inspection of a file.

    :raises InputError: it cannot be read, or is none.
    """
    try:
        report = msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    except msgspec.DecodeError as exc:
        raise InputError(f"not a report of 'ckprof inspect --format json': {exc}", path) from None
    if (report.schema, report.version) != (SCHEMA, VERSION):
        raise InputError(f"expected schema {SCHEMA} version {VERSION}", path)
    return report.inspection


def load_inspection(path: Path, registry: Registry) -> Inspection:
    """Return the inspection of a build's folder or of a JSON report.

    :raises InputError: it is neither.
    """
    if path.is_dir() or path.name == FILE:
        root = path if path.is_dir() else path.parent
        code = read_code_objects(root)
        return inspect_build(code, registry.targets.find(code.target))
    return read_report(path)


def inspect_build(
    code: CodeObjects,
    target: Target,
    *,
    candidates: Sequence[Candidate] = (),
    problem: Problem | None = None,
    splits: int = 1,
) -> Inspection:
    """Read the code objects of a build.

    :param code: what the build left.
    :param candidates: the instances, for estimates.
    :param problem: what estimates are about.
    :param splits: parts of the reduction, for estimates.
    :raises UsageError: the target does not read machine code.
    :raises InputError: a code object cannot be read.
    """
    if not isinstance(target, InspectableTarget):
        raise UsageError(f"target {target.id} builds no code objects that could be inspected")
    by_path = _read(target, code.arch, {kernel.path for kernel in code.kernels})
    by_key = {candidate.instance.key: candidate for candidate in candidates}
    kernels, unattributed = [], []
    for kernel in code.kernels:
        found = by_path[kernel.path]
        variants = tuple(one for one in found if kernel.marker and kernel.marker in one.symbol)
        if not variants:
            unattributed.append(kernel.name)
            continue
        inspected = InspectedKernel(
            name=kernel.name, key=kernel.key, variants=variants, warnings=kernel.warnings
        )
        candidate = by_key.get(kernel.key)
        if candidate is not None and problem is not None:
            bounds = _estimate(target, candidate, inspected, problem, splits)
            inspected = replace(inspected, estimate=bounds)
        kernels.append(inspected)
    return Inspection(
        target=code.target,
        arch=code.arch,
        api_level=code.api_level,
        compiler=code.compiler,
        kernels=tuple(kernels),
        problem=problem.describe() if problem is not None else "",
        unattributed=tuple(unattributed),
    )


def _read(
    target: InspectableTarget, arch: str, paths: Iterable[Path]
) -> Mapping[Path, Sequence[DeviceKernel]]:
    ordered = sorted(paths)
    with ThreadPoolExecutor(max_workers=available_cpus()) as pool:
        return dict(zip(ordered, pool.map(lambda path: target.inspect(path, arch), ordered), strict=True))


def _estimate(
    target: InspectableTarget,
    candidate: Candidate,
    kernel: InspectedKernel,
    problem: Problem,
    splits: int,
) -> Estimate | None:
    if not isinstance(candidate.pipeline, MatrixPipeline):
        return None
    work = candidate.pipeline.work(candidate.instance, problem, splits)
    return target.estimate(kernel.worst, work) if work is not None else None
