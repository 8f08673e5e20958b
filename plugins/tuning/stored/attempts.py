"""Between predicted figures and the attempts of a store.

An attempt of a prediction has the clock :data:`~ckprof.store.key.PREDICTED`, its model in the place of the
host that emulates the device, and no verification: nothing that ranks, trains or exports measured times takes
it for one. Figures, and each loop once, are in the evidence of attempts.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError
from ckprof.measure.options import RunOptions
from ckprof.model.outcome import Conditions, Measurement, Status
from ckprof.store.attempt import Attempt
from ckprof.store.key import PREDICTED as PREDICTED_CLOCK
from ckprof.store.key import DeviceKey, KernelKey, MeasurementKey, MethodKey, origin_of
from ckprof.sweep.identity import shared_key_of
from ckprof_plugins.tuning.gate.baseline import PREDICTED, KernelFigures, LoopInstruction

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.kernels.library import BuiltLibrary
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.problem import Problem
    from ckprof.store.attempt import Session
    from ckprof.store.query import SharedKey

#: version of what :func:`stored_attempt` puts into a key and into the evidence
VERSION: Final = 1
#: names, in the evidence of an attempt: the figures, and the instructions of a loop that no earlier one has
FIGURES: Final = "prediction"
LOOP: Final = "loop"
#: name of :class:`Predictor` in the environment of a session
PREDICTOR: Final = "predictor"
#: what no prediction has measured
_NO_SAMPLES: Final = "predicted"
_STATUS: Final = {PREDICTED: Status.OK, "unsupported": Status.UNSUPPORTED, "failed": Status.RUN_ERROR}


class Predictor(msgspec.Struct, frozen=True, kw_only=True):
    """What predicted the times of a session."""

    #: digest of the time model
    model: str
    gpu: str
    #: with features
    arch: str
    compute_units: int

    @property
    def host(self) -> str:
        """What stands in keys in the place of a host that emulates a device."""
        return f"time model {self.model}"

    @property
    def origin(self) -> str:
        """:attr:`ckprof.store.key.MeasurementKey.origin` of its times."""
        return origin_of(DeviceKey(target="", host=self.host), MethodKey(clock=PREDICTED_CLOCK))

    @property
    def environment(self) -> Mapping[str, object]:
        """What a session says of it."""
        return {PREDICTOR: msgspec.to_builtins(self)}


def predictor_for(arch: str, gpu: str) -> Predictor:
    """Return what predicts the times of a product here.

    :param arch: with features or without.
    :param gpu: its name; empty for the usual one of the architecture.
    :raises UsageError: there is no such product.
    """
    from ckprof_plugins.emulator.model_digest import model_digest
    from ckprof_plugins.emulator.tables import find_model

    base = arch.partition(":")[0]
    device = find_model(base, gpu)
    return Predictor(
        model=model_digest(base, device), gpu=device.name, arch=arch, compute_units=device.compute_units
    )


def shared_of(library: BuiltLibrary, predictor: Predictor) -> SharedKey:
    """Return what the keys of predictions have in common."""
    key = DeviceKey(
        target=library.recipe.target,
        model=predictor.gpu,
        arch=predictor.arch,
        compute_units=predictor.compute_units,
        host=predictor.host,
    )
    shared = shared_key_of(library.direction.id, library.recipe, RunOptions(), key, ("", PREDICTED_CLOCK))
    # nothing was run: no cache was flushed, and no operand made
    return replace(shared, method=MethodKey(clock=PREDICTED_CLOCK, version=VERSION, cache=""))


def stored_attempt(
    shared: SharedKey,
    session: Session,
    sequence: int,
    problem: Problem,
    kernel: SelectedKernel,
    figures: KernelFigures,
    *,
    status: Status | None = None,
    loop: tuple[LoopInstruction, ...] = (),
    wall_s: float | None = None,
) -> Attempt:
    """Return a prediction as an attempt.

    :param kernel: with the digest of its object.
    :param status: of a kernel that was not built; otherwise the figures say it.
    :param loop: the instructions of its loop, unless an earlier attempt of the store has them.
    """
    evidence: dict[str, Any] = {FIGURES: msgspec.to_builtins(figures)}
    if loop:
        evidence[LOOP] = msgspec.to_builtins(loop)
    time_ms = figures.time_us / 1000
    measurement = Measurement(
        time_ms=time_ms, spread_ms=0.0, min_ms=time_ms, mean_ms=time_ms, samples=0, stopped_by=_NO_SAMPLES
    )
    return Attempt(
        key=MeasurementKey(
            operation=shared.operation,
            problem=problem,
            split_k=figures.split_k,
            kernel=KernelKey(instance=kernel.key, object_digest=kernel.object_digest or ""),
            device=shared.device,
            toolchain=shared.toolchain,
            method=shared.method,
        ),
        session=session,
        sequence=sequence,
        kernel=kernel.ref,
        status=status or _STATUS[figures.status],
        reason=figures.reason,
        measurement=measurement if figures.status == PREDICTED else None,
        conditions=Conditions(started=time.time(), wall_s=wall_s, extra=evidence),
    )


def evidence_of(attempt: Attempt, path: Path) -> tuple[KernelFigures, tuple[LoopInstruction, ...]]:
    """Return the figures of a stored prediction, and the instructions of its loop where it brings them.

    :param path: of the store, for messages.
    :raises InputError: it has none that this version can read.
    """
    extra = attempt.conditions.extra
    try:
        figures = msgspec.convert(extra.get(FIGURES), KernelFigures)
        return figures, msgspec.convert(extra.get(LOOP, ()), tuple[LoopInstruction, ...])
    except msgspec.ValidationError as exc:
        raise InputError(f"the figures of a prediction cannot be read: {exc}", path) from None


def predictor_of(session: Session, path: Path) -> Predictor:
    """Return what predicted the times of a session.

    :raises InputError: it does not say so, or not as this version reads it.
    """
    try:
        return msgspec.convert(session.environment.get(PREDICTOR), Predictor)
    except msgspec.ValidationError as exc:
        raise InputError(f"what predicted its times cannot be read: {exc}", path) from None
