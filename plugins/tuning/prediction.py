"""Ranks kernels by times that the emulated device predicts from machine code; nothing is measured."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import islice
from math import exp, inf, log, sqrt
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ckprof.errors import NothingLeftError, PluginError, UsageError
from ckprof.events import Message, Progress, ProgressEnded
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.keys import digest_file, digest_parts
from ckprof.kernels.library import build_library
from ckprof.model.problem import traffic_of
from ckprof.model.problem_case import ProblemCase
from ckprof.model.recipe import Purpose
from ckprof.model.types import types_on
from ckprof.paths import object_cache_dir
from ckprof_plugins.tuning.measured_tables import read_tables
from ckprof_plugins.tuning.model_use import KernelKind
from ckprof_plugins.tuning.predicted_interval import interval_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Operation, Target
    from ckprof.plugin.registry import Registry
    from ckprof.session import Session
    from ckprof_plugins.emulator.child import Answer, Question
    from ckprof_plugins.emulator.predicted_time import PredictedTime
    from ckprof_plugins.emulator.tables import DeviceModel
    from ckprof_plugins.tuning.options import PredictOptions

    #: a problem, with kernels and their splits
    Asked: TypeAlias = tuple[ProblemCase, Sequence[tuple[Candidate, int]]]
    #: (problem, key or name of a kernel, splits) -> microseconds
    Times: TypeAlias = Mapping[tuple[Problem, str, int], float]


#: a kernel's factor is the mean of the logarithms of its errors and of this many zeros
_ZEROS: Final = 4
#: problems that are predicted to learn factors: more help little
_MOST_PROBLEMS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Factors of predicted times."""

    #: measured / predicted time, median over problems of the median over kernels; 1 if nothing was measured
    device: float = 1.0
    #: content key -> how much longer a kernel takes than others with the same predicted time; empty where
    #: measured times of left-out problems do not support it
    kernels: Mapping[str, float] = field(default_factory=dict)
    #: pairs of times that it comes from
    pairs: int = 0

    def factor(self, key: str) -> float:
        """Return by what a kernel's predicted times are multiplied."""
        return self.device * self.kernels.get(key, 1.0)

    def applied(self, key: str, time: PredictedTime) -> PredictedTime:
        """Return a kernel's predicted time as measured ones correct it."""
        factor = self.factor(key)
        return replace(
            time,
            time_us=time.time_us * factor,
            extrapolation_us=time.extrapolation_us * factor,
            ceiling_share=time.ceiling_share / factor,
        )


