"""Times of AITER's tables as measurements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, Measurement, Status
from ckprof.model.types import DataType
from ckprof.store.attempt import Attempt, Session
from ckprof.store.key import DeviceKey, KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof_plugins.consumers.aiter.audit import DEVICES, MOST_WRONG
from ckprof_plugins.consumers.aiter.tables import integer, number, read_table
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckprof.plugin.protocols.formats import ImportHints

#: id of the operation
_PRODUCT: Final = "gemm"
#: all products have A by rows and B by columns
_LAYOUT: Final = "rcr"
#: beginning of a kernel's name -> type of its operands
_TYPES: Final = {"bf16_": DataType.BF16}


def measurements(path: Path, hints: ImportHints) -> Iterator[Attempt]:
    """Yield an attempt for each row in order; what is not is left to the audit.

    :raises InputError: the file cannot be read, or its rows are no plain products.
    """
    table = read_table(path)
    if not table.layout.has_kernel:
        raise InputError(
            f"is a table of {table.layout.label}, whose rows are no products of one kernel", path
        )
    session = Session.of_file(path, path.read_bytes(), "AITER table", hints.tags)
    for sequence, row in enumerate(table.rows):
        sizes = {name: integer(row.cells.get(name, "1")) for name in ("B", "M", "N", "K", "cu_num")}
        time_us = number(row.cells.get("us", ""))
        if row.problem or time_us is None or not math.isfinite(time_us) or time_us <= 0:
            continue
        if any(size is None or size < 1 for size in sizes.values()):
            continue
        yield _attempt(row.cells, sizes, time_us / 1e3, hints, session, sequence)


def _attempt(
    cells: Mapping[str, str],
    sizes: Mapping[str, int | None],
    time_ms: float,
    hints: ImportHints,
    session: Session,
    sequence: int,
) -> Attempt:
    name = cells.get("kernelName") or f"kernel {cells['kernelId']}"
    units = sizes["cu_num"] or 0
    share = number(cells.get("errRatio", "0"))
    wrong = share is not None and share > MOST_WRONG
    exponent = integer(cells.get("splitK", "0")) or 0
    dtype = hints.dtype or next((one for start, one in _TYPES.items() if name.startswith(start)), None)
    measurement = Measurement(
        median_ms=time_ms, spread_ms=0.0, min_ms=time_ms, mean_ms=time_ms, samples=1, stopped_by=""
    )
    problem = GemmProblem(m=sizes["M"] or 1, n=sizes["N"] or 1, k=sizes["K"] or 1, batch=sizes["B"] or 1)
    return Attempt(
        key=MeasurementKey(
            operation=OperationKey(direction=_PRODUCT),
            problem=problem,
            split_k=1 << min(max(exponent, 0), 20),
            kernel=KernelKey(instance=f"name:{name} {dtype.value if dtype else ''}"),
            device=DeviceKey(
                target=hints.target,
                model=hints.device,
                arch=hints.arch or cells.get("gfx", "") or DEVICES.get(units, ""),
                compute_units=units,
            ),
            toolchain=ToolchainKey(),
            method=MethodKey(clock="", version=0, cache=""),
        ),
        session=session,
        sequence=sequence,
        kernel=KernelRef(name=name, dtype=dtype, layout=hints.layout or _LAYOUT),
        status=Status.WRONG_RESULT if wrong else Status.OK,
        reason=f"{share:.1%} of the elements were wrong when it was tuned" if wrong else "",
        measurement=None if wrong else measurement,
        conditions=Conditions(started=session.started, order=sequence),
    )
