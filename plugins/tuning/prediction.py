"""Ranks kernels by times that a target predicts from their machine code; nothing is measured."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ckprof.errors import NothingLeftError, UsageError
from ckprof.kernels.library import build_library
from ckprof.kernels.requests import BuildOptions
from ckprof.model.prediction import PredictionRequest, TimeQuestion
from ckprof.model.problem import traffic_of
from ckprof.model.problem_case import ProblemCase
from ckprof.model.recipe import Purpose
from ckprof.model.types import types_on
from ckprof.option import option, positive
from ckprof.plugin.operations import tensors_of
from ckprof.plugin.protocols import PredictingDevice
from ckprof_plugins.tuning.prediction_calibration import read_measured

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.model.prediction import PredictedDevice, PredictedTime, TimeAnswer
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session
    from ckprof_plugins.tuning.prediction_calibration import Calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """What is predicted of which kernels."""

    selection: Selection
    problems: tuple[ProblemCase, ...]
    build: BuildOptions = field(default_factory=BuildOptions)
    gpu: str = field(
        default="",
        metadata=option(
            "product whose compute units, clock and memory count, e.g. MI300X (default: the architecture's "
            "usual one)",
            metavar="NAME",
        ),
    )
    measured: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            "a store or a table of measured times, by which predicted ones are corrected: by one factor for "
            "the device and one for each kernel (repeatable)",
            metavar="FILE",
        ),
    )
    hot: int = field(
        default=0,
        metadata=option(
            "list so many instructions of each kernel that take most of its waves' time",
            metavar="N",
            parse=positive,
        ),
    )
    #: what the waves of each kernel do is wanted, too
    profile: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPrediction:
    """A kernel on a problem."""

    kernel: Candidate
    split_k: int
    answer: TimeAnswer

    @property
    def time(self) -> PredictedTime | None:
        """What was predicted; ``None`` if nothing was."""
        return self.answer.time


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemPredictions:
    """All kernels on a problem, the fastest first; those without a time come last."""

    case: ProblemCase
    kernels: tuple[KernelPrediction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """All problems, and what the times are of."""

    target: str
    arch: str
    device: PredictedDevice
    library: BuiltLibrary
    problems: tuple[ProblemPredictions, ...]
    #: by which measured times have corrected the predicted ones
    calibration: Calibration

    @property
    def failed(self) -> bool:
        """Whether a kernel did not compile, or its launch failed."""
        return any(rejection.status.is_failure for rejection in self.library.rejected) or any(
            kernel.time is None and not kernel.answer.unsupported
            for problem in self.problems
            for kernel in problem.kernels
        )


def predict(session: Session, options: PredictOptions) -> Predictions:
    """Build the kernels and predict their times.

    :raises UsageError: the target predicts no times, or knows no such product; or there is no problem.
    :raises NothingLeftError: no kernel compiles.
    :raises CkprofError: no toolchain, or the library cannot be asked.
    """
    target = session.target(options.build.target)
    able = {one.target: one for one in session.registry.devices if isinstance(one, PredictingDevice)}
    predicting = able.get(target.id)
    if predicting is None:
        raise UsageError(
            f"--target {target.id} predicts no times" + (f"; these do: {', '.join(able)}" if able else "")
        )
    if not options.problems:
        raise UsageError("no problem to predict times for: give --problem, --problems or --problem-set")
    selection = options.selection
    build = replace(options.build, target=target.id, device=predicting.id)
    arch = build.arch or session.settings.arch or target.default_arch
    device = predicting.prediction_model(arch, options.gpu)
    library = build_library(
        session, selection.candidates, build, Purpose.RUN, keep_invalid=selection.keep_invalid
    )
    if library.path is None:
        raise NothingLeftError("no kernel was built: nothing is predicted")
    measured = read_measured(session.registry, options.measured, library.built)
    to_learn = [ProblemCase(problem=problem) for problem in measured.problems]
    asked = _asked(library, (*options.problems, *to_learn))
    request = PredictionRequest(
        library=library.path,
        arch=library.recipe.arch,
        model=device.name,
        questions=tuple(_question(library.direction, *one, library.recipe.arch) for one in asked),
        profile=options.profile or options.hot > 0,
    )
    answers = list(zip(asked, predicting.predict(request), strict=True))
    calibration = measured.calibration(
        {
            (case.problem, kernel.instance.key, split): answer.time.time_us
            for (case, kernel, split), answer in answers
            if answer.time is not None
        }
    )
    by_case: dict[int, list[KernelPrediction]] = {id(case): [] for case in options.problems}
    for (case, kernel, split), answer in answers:
        corrected = _corrected(answer, calibration, kernel)
        if id(case) in by_case:
            by_case[id(case)].append(KernelPrediction(kernel=kernel, split_k=split, answer=corrected))
    return Predictions(
        target=target.id,
        arch=library.recipe.arch,
        device=device,
        library=library,
        problems=tuple(
            ProblemPredictions(case=case, kernels=_ranked(by_case[id(case)])) for case in options.problems
        ),
        calibration=calibration,
    )


def _asked(
    library: BuiltLibrary, cases: Iterable[ProblemCase]
) -> tuple[tuple[ProblemCase, Candidate, int], ...]:
    return tuple(
        (case, kernel, split)
        for case in cases
        for kernel in library.built
        if case.takes(kernel.selected())
        for split in case.splits or (1,)
    )


def _corrected(answer: TimeAnswer, calibration: Calibration, kernel: Candidate) -> TimeAnswer:
    if answer.time is None:
        return answer
    return replace(answer, time=calibration.applied(kernel.instance.key, answer.time))


def _ranked(kernels: Iterable[KernelPrediction]) -> tuple[KernelPrediction, ...]:
    def order(kernel: KernelPrediction) -> tuple[bool, float]:
        return kernel.time is None, kernel.time.time_us if kernel.time is not None else 0.0

    return tuple(sorted(kernels, key=order))


def _question(
    operation: Operation, case: ProblemCase, kernel: Candidate, split_k: int, arch: str
) -> TimeQuestion:
    """Return the question about a kernel with what only the operation knows of the problem."""
    problem, instance = case.problem, kernel.instance
    names = tensors_of(operation, problem)
    types = types_on(instance.types, arch)
    sized = zip(names, types.of_so_many(len(names)), strict=True)
    specs = [(problem.tensor(name, instance.layout), dtype) for name, dtype in sized]
    specs.sort(key=lambda entry: entry[0].position)
    return TimeQuestion(
        key=instance.key,
        problem=problem,
        split_k=split_k,
        tensor_bytes=tuple(spec.stored_elements * dtype.properties.size_bytes for spec, dtype in specs),
        flop=problem.flop,
        traffic_bytes=traffic_of(problem, types),
        dtype=instance.dtype.value,
    )