def problems_to_learn(measured: Times) -> tuple[Problem, ...]:
    """Return the problems of measured times, each once; not all of many."""
    found = tuple(dict.fromkeys(problem for problem, _, _ in measured))
    step = -(-len(found) // _MOST_PROBLEMS)
    return found[:: max(1, step)]


def calibration_of(measured: Times, predicted: Times) -> Calibration:
    """Return the factors that predicted times need, of the same kernels and problems as measured ones.

    Factors of kernels decide which one is chosen. They stay 1 unless they make better choices on problems
    that are left out, one by one, by more than the standard error of that.
    """
    errors: dict[Problem, dict[tuple[Problem, str, int], float]] = {}
    for pair, time_us in measured.items():
        if (guess := predicted.get(pair)) is not None:
            errors.setdefault(pair[0], {})[pair] = log(time_us / guess)
    if not errors:
        return Calibration()
    gained: list[float] = []
    for problem, of in errors.items():
        others = _kernel_errors({other: errors[other] for other in errors if other != problem})
        plain = min(of, key=lambda pair: predicted[pair])
        corrected = min(of, key=lambda pair: predicted[pair] * exp(others.get(pair[1], 0.0)))
        gained.append(log(measured[plain] / measured[corrected]))
    supported = len(gained) > 1 and fmean(gained) > stdev(gained) / sqrt(len(gained))
    return Calibration(
        device=exp(median(median(of.values()) for of in errors.values())),
        kernels={key: exp(error) for key, error in _kernel_errors(errors).items()} if supported else {},
        pairs=sum(map(len, errors.values())),
    )


def _kernel_errors(errors: Mapping[Problem, Times]) -> dict[str, float]:
    """Return kernel -> logarithm of how much longer it takes than others with the same predicted time."""
    by_kernel: dict[str, list[float]] = {}
    for of in errors.values():
        middle = median(of.values())
        for (_, key, _), error in of.items():
            by_kernel.setdefault(key, []).append(error - middle)
    return {key: sum(found) / (len(found) + _ZEROS) for key, found in by_kernel.items()}


def named_alike(
    registry: Registry, names: Iterable[str], kernels: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, str]:
    """Return name of measured times -> the kernel that is meant: one of that name, or the only one that fits.

    :param kernels: name -> fields of the instance.
    """
    found: dict[str, str] = {}
    for name in names:
        if name in kernels:
            found[name] = name
            continue
        said = next(filter(None, (pipeline.fields_of_name(name) for pipeline in registry.pipelines)), None)
        same = [kernel for kernel, fields in kernels.items() if said and said.items() <= fields.items()]
        if len(same) == 1:
            (found[name],) = same
    return found


def read_measured(registry: Registry, paths: Sequence[Path], kernels: Sequence[Candidate]) -> Times:
    """Return the times of some files that are those of given kernels.

    Kernels of stores are known by their names, those of tables by what their names say.

    :raises InputError: a file is wrong, or they are of several devices.
    """
    if not paths:
        return {}
    first = kernels[0].instance
    kind = KernelKind(direction=first.direction, dtype=first.dtype.value)
    table = read_tables(registry, tuple(paths), kind)
    by_name = {kernel.name: kernel.instance for kernel in kernels}
    fields = {name: instance.fields() for name, instance in by_name.items()}
    alike = named_alike(registry, table.kernels, fields)
    keys = {name: by_name[kernel].key for name, kernel in alike.items()}
    return {
        (table.problems[index], keys[name], splits): time_us
        for (index, name, splits), time_us in table.times.items()
        if name in keys
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPrediction:
    """A kernel on a problem."""

    kernel: Candidate
    split_k: int
    #: what was predicted; ``None`` if nothing was, for the answer's reason
    time: PredictedTime | None
    answer: Answer

    @property
    def interval_us(self) -> tuple[float, float]:
        """The limits that hold a measured time in 90 of 100 cases, see :mod:`.predicted_interval`."""
        if self.time is None:
            return 0.0, 0.0
        pipeline = self.kernel.instance.fields().get("gemm_pipeline")
        return interval_us(self.time.time_us, pipeline, self.time.iterations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """All problems, and what the times are of."""

    target: str
    arch: str
    device: DeviceModel
    library: BuiltLibrary
    #: each problem with its kernels, the fastest first; those without a time come last
    problems: tuple[tuple[ProblemCase, tuple[KernelPrediction, ...]], ...]
    #: by which measured times have corrected the predicted ones
    calibration: Calibration

    @property
    def failed(self) -> bool:
        """Whether a kernel did not compile, or its launch failed."""
        return any(rejection.status.is_failure for rejection in self.library.rejected) or any(
            kernel.time is None and not kernel.answer.unsupported
            for _, kernels in self.problems
            for kernel in kernels
        )


def predicted_device(session: Session, options: PredictOptions) -> tuple[Target, DeviceModel]:
    """Return the target, and the product whose times are predicted.

    :raises PluginError: the emulated device is not installed.
    :raises UsageError: no times are predicted of the target, or there is no such product, or no problem.
    """
    if find_spec("ckprof_plugins.emulator") is None:
        raise PluginError("predict needs the emulator package, which is not installed")
    from ckprof_plugins.emulator.device import EmulatedDevice
    from ckprof_plugins.emulator.tables import find_model

    target = session.target(options.build.target)
    if target.id != EmulatedDevice.target:
        raise UsageError(f"--target {target.id} predicts no times; these do: {EmulatedDevice.target}")
    if not options.problems:
        raise UsageError("no problem to predict times for: give --problem, --problems or --problem-set")
    arch = options.build.arch or session.settings.arch or target.default_arch
    return target, find_model(arch.partition(":")[0], options.gpu)


def predict(
    session: Session,
    options: PredictOptions,
    seen: Callable[[ProblemCase, KernelPrediction], KernelPrediction] = lambda _, found: found,
    choose: Callable[[BuiltLibrary, Sequence[Asked]], Sequence[Asked]] = lambda _, asked: asked,
    library: BuiltLibrary | None = None,
) -> Predictions:
    """Build the kernels and predict their times.

    :param seen: called with each kernel as soon as it is predicted; returns what is kept of it.
    :param choose: called once when the kernels are built; returns what is left to be predicted.
    :param library: the kernels, where they are built already.
    :raises UsageError: no times are predicted of the target, or there is no such product, or no problem.
    :raises PluginError: the emulated device is not installed.
    :raises NothingLeftError: no kernel compiles.
    :raises CkprofError: no toolchain, or the library cannot be asked.
    """
    target, device = predicted_device(session, options)
    from ckprof_plugins.emulator.device import EmulatedDevice
    from ckprof_plugins.emulator.prediction import predict as predicted

    selection = options.selection
    build = replace(options.build, target=target.id, device=EmulatedDevice.id)
    library = library or build_library(session, selection, build, Purpose.RUN)
    if library.path is None:
        raise NothingLeftError("no kernel was built: nothing is predicted")
    measured = read_measured(session.registry, options.measured, library.built)
    to_learn = [ProblemCase(problem=problem) for problem in problems_to_learn(measured)]
    learned, chosen = (
        [
            (
                case,
                [
                    (kernel, split)
                    for kernel in library.built
                    if case.takes(kernel.selected())
                    for split in case.splits or (1,)
                ],
            )
            for case in some
        ]
        for some in (to_learn, options.problems)
    )
    cases = [*learned, *choose(library, chosen)]
    arch = library.recipe.arch
    code = {key: _digest_of(digest) for key, digest in library.object_keys.items()}
    answers = predicted(
        library.path,
        arch,
        device,
        [_question(library.direction, case, *one, arch) for case, asked in cases for one in asked],
        profile=options.profile or options.hot > 0,
        machine_code=[code[kernel.instance.key] for _, asked in cases for kernel, _ in asked],
    )
    try:
        # what is learned from comes first, so that each problem is corrected as soon as it is predicted
        rows = _answered(session, cases, answers, seen)
        known = {
            (case.problem, row.kernel.instance.key, row.split_k): row.time.time_us
            for case, found in islice(rows, len(to_learn))
            for row in found
            if row.time is not None
        }
        calibration = calibration_of(measured, known)
        numbers = {id(case): number for number, case in enumerate(options.problems)}
        problems = [
            _corrected(session, numbers.get(id(case), 0), case, found, calibration) for case, found in rows
        ]
    finally:
        session.emit(ProgressEnded())
    return Predictions(
        target=target.id,
        arch=arch,
        device=device,
        library=library,
        problems=tuple(problems),
        calibration=calibration,
    )


def _digest_of(key: str) -> str:
    """Return the digest of an object by its content; empty where it lies no longer in the cache.

    The content decides, not the key: an edit of a header that changes no machine code changes no time.
    """
    cache = ObjectCache(object_cache_dir())
    paths = [cache.object_path(one) for one in (key, cache.group_of(key)[0]) if one]
    with suppress(OSError):
        if found := [digest_file(path) for path in paths if path.is_file()]:
            return digest_parts(*found)
    return ""


def _answered(
    session: Session,
    cases: Sequence[Asked],
    answers: Iterator[tuple[PredictedTime | None, Answer]],
    seen: Callable[[ProblemCase, KernelPrediction], KernelPrediction],
) -> Iterator[tuple[ProblemCase, list[KernelPrediction]]]:
    """Yield each problem with its kernels as soon as all of them are predicted; say how far it is."""
    done, total = 0, sum(len(asked) for _, asked in cases)
    session.emit(Progress(what="predict", done=0, total=total))
    for case, asked in cases:
        found = []
        for (kernel, split), (time, answer) in zip(asked, answers, strict=False):
            done += 1
            session.emit(Progress(what="predict", done=done, total=total, name=kernel.shown))
            found.append(seen(case, KernelPrediction(kernel=kernel, split_k=split, time=time, answer=answer)))
        yield case, found


def _corrected(
    session: Session,
    number: int,
    case: ProblemCase,
    found: Iterable[KernelPrediction],
    calibration: Calibration,
) -> tuple[ProblemCase, tuple[KernelPrediction, ...]]:
    """Return a problem with its kernels, corrected and the fastest first; say which one that is."""
    corrected = (
        replace(row, time=row.time and calibration.applied(row.kernel.instance.key, row.time))
        for row in found
    )
    ranked = tuple(sorted(corrected, key=lambda row: row.time.time_us if row.time else inf))
    best = "nothing could be predicted"
    if ranked and ranked[0].time is not None:
        best = f"{ranked[0].time.time_us:.4g} us predicted for {ranked[0].kernel.name}"
    session.emit(Message(f"problem {number}: {best}"))
    return case, ranked


def _question(
    operation: Operation, case: ProblemCase, kernel: Candidate, split_k: int, arch: str
) -> Question:
    """Return the question about a kernel with what only the operation knows of the problem."""
    from ckprof_plugins.emulator.child import Question

    problem, instance = case.problem, kernel.instance
    names = operation.tensors_of(problem)
    types = types_on(instance.types, arch)
    sized = zip(names, types.of_so_many(len(names)), strict=True)
    specs = [(problem.tensor(name, instance.layout), dtype) for name, dtype in sized]
    specs.sort(key=lambda entry: entry[0].position)
    return Question(
        key=instance.key,
        ndim=problem.ndim,
        values=tuple(problem.values()),
        split_k=split_k,
        tensor_bytes=tuple(spec.stored_elements * dtype.properties.size_bytes for spec, dtype in specs),
        flop=problem.flop,
        traffic_bytes=traffic_of(problem, types),
        dtype=instance.dtype.value,
    )
