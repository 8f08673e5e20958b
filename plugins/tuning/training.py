"""From measured times to a time model: ``ckprof train``, and what searches learn from other measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from ckprof.errors import InputError, UsageError
from ckprof.events import Level, Message
from ckprof.formatting import counted
from ckprof.model.architecture import architectures
from ckprof.model.types import DataType
from ckprof_plugins.tuning.measured_tables import kinds_in_stores, read_tables
from ckprof_plugins.tuning.model_use import gemm_sizes_of, kind_of_tables
from ckprof_plugins.tuning.predicted_times import read_predicted, with_predicted
from ckprof_plugins.tuning.time_model.intervals import ranges_of
from ckprof_plugins.tuning.time_model.model import Provenance, TimeModel, summarise

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.kernels.inspection import Inspection
    from ckprof.session import Session
    from ckprof_plugins.tuning.model_use import KernelKind
    from ckprof_plugins.tuning.options import TrainOptions
    from ckprof_plugins.tuning.time_model.formula import GemmSizes
    from ckprof_plugins.tuning.time_model.measurements import Measurements

#: Numbers of compute units that GPUs have, tried where it is unknown.
_UNITS: Final = (32, 64, 80, 84, 96, 104, 108, 110, 120, 128, 132, 144, 192, 228, 256, 304)
#: Below this margin the data do not identify the number of compute units.
_CLEAR: Final = 1.02
#: With fewer problems a kernel's parameters are not identifiable.
LEAST_PROBLEMS = 8
#: Choices for fewer problems say little.
LEAST_JUDGED = 32


def fit_model(measured: Measurements, gemm_sizes: GemmSizes, kind: KernelKind) -> TimeModel:
    """Return the model that explains measured times best, and how far it is off on problems left out of it.

    :param kind: with the device that was measured.
    :raises InputError: there are too few problems.
    """
    # NumPy: not needed to choose
    from ckprof_plugins.tuning.time_model.calibration import calibrated, efficiencies, left_out_groups
    from ckprof_plugins.tuning.time_model.fit import Fit

    table = measured.without_glitches()
    if len(table.problems) < LEAST_PROBLEMS:
        found = counted(len(table.problems), "problem")
        raise InputError(f"{found} to train on: too few, expected {LEAST_PROBLEMS} or more")
    problems = [gemm_sizes(problem) for problem in table.problems]
    fitted = Fit(table, gemm_sizes, kind.compute_units, left_out_groups(problems))
    model = TimeModel(
        device=kind.device,
        target=table.target,
        compute_units=kind.compute_units,
        direction=kind.direction,
        dtype=kind.dtype,
        element_bytes=DataType.parse(kind.dtype).properties.size_bytes,
        splits=tuple(sorted({splits for _, splits in table.choices})),
        shortest_us=fitted.shortest_us,
        ranges=ranges_of(problems),
        origin=Provenance(
            sources=table.sources,
            digest=measured.digest,
            problems=len(table.problems),
            rows=len(table.times),
            dropped=table.dropped,
        ),
        quality=summarise(efficiencies(fitted, table)) if len(problems) >= LEAST_JUDGED else None,
        shared=fitted.shared,
        middle=fitted.middle,
        kernels=fitted.kernels,
        predicted=len(table.predicted),
    )
    return calibrated(fitted, model, table, gemm_sizes)


def train(session: Session, options: TrainOptions) -> TimeModel:
    """Fit a model to the measured times of files.

    :raises InputError: a file is wrong, there are too few problems, or the files are of several devices.
    :raises UsageError: the direction's kernels are no matrix products; or direction or type are not given,
        and the files do not have one of each.
    """
    direction, dtype = _asked(session, options)
    sizes = gemm_sizes_of(session.registry, direction, dtype.value)
    kind = kind_of_tables(session, direction, dtype, options.target)
    table, half = _learned(session, options, kind)
    device = options.arch or table.arch
    compute_units = options.compute_units or table.compute_units or _units_of(session, device, table, sizes)
    model = fit_model(table, sizes, replace(kind, device=device, compute_units=compute_units))
    model = replace(model, toolchain=options.toolchain, layout=options.layout, predicted_half=half)
    return model


def _asked(session: Session, options: TrainOptions) -> tuple[str, DataType]:
    """Return direction and type: those that are given, or the only ones that the stores have.

    :raises UsageError: there are none, or several.
    """
    asked = session.registry.operation(options.direction).id if options.direction else ""
    if asked and options.dtype is not None:
        return asked, options.dtype
    kinds = {
        (direction, dtype)
        for direction, dtype in kinds_in_stores(options.files)
        if (not asked or direction == asked) and options.dtype in (None, dtype)
    }
    if len(kinds) == 1:
        return kinds.pop()
    if kinds:
        found = ", ".join(sorted(f"{direction} {dtype.value}" for direction, dtype in kinds))
        raise UsageError(f"the stores have times of {found}: choose with --direction and --dtype")
    raise UsageError(
        "--direction and --dtype are missing: only stores say them, and none of these has such times"
    )


def _learned(session: Session, options: TrainOptions, kind: KernelKind) -> tuple[Measurements, float]:
    """Return the times to learn from, and how far measured times are from those that were predicted."""
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


def _units_of(session: Session, device: str, table: Measurements, sizes: GemmSizes) -> int:
    """Return the compute units of an architecture, or the number that explains the times best."""
    architecture = architectures().get(device)
    if architecture is not None:
        return architecture.compute_units
    from ckprof_plugins.tuning.time_model.fit import guess_units

    compute_units, margin = guess_units(table.without_glitches(), sizes, _UNITS)
    if margin < _CLEAR:
        doubt = "the times hardly identify it; give --compute-units"
        said = f"taking the device for one of {compute_units} compute units: {doubt}"
        session.emit(Message(said, Level.WARNING))
    return compute_units
