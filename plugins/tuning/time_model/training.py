"""From measured times to a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof_plugins.tuning.time_model.intervals import ranges_of
from ckprof_plugins.tuning.time_model.model import ModelKernel, TimeModel

if TYPE_CHECKING:
    from ckprof_plugins.tuning.time_model.formula import GemmSizes
    from ckprof_plugins.tuning.time_model.measurements import Measurements

#: Fewer problems cannot tell a kernel's parameters from one another.
LEAST_PROBLEMS = 8
#: Choices for fewer problems say little.
_LEAST_JUDGED = 32


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
    #: see :attr:`ckprof_plugins.tuning.time_model.model.TimeModel.target`
    target: str = ""
    toolchain: str = ""
    layout: str = ""
    #: see :attr:`ckprof_plugins.tuning.time_model.model.TimeModel.predicted_half`
    predicted_half: float = 0.0


def fit_model(request: TrainRequest) -> TimeModel:
    """Return the model that explains measured times best, and how far it is off on problems left out of it.

    :raises InputError: there are too few problems.
    """
    return fit_and_judge(request)[0]


def fit_and_judge(request: TrainRequest) -> tuple[TimeModel, tuple[float, ...]]:
    """Return the model of :func:`fit_model` with what cross-validation says of its choices.

    :returns: the model, and best time / time of the kernel that was chosen for each problem while it was left
        out. Problems of one table are often variations of a few: figures on problems of another kind will be
        lower. Empty for few problems.
    :raises InputError: there are too few problems.
    """
    # NumPy: not needed to choose
    from ckprof_plugins.tuning.time_model.calibration import calibrated, efficiencies, left_out_groups
    from ckprof_plugins.tuning.time_model.fit import fit

    table = request.table.without_glitches()
    if len(table.problems) < LEAST_PROBLEMS:
        raise InputError(
            f"{len(table.problems)} problems are too few to train on, expected {LEAST_PROBLEMS} or more"
        )
    problems = [request.gemm_sizes(problem) for problem in table.problems]
    fitted = fit(table, request.gemm_sizes, request.units, left_out_groups(problems))
    kernels = {
        name: ModelKernel(
            name=name,
            traits=table.kernels[name],
            computes=pool.traits,
            parameters=pool.parameters,
            spread=1.0,
            rows=pool.rows,
        )
        for pool in fitted.pools
        for name in pool.names
    }
    model = TimeModel(
        device=request.device,
        target=request.target,
        units=request.units,
        toolchain=request.toolchain,
        direction=request.direction,
        dtype=request.dtype,
        layout=request.layout,
        element_bytes=request.element_bytes,
        shared=fitted.shared,
        kernels={name: kernels[name] for name in table.kernels if name in kernels},
        splits=tuple(sorted({splits for _, splits in table.choices})),
        ranges=ranges_of(problems),
        shortest_us=fitted.shortest_us,
        predicted=len(table.predicted),
        predicted_half=request.predicted_half,
    )
    judged = len(problems) >= _LEAST_JUDGED
    return (
        calibrated(fitted, model, table, request.gemm_sizes),
        tuple(efficiencies(fitted, table)) if judged else (),
    )
