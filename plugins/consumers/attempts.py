"""Times in files of programs that use tuned results, as measurements with their origin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import PluginError, UsageError
from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, Measurement, Status, Verification
from ckprof.plugin.members import offers
from ckprof.store.attempt import Attempt
from ckprof.store.key import KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof_plugins.consumers.audit import required_consumer
from ckprof_plugins.consumers.protocols import CONSUMERS, Consumer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType
    from ckprof.plugin.protocols.formats import ImportHints
    from ckprof.plugin.registry import Registry
    from ckprof.store.attempt import Session
    from ckprof.store.key import DeviceKey


#: what the verification of attempts says that were taken on trust
TRUSTED: Final = "none here: taken on trust from"
#: beginning of the kernel keys of measurements that were imported, of which the name alone is known
IMPORTED: Final = "name:"


def imported_attempt(
    session: Session,
    sequence: int,
    device: DeviceKey,
    direction: str,
    problem: Problem,
    kernel: str,
    *,
    dtype: DataType | None,
    spelled_type: str,
    layout: str,
    time_ms: float,
    split_k: int = 1,
    workspace_bytes: int | None = None,
    wrong: str = "",
) -> Attempt:
    """Return a measurement of a kernel of which the name alone is known.

    :param spelled_type: what tells kernels of one name apart.
    :param wrong: why the result was wrong; empty where nothing says so.
    """
    measurement = Measurement(
        median_ms=time_ms, spread_ms=0.0, min_ms=time_ms, mean_ms=time_ms, samples=1, stopped_by=""
    )
    return Attempt(
        key=MeasurementKey(
            operation=OperationKey(direction=direction),
            problem=problem,
            split_k=split_k,
            kernel=KernelKey(instance=f"{IMPORTED}{kernel} {spelled_type}"),
            device=device,
            toolchain=ToolchainKey(),
            method=MethodKey(clock="", version=0, cache=""),
        ),
        session=session,
        sequence=sequence,
        kernel=KernelRef(name=kernel, dtype=dtype, layout=layout),
        status=Status.WRONG_RESULT if wrong else Status.OK,
        reason=wrong,
        workspace_bytes=workspace_bytes,
        measurement=None if wrong else measurement,
        conditions=Conditions(started=session.started, order=sequence),
    )


def attempts_of(
    registry: Registry, path: Path, hints: ImportHints, *, consumer: str = "", trust: bool = False
) -> Iterator[Attempt]:
    """Yield the measurements of a file, each with its origin.

    :param consumer: id of the program that owns the file; empty: the one that recognises it.
    :param trust: take results for verified, which nothing in the file proves.
    :raises InputError: the file cannot be read, or is of no known program.
    :raises UsageError: the program's files have no times, or do not say what must be known.
    """
    owner = required_consumer(registry, path, consumer)
    if not offers(owner, Consumer.measurements):
        readers = ", ".join(
            one.id for one in registry.entries(CONSUMERS) if offers(one, Consumer.measurements)
        )
        raise UsageError(f"{path}: files of {owner.id} hold no times of kernels; those of {readers} do")
    trusted = Verification(
        max_error=0.0, wrong_elements=0, elements=0, rtol=0.0, atol=0.0, reference=f"{TRUSTED} {path.name}"
    )
    for attempt in owner.measurements(path, hints):
        if not isinstance(attempt, Attempt):
            raise PluginError(
                f"plugin {registry.entries(CONSUMERS).provider(owner.id)}: consumer {owner.id!r}: "
                f"measurements yields {type(attempt).__name__}, expected Attempt"
            )
        taken = trust and attempt.status is Status.OK and attempt.verification is None
        yield replace(attempt, verification=trusted) if taken else attempt
