"""Predicts the figures of a side, and compares two."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from ckprof.errors import InputError, UsageError
from ckprof.kernels.choose import choose_instances
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.tuning.gate.baseline import FiguresCollector
from ckprof_plugins.tuning.gate.build_folder import AS_BUILT, built_in
from ckprof_plugins.tuning.gate.comparison import compare_figures, require_comparable
from ckprof_plugins.tuning.gate.sides import GateSide
from ckprof_plugins.tuning.prediction import predict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.option import Limits
    from ckprof.session import Session
    from ckprof_plugins.tuning.gate.baseline import PredictionBaseline
    from ckprof_plugins.tuning.gate.comparison import PredictionDiff, Regression
    from ckprof_plugins.tuning.options import PredictOptions
    from ckprof_plugins.tuning.prediction import KernelPrediction, Predictions

#: lines that a message names
_NAMED: Final = 5


def predict_figures(
    session: Session, options: PredictOptions, library: BuiltLibrary | None = None
) -> tuple[Predictions, PredictionBaseline]:
    """Predict times as :func:`ckprof_plugins.tuning.predict` does; return them, and their figures.

    :param library: the kernels, where they are built already.
    :raises UsageError: measured times correct the predicted ones, which makes them another model's.
    :raises CkprofError: as :func:`~ckprof_plugins.tuning.predict` says.
    """
    if options.measured:
        raise UsageError(
            "--measured corrects predicted times by measured ones, which differ from machine to machine: "
            "a comparison of predictions takes none"
        )
    collector = FiguresCollector()

    def seen(case: ProblemCase, kernel: KernelPrediction) -> KernelPrediction:
        collector.take(case, kernel)
        if kernel.time is None or options.hot:
            return kernel
        return replace(kernel, time=replace(kernel.time, profile=None))

    predictions = predict(session, replace(options, profile=True), seen, library=library)
    from ckprof_plugins.emulator.model_digest import model_digest

    digest = model_digest(predictions.arch.partition(":")[0], predictions.device)
    return predictions, collector.baseline(predictions, digest)


def figures_of(session: Session, side: GateSide, options: PredictOptions) -> PredictionBaseline:
    """Return the figures of a side: those of its file, or of what is built for it.

    :raises CkprofError: as :func:`predict_figures` says, or the side does not exist.
    """
    if side.baseline is not None:
        return side.baseline
    selection = side.selection
    if selection is None and side.conf is not None:
        query = InstanceQuery(conf=side.conf, target=options.build.target, arch=options.build.arch)
        selection = choose_instances(session, query).require()
    build = side.build_options(options.build)
    chosen = replace(options, build=build, selection=selection or options.selection)
    if side.folder is None:
        return predict_figures(session, chosen)[1]
    library = built_in(session, side.folder, chosen.selection, build)
    chosen = replace(chosen, build=replace(build, arch=library.recipe.arch))
    return structs.replace(predict_figures(session, chosen, library)[1], compiler=AS_BUILT)


def of_line(selection: Selection, line: str) -> Selection:
    """Return the kernels of a line of a list.

    :param line: its number, or ``file:line`` with the name of the file or more of its path.
    :raises UsageError: no kernel is of that line.
    """
    path, _, number = line.rpartition(":")
    kept = tuple(
        one
        for one in selection.candidates
        if one.source.rpartition(":")[2] == number
        and Path("/", one.source.rpartition(":")[0]).as_posix().endswith(f"/{path}" if path else "")
    )
    if not kept:
        lines = ", ".join(dict.fromkeys(one.source for one in selection.candidates[:_NAMED]))
        raise UsageError(f"--kernel {line}: no kernel is of that line; some that there are: {lines}")
    return replace(selection, candidates=kept)


def problems_of(sides: Sequence[GateSide]) -> tuple[ProblemCase, ...]:
    """Return the problems of the first side that is a baseline, each with its splits.

    :raises UsageError: none is.
    :raises InputError: they are those of no operation.
    """
    for side in sides:
        if side.baseline is None:
            continue
        try:
            return tuple(
                ProblemCase(
                    problem=one.parsed,
                    splits=tuple(dict.fromkeys(kernel.split_k for kernel in one.kernels)),
                )
                for one in side.baseline.problems
            )
        except (ValueError, TypeError) as exc:
            raise InputError(f"its problems cannot be read: {exc}", side.name) from None
    raise UsageError("no problem to predict times for: give --problem, --problems or --problem-set")


def _shared_fields(options: PredictOptions) -> Mapping[str, str]:
    """Return what the figures will say that both sides have to share, as far as the options say it.

    :raises UsageError: there is no such product.
    """
    arch = (options.build.arch or "").partition(":")[0]
    if not arch or find_spec("ckprof_plugins.emulator") is None:
        return {}  # it is said when kernels are built
    from ckprof_plugins.emulator.model_digest import model_digest
    from ckprof_plugins.emulator.tables import find_model

    device = find_model(arch, options.gpu)
    return {
        "direction": options.selection.direction,
        "gpu": device.name,
        "model": model_digest(arch, device),
    }


def diff_predictions(
    session: Session,
    sides: tuple[GateSide, GateSide],
    options: PredictOptions | None,
    fail_on: Limits[Regression],
) -> PredictionDiff:
    """Compare two sides; what a side does not say itself is that of the options.

    :param options: ``None`` if both sides are baselines.
    :raises InputError: the sides are not comparable.
    :raises CkprofError: a side cannot be predicted.
    """
    if options is not None:
        for side, other in (sides, sides[::-1]):
            if side.baseline is not None:
                # before anything is built
                require_comparable((side.name, other.name), side.baseline, _shared_fields(options))
    figures = []
    for number, side in enumerate(sides):
        if side.baseline is not None:
            figures.append(side.baseline)
            continue
        assert options is not None  # noqa: S101 - a side is built
        apart = options.build.build_dir / ("before", "after")[number] if options.build.build_dir else None
        figures.append(
            figures_of(session, side, replace(options, build=replace(options.build, build_dir=apart)))
        )
    names = (sides[0].name, sides[1].name)
    return compare_figures(names, figures[0], figures[1], fail_on)
