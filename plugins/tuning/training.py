"""From measured times to a time model: ``ckprof train``, and what searches learn from other measurements."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from ckprof.errors import InputError, UsageError
from ckprof.model.architecture import architectures
from ckprof_plugins.tuning.measured_tables import read_tables
from ckprof_plugins.tuning.model_use import KernelKind, gemm_sizes_of, runs_elsewhere
from ckprof_plugins.tuning.predicted_times import read_predicted, with_predicted
from ckprof_plugins.tuning.time_model.intervals import ranges_of
from ckprof_plugins.tuning.time_model.model import ModelKernel, TimeModel
from ckprof_plugins.tuning.time_model.model_file import Provenance, render_model

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.kernels.inspection import Inspection
    from ckprof.session import Session
    from ckprof_plugins.tuning.options import TrainOptions
    from ckprof_plugins.tuning.time_model.formula import GemmSizes
    from ckprof_plugins.tuning.time_model.measurements import Measurements
    from ckprof_plugins.tuning.validation import Efficiency

#: Numbers of compute units that GPUs have, tried where it is unknown.
_UNITS: Final = (32, 64, 80, 84, 96, 104, 108, 110, 120, 128, 132, 144, 192, 228, 256, 304)
#: Below this margin the data do not identify the number of compute units.
_CLEAR: Final = 1.02
#: With fewer problems a kernel's parameters are not identifiable.
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
    compute_units: int
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
    fitted = fit(table, request.gemm_sizes, request.compute_units, left_out_groups(problems))
    kernels = {
        name: ModelKernel(
            name=name,
            traits=table.kernels[name],
            others=None if pool.traits == table.kernels[name] else pool.traits,
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
        compute_units=request.compute_units,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A trained model with its figures."""

    model: TimeModel
    table: Measurements
    #: figures of cross-validation; ``None`` where there were too few problems, or none with a choice
    quality: Efficiency | None
    #: content of the model's file
    text: str
    warnings: tuple[str, ...]


def train(session: Session, options: TrainOptions) -> TrainedModel:
    """Fit a model to the measured times of files.

    :raises InputError: a file is wrong, there are too few problems, or the files are of several devices.
    :raises UsageError: the direction's kernels are no matrix products.
    """
    from ckprof_plugins.tuning.time_model.trees import train_trees
    from ckprof_plugins.tuning.validation import summarise

    direction = session.registry.operation(options.direction)
    sizes = gemm_sizes_of(session.registry, direction.id, options.dtype.value)
    table, predicted_half = _learned(session, options, direction.id)
    device, compute_units, warnings = _device(table, options, sizes)
    request = TrainRequest(
        table=table,
        direction=direction.id,
        gemm_sizes=sizes,
        dtype=options.dtype.value,
        element_bytes=options.dtype.properties.size_bytes,
        device=device,
        compute_units=compute_units,
        target=table.target,
        toolchain=options.toolchain,
        layout=options.layout,
        predicted_half=predicted_half,
    )
    model, efficiencies = fit_and_judge(request)
    if options.boost:
        model = replace(model, trees=train_trees(table, model, sizes))
    quality = summarise(efficiencies)
    clean = table.without_glitches()
    origin = Provenance(
        sources=list(table.sources),
        digest=table.digest,
        problems=len(table.problems),
        rows=len(clean.times),
        dropped=list(clean.dropped),
    )
    return TrainedModel(
        model=model,
        table=clean,
        quality=quality,
        text=render_model(
            model,
            origin,
            asdict(quality) if quality is not None else dict.fromkeys(("mean", "median", "p10", "worst")),
        ),
        warnings=warnings,
    )


def _learned(session: Session, options: TrainOptions, direction: str) -> tuple[Measurements, float]:
    """Return the times to learn from, with the occupancy of an inspection if there is one.

    And how far measured times are from those among them that were predicted; 0 without any.

    :raises InputError: a file is wrong, or the files are of several devices.
    :raises UsageError: there is no file.
    """
    target = session.target(options.target).id if options.target else ""
    kind = KernelKind(
        direction=direction,
        dtype=options.dtype.value,
        target=target if runs_elsewhere(session.registry, target) else "",
    )
    if not options.files and not options.predicted:
        raise UsageError("nothing to learn from: give a store, a table of measured times, or --predicted")
    table = read_tables(session.registry, options.files, kind) if options.files else None
    half = 0.0
    if options.predicted:
        predicted, fields = read_predicted(session.registry, options.predicted, kind)
        table, half = with_predicted(session.registry, table, predicted, fields, options.predicted[0])
    if table is None or options.inspection is None:
        return cast("Measurements", table), half
    from ckprof.kernels.inspection import load_inspection
    from ckprof.kernels.requests import BuildOptions

    inspection, _ = load_inspection(session, options.inspection, BuildOptions())
    return with_occupancy(table, inspection, options.inspection), half


def with_occupancy(table: Measurements, inspection: Inspection, path: Path) -> Measurements:
    """Return a table whose kernels share a compute unit as their machine code allows.

    :param path: of the inspection, for messages.
    :raises InputError: it is about none of the table's kernels.
    """
    workgroups = {kernel.name: kernel.worst.occupancy.workgroups_per_cu for kernel in inspection.kernels}
    kernels = {
        name: replace(traits, workgroups_per_unit=max(1, workgroups[name])) if name in workgroups else traits
        for name, traits in table.kernels.items()
    }
    if not workgroups.keys() & kernels.keys():
        raise InputError("it is about none of the kernels whose times are given, by their names", path)
    return replace(table, kernels=kernels)


def _device(table: Measurements, options: TrainOptions, sizes: GemmSizes) -> tuple[str, int, tuple[str, ...]]:
    """Return the architecture, its compute units, and warnings."""
    arch = options.arch or table.arch
    if options.compute_units is not None:
        return arch, options.compute_units, ()
    if table.compute_units is not None:
        return arch, table.compute_units, ()
    architecture = architectures().get(arch)
    if architecture is not None:
        return arch, architecture.compute_units, ()
    from ckprof_plugins.tuning.time_model.fit import guess_units

    compute_units, margin = guess_units(table.without_glitches(), sizes, _UNITS)
    if margin >= _CLEAR:
        return arch, compute_units, ()
    doubt = "the times hardly identify it; give --compute-units"
    return arch, compute_units, (f"taking the device for one of {compute_units} compute units: {doubt}",)
