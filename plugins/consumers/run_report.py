"""The JSON report of ``ckprof run`` as attempts."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, input_errors, system_errors
from ckprof.measure.verify.operands import InitKind
from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, Outcome
from ckprof.model.problem import Problem
from ckprof.model.problem_case import AUTO
from ckprof.model.problem_types import problem_from
from ckprof.plugin.protocols import StoreFormat
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.store.attempt import Attempt, Session
from ckprof.store.errors import NewerStoreError
from ckprof.store.key import DeviceKey, KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import SharedKey

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = "ckprof.run"
#: the version of the report that is read
VERSION: Final = 1


_NO_REPORT: Final = "is not a report of 'ckprof run'"


class _Report(msgspec.Struct, frozen=True):
    schema: str
    version: int
    direction: str
    target: str
    arch: str
    environment: dict[str, Any]
    instances: tuple[KernelRef, ...]
    #: sizes of each problem, with its outcomes among them
    problems: tuple[dict[str, Any], ...]


def read(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield one attempt per outcome.

    :raises InputError: the file is no such report, or is damaged.
    """
    with system_errors(InputError, "cannot be read", path):
        data = path.read_bytes()
    with input_errors((msgspec.MsgspecError, UnicodeDecodeError), _NO_REPORT, path):
        report = msgspec.json.decode(data, type=_Report)
        outcomes = [_outcomes(problem, index) for index, problem in enumerate(report.problems)]
    if report.schema != SCHEMA:
        raise InputError(f"has the schema {report.schema!r}, expected {SCHEMA!r}", path)
    if report.version > VERSION:
        raise NewerStoreError(
            f"has version {report.version}, this ckprof reads {VERSION}; update ckprof", path
        )
    shared = _shared(report)
    session = Session.of_file(path, data, "report", hints.tags, _started(report.environment))
    instances = {instance.key: instance for instance in report.instances}
    sequence = 0
    for sizes, of_problem in zip(report.problems, outcomes, strict=True):
        with input_errors(InputError, _NO_REPORT, path):
            problem = problem_from(sizes)
        for order, (outcome, unmet) in enumerate(of_problem):
            instance = instances.get(outcome.key)
            if instance is None:
                raise InputError(f"names an instance that it does not list: {outcome.key}", path)
            attempt = _attempt(outcome, instance, problem, shared, (session, sequence, order))
            yield replace(attempt, requirements=unmet)
            sequence += 1


_RECORDS: Final = tuple[dict[str, Any], ...]


def _outcomes(problem: Mapping[str, Any], index: int) -> list[tuple[Outcome, tuple[str, ...]]]:
    """Return the outcomes on a problem, each with the ids of the requirements that are not met."""
    outcomes = []
    for found in msgspec.convert(problem.get("outcomes", ()), _RECORDS):
        unmet = msgspec.convert(found.get("requirements") or found.get("refusals") or (), _RECORDS)
        conditions = dict.fromkeys(str(requirement.get("condition", "")) for requirement in unmet)
        outcomes.append((msgspec.convert({**found, "problem_index": index}, Outcome), tuple(conditions)))
    return outcomes


def _attempt(
    outcome: Outcome,
    instance: KernelRef,
    problem: Problem,
    shared: SharedKey,
    position: tuple[Session, int, int],
) -> Attempt:
    session, sequence, order = position
    return Attempt(
        key=MeasurementKey(
            operation=shared.operation,
            problem=problem,
            split_k=AUTO if outcome.split_k_deduced else outcome.split_k,
            kernel=KernelKey(instance=outcome.key),
            device=shared.device,
            toolchain=shared.toolchain,
            method=shared.method,
        ),
        session=session,
        sequence=sequence,
        kernel=instance,
        status=outcome.status,
        reason=outcome.reason,
        split_chosen=outcome.split_k if outcome.split_k >= 1 else None,
        measurement=outcome.measurement,
        verification=outcome.verification,
        conditions=Conditions(started=session.started, round=1, order=order),
    )


def _shared(report: _Report) -> SharedKey:
    seen = report.environment
    compiler: Mapping[str, Any] = seen.get("compiler") or {}
    options: Mapping[str, Any] = seen.get("options") or {}
    host: Mapping[str, Any] = seen.get("host") or {}
    init, seed = str(options.get("init", "")), options.get("seed", 0)
    if not isinstance(seed, int) or init == InitKind.ZEROS.value:
        seed = 0
    return SharedKey(
        operation=OperationKey(direction=report.direction, api_level=str(seen.get("api_level", ""))),
        device=DeviceKey(
            target=report.target,
            model=str(seen.get("device") or host.get("processor") or ""),
            arch=report.arch,
        ),
        toolchain=ToolchainKey(
            compiler=str(compiler.get("description", "")),
            compiler_identity=str(compiler.get("identity", "")),
            flags=tuple(map(str, seen.get("flags") or ())),
        ),
        method=MethodKey(cache=str(options.get("cache", "")), init=init, seed=seed),
    )


def _started(environment: Mapping[str, Any]) -> float | None:
    try:
        return datetime.datetime.fromisoformat(str(environment["started"])).timestamp()
    except (KeyError, ValueError):
        return None


FORMAT = StoreFormat(
    id="json",
    label="reports of ckprof run --json",
    suffixes=(".json",),
    read=read,
    recognises=lambda head: b'"ckprof.run"' in head[:200],
)
