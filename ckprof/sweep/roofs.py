"""Roofs of a device as evidence of a sweep: what its record says, and what it reaches today."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.model.roof import Roof, RoofKind
from ckprof.plugin.protocols import RoofTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ckprof.model.types import DataType
    from ckprof.plugin.protocols import Target
    from ckprof.store.attempt import Session
    from ckprof.store.key import DeviceKey

#: name of the evidence in :attr:`~ckprof.store.attempt.Session.environment`
EVIDENCE: Final = "roofs"


def measured_roofs(
    measure: Callable[[DataType | None], float], dtypes: Collection[DataType]
) -> tuple[Roof, ...]:
    """Measure bandwidth and multiply-adds.

    :param measure: returns what the device reaches per second, 0 where that is not measured: operations on a
        type, or for ``None`` the bytes of a copy.
    :returns: a roof per type; only the bandwidth where multiply-adds of none of them are measured.
    """
    bandwidth = measure(None) / 1e9 or math.inf
    rates = {dtype: measure(dtype) / 1e9 or math.inf for dtype in dtypes}
    return tuple(
        Roof(kind=RoofKind.MEASURED, gflops=rate, gbytes_per_s=bandwidth, dtype=dtype)
        for dtype, rate in rates.items()
        if min(rate, bandwidth) < math.inf
    )


def device_roofs(
    target: Target,
    arch: str,
    device: int | str,
    measure: Callable[[DataType | None], float],
    dtypes: Iterable[DataType],
) -> tuple[Roof, ...]:
    """Return what a device reaches: by its record, and measured now.

    :param device: its index, or the name of one that the target brings along: that reaches nothing which is
        worth measuring.
    :param measure: see :func:`measured_roofs`.
    """
    if isinstance(device, str):
        return ()
    recorded = target.theoretical_roofs(arch, device) if isinstance(target, RoofTarget) else ()
    return (*recorded, *measured_roofs(measure, tuple(dict.fromkeys(dtypes))))


def evidence(device: DeviceKey, roofs: Sequence[Roof]) -> dict[str, object]:
    """Return what a session keeps, as plain JSON values.

    :param device: what the roofs are of.
    """
    if not roofs:
        return {}
    return {EVIDENCE: {"device": _names(device), "roofs": [roof.as_plain() for roof in roofs]}}


def kept_roofs(session: Session, device: DeviceKey) -> tuple[Roof, ...]:
    """Return the roofs of a device that a session has kept."""
    kept = session.environment.get(EVIDENCE)
    if not isinstance(kept, dict) or kept.get("device") != _names(device):
        return ()
    listed = kept.get("roofs")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return tuple(roof for roof in map(Roof.from_plain, entries) if roof is not None)


def _names(device: DeviceKey) -> Mapping[str, object]:
    """Return what tells devices apart, as far as it bears on their roofs."""
    return {"target": device.target, "model": device.model, "compute_units": device.compute_units}
