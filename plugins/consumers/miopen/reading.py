"""Times of MIOpen's find-dbs as measurements.

What ran is known by its solver alone. Nothing says that its result was verified, so the attempts are not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, Measurement, Status
from ckprof.model.types import DataType
from ckprof.store.attempt import Attempt, Session
from ckprof.store.key import DeviceKey, KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof_plugins.consumers.miopen.file_names import read_name
from ckprof_plugins.consumers.miopen.keys import WrongKeyError, parse_find_key
from ckprof_plugins.consumers.miopen.rows import is_database, read_bytes, text_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckprof.plugin.protocols.formats import ImportHints
    from ckprof_plugins.consumers.miopen.keys import MiopenKey

_TYPES: Final = {item.value: item for item in DataType}
#: number of dimensions, whether channels are last -> name of the layout
_LAYOUTS: Final = {(2, True): "nhwgc", (3, True): "ndhwgc", (2, False): "ngchw", (3, False): "ngcdhw"}


def measurements(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield an attempt for each entry in order; what is not is left to the audit.

    :raises InputError: the file cannot be read, or has no times.
    :raises UsageError: its name does not say the device, and neither do the hints.
    """
    data = read_bytes(path)
    name = read_name(path.name)
    if is_database(data[:100]) or name.is_find is False:
        raise InputError("is a performance database, which has no times; those are in the find-db", path)
    arch = hints.arch or name.arch
    if not arch:
        raise UsageError(f"{path}: the name does not say the device: add --arch")
    session = Session.of_file(path, data, "MIOpen find-db", hints.tags)
    device = DeviceKey(target=hints.target, model=hints.device, arch=arch, compute_units=name.compute_units)
    sequence = 0
    seen: set[str] = set()
    for row in text_rows(data):
        if row.problem or row.key in seen:
            continue
        seen.add(row.key)
        try:
            key = parse_find_key(row.key)
            problem = key.problem()
        except WrongKeyError:
            continue
        for entry in row.entries():
            time_ms = _time(entry.values)
            if entry.problem or time_ms is None:
                continue
            yield Attempt(
                key=MeasurementKey(
                    operation=OperationKey(direction=key.direction),
                    problem=problem,
                    kernel=KernelKey(instance=f"name:{entry.solver} {key.types} {_layout(key)}"),
                    device=device,
                    toolchain=ToolchainKey(),
                    method=MethodKey(clock="", version=0, cache=""),
                ),
                session=session,
                sequence=sequence,
                kernel=KernelRef(name=entry.solver, dtype=_TYPES.get(key.dtype), layout=_layout(key)),
                status=Status.OK,
                workspace_bytes=_workspace(entry.values),
                measurement=Measurement(
                    median_ms=time_ms,
                    spread_ms=0.0,
                    min_ms=time_ms,
                    mean_ms=time_ms,
                    samples=1,
                    stopped_by="",
                ),
                conditions=Conditions(started=session.started, order=sequence),
            )
            sequence += 1


def _time(values: str) -> float | None:
    """Return the milliseconds of an entry; ``None`` unless they can be a time."""
    try:
        time_ms = float(values.partition(",")[0])
    except ValueError:
        return None
    return time_ms if math.isfinite(time_ms) and time_ms > 0 else None


def _workspace(values: str) -> int | None:
    text = [*values.split(","), ""][1]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _layout(key: MiopenKey) -> str:
    if key.is_channels_last or key.is_channels_first:
        return _LAYOUTS[key.ndim, key.is_channels_last]
    return "-".join(key.layouts).lower()
