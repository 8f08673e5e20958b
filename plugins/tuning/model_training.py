"""Trains time models on measured times, and judges them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from ckprof.errors import InputError, UsageError
from ckprof.model.architecture import architectures
from ckprof.model.types import DataType
from ckprof.plugin.timing import ProductOperation, TimedTarget
from ckprof_plugins.tuning.measured_tables import read_tables
from ckprof_plugins.tuning.predicted_times import read_predicted
from ckprof_plugins.tuning.predicted_training import with_predicted
from ckprof_plugins.tuning.time_model.formula import sizes_of_product
from ckprof_plugins.tuning.time_model.model_file import Origin, Quality, model_of, read_document, render_model
from ckprof_plugins.tuning.time_model.training import TrainRequest, fit_and_judge
from ckprof_plugins.tuning.time_model.validation import ValidateRequest, judged_model
from ckprof_plugins.tuning.timed_kernels import KernelKind, runs_elsewhere

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.kernels.inspection import Inspection
    from ckprof.plugin.registry import Registry
    from ckprof.session import Session
    from ckprof_plugins.tuning.time_model.formula import GemmSizes
    from ckprof_plugins.tuning.time_model.measurements import Measurements
    from ckprof_plugins.tuning.time_model.model import TimeModel
    from ckprof_plugins.tuning.time_model.validation import Efficiency, Validation
    from ckprof_plugins.tuning.tune_requests import TrainOptions, ValidateOptions

#: Numbers of compute units that GPUs have, tried where nothing says it.
_UNITS: Final = (32, 64, 80, 84, 96, 104, 108, 110, 120, 128, 132, 144, 192, 228, 256, 304)
#: Below this margin the data do not tell the number of compute units.
_CLEAR: Final = 1.02


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A model, and what is said about it."""

    model: TimeModel
    table: Measurements
    #: figures of cross-validation; ``None`` where there were too few problems, or none with a choice
    quality: Efficiency | None
    #: content of the model's file
    text: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a model is used for."""

    #: id of the target that will run the kernels
    target: str
    arch: str


def train(session: Session, options: TrainOptions) -> TrainedModel:
    """Fit a model to the measured times of files.

    :raises InputError: a file is wrong, there are too few problems, or the files are of several devices.
    :raises UsageError: the direction's kernels are no matrix products.
    """
    from ckprof_plugins.tuning.time_model.trees import train_trees
    from ckprof_plugins.tuning.time_model.validation import summarise

    direction = session.registry.operation(options.direction)
    sizes = gemm_sizes_of(session.registry, direction.id, options.dtype.value)
    table, predicted_half = _learned(session, options, direction.id)
    device, units, warnings = _device(table, options, sizes)
    request = TrainRequest(
        table=table,
        direction=direction.id,
        gemm_sizes=sizes,
        dtype=options.dtype.value,
        element_bytes=options.dtype.properties.size_bytes,
        device=device,
        units=units,
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
    figures = dict.fromkeys(Quality.__struct_fields__) if quality is None else asdict(quality)
    origin = Origin(
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
        text=render_model(model, origin, Quality(**figures)),
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
        predicted = read_predicted(session.registry, options.predicted, kind)
        blended = with_predicted(session.registry, table, predicted, options.predicted[0])
        table, half = blended.table, blended.half
    if table is None or options.inspection is None:
        return cast("Measurements", table), half
    from ckprof.kernels.inspection import load_inspection
    from ckprof.kernels.requests import BuildOptions

    loaded = load_inspection(session, options.inspection, BuildOptions())
    return with_occupancy(table, loaded.inspection, options.inspection), half


def validate(session: Session, options: ValidateOptions) -> Validation:
    """Judge a model by the measured times of files.

    :raises InputError: a file is wrong, or the model is of another device and not forced.
    """
    model = load_model(options.model)

    def read(paths: tuple[Path, ...]) -> Measurements:
        kind = KernelKind(direction=model.direction, dtype=model.dtype, target=model.target)
        return read_tables(session.registry, paths, kind)

    table = read(options.files)
    if not options.force:
        require_target(model, table.target, options.model)
        require_device(model, table.arch, options.model)
    return judged_model(
        ValidateRequest(
            model=model,
            table=table,
            gemm_sizes=gemm_sizes_of(session.registry, model.direction, model.dtype),
            training=read(options.training) if options.training else None,
            top=options.top,
            boost=options.boost,
        )
    )


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


def load_model(path: Path, direction: str | None = None) -> TimeModel:
    """Return the model of a file.

    :param direction: what the model has to be of; ``None`` for any.
    :raises InputError: it is none, or one of another direction.
    """
    model = model_of(read_document(path))
    if direction not in (None, model.direction):
        raise InputError(f"the model is of {model.direction}, not {direction}", path)
    return model


def require_use(session: Session, model: TimeModel, used: Use, path: Path) -> None:
    """Refuse a model of another device than the one that kernels are chosen for.

    :raises InputError: the model's times are those of another target, architecture or device.
    """
    if not model.target:
        require_device(model, used.arch, path)
        return
    require_target(model, used.target, path)
    target = session.registry.targets.find(model.target)
    if not runs_elsewhere(session.registry, target.id):
        # of a device that the target only brings along
        require_device(model, used.arch, path)
    here = target.device_name() if isinstance(target, TimedTarget) else ""
    if here and model.device.casefold() not in here.casefold():
        require_device(model, here, path)


def require_target(model: TimeModel, target: str, path: Path) -> None:
    """Refuse a model of kernels that another target ran.

    :param target: what is used; empty for the architecture itself.
    :raises InputError: the targets differ.
    """
    if model.target != target:
        ran = f"target {model.target}" if model.target else f"{model.device or 'the architecture'} itself"
        asked = f"target {target}" if target else "the architecture itself"
        raise InputError(
            f"the model's kernels ran on {ran}, its times say little about {asked}; "
            "train one there, or take it all the same with --force",
            path,
        )


def require_device(model: TimeModel, device: str, path: Path) -> None:
    """Refuse a model of another device.

    :param device: what it is used for; empty if unknown.
    :raises InputError: the devices differ.
    """
    if model.device and device and model.device != device:
        raise InputError(
            f"the model was trained on {model.device}, its times say little about {device}; "
            "train one there, or take it all the same with --force",
            path,
        )


def gemm_sizes_of(registry: Registry, direction: str, dtype: str) -> GemmSizes:
    """Return what an operation makes of a problem.

    :param dtype: name of the type of the operands.
    :raises UsageError: it is no matrix product.
    """
    operation = registry.operation(direction)
    if not isinstance(operation, ProductOperation):
        raise UsageError(
            f"operation {operation.id} does not say which matrix products its problems are: no time can be "
            "predicted"
        )
    of_operands = DataType.parse(dtype)
    return lambda problem: sizes_of_product(operation.product(problem, of_operands))


def _device(table: Measurements, options: TrainOptions, sizes: GemmSizes) -> tuple[str, int, tuple[str, ...]]:
    """Return the architecture, its compute units, and warnings."""
    arch = options.arch or table.arch
    if options.units is not None:
        return arch, options.units, ()
    if table.units is not None:
        return arch, table.units, ()
    architecture = architectures().get(arch)
    if architecture is not None:
        return arch, architecture.compute_units, ()
    from ckprof_plugins.tuning.time_model.fit import guess_units

    units, margin = guess_units(table.without_glitches(), sizes, _UNITS)
    if margin >= _CLEAR:
        return arch, units, ()
    doubt = "the times hardly tell it; give --compute-units"
    return arch, units, (f"taking the device for one of {units} compute units: {doubt}",)
