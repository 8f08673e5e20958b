"""From measured times to a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.selection.model import RANGE_AXES, ModelKernel, TimeModel
from ckprof.selection.sizes import sizes_of

if TYPE_CHECKING:
    from ckprof.selection.measurements import Measurements
    from ckprof.selection.sizes import GemmSizes

#: Fewer problems cannot tell a kernel's parameters from one another.
LEAST_PROBLEMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainRequest:
    """What to learn from, and what it is about."""

    table: Measurements
    direction: str
    gemm_sizes: GemmSizes
    dtype: str
    element_bytes: int
    #: architecture and compute units of the device that was measured
    device: str
    units: int
    #: see :attr:`ckprof.selection.model.TimeModel.target`
    target: str = ""
    toolchain: str = ""
    layout: str = ""


def train(request: TrainRequest) -> TimeModel:
    """Return the model that explains measured times best.

    :raises InputError: there are too few problems.
    """
    from ckprof.selection.fit import FitRequest, fit  # NumPy: not needed to choose

    table = request.table.without_glitches()
    if len(table.problems) < LEAST_PROBLEMS:
        raise InputError(
            f"{len(table.problems)} problems are too few to train on, expected {LEAST_PROBLEMS} or more"
        )
    found = fit(
        FitRequest(
            table=table,
            gemm_sizes=request.gemm_sizes,
            element_bytes=request.element_bytes,
            units=request.units,
        )
    )
    kernels = {
        name: ModelKernel(
            name=name,
            traits=table.kernels[name],
            computes=one.pool.traits,
            parameters=one.parameters,
            spread=one.spread,
            rows=one.rows,
        )
        for one in found.pools
        for name in one.pool.names
    }
    return TimeModel(
        device=request.device,
        target=request.target,
        units=request.units,
        toolchain=request.toolchain,
        direction=request.direction,
        dtype=request.dtype,
        layout=request.layout,
        element_bytes=request.element_bytes,
        shared=found.shared,
        kernels={name: kernels[name] for name in table.kernels if name in kernels},
        splits=tuple(sorted({splits for _, splits in table.choices})),
        ranges=_ranges(request, table),
        shortest_us=found.shortest_us,
    )


def _ranges(request: TrainRequest, table: Measurements) -> dict[str, tuple[float, float]]:
    """Return the least and the largest size of the measured problems along each axis."""
    problems = [sizes_of(one, request.gemm_sizes, request.element_bytes) for one in table.problems]
    ranges = {}
    for axis in RANGE_AXES:
        values = [float(getattr(one, axis)) for one in problems]
        ranges[axis] = min(values), max(values)
    return ranges
