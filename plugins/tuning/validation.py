"""Judges a model by measured times that it has not seen: its intervals and its choices."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.tuning.measured_tables import read_tables
from ckprof_plugins.tuning.model_use import (
    KernelKind,
    gemm_sizes_of,
    load_model,
    require_device,
    require_target,
)
from ckprof_plugins.tuning.time_model.model import Efficiency, summarise
from ckprof_plugins.tuning.time_model.selector import Selector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.problem import Problem
    from ckprof.session import Session
    from ckprof_plugins.tuning.options import ValidateOptions
    from ckprof_plugins.tuning.time_model.formula import GemmSizes, Sizes
    from ckprof_plugins.tuning.time_model.measurements import Choice, Measurements
    from ckprof_plugins.tuning.time_model.model import Prediction, TimeModel


#: Choices whose times differ by less than this on half of the problems are replicates of one another.
_REPLICATE: Final = 0.01
_COMMON: Final = 12


def best_single(table: Measurements) -> tuple[Choice, list[float]]:
    """Return the choice that is best on average, and its efficiency on each problem.

    It is chosen by the very problems that it is judged by, which flatters it. Only choices that were measured
    on all problems take part, if there are any.
    """

    def efficiencies(choice: Choice) -> list[float]:
        return [min(row.values()) / row[choice] if choice in row else 0.0 for row in table.rows]

    return max(
        ((choice, efficiencies(choice)) for choice in table.choices), key=lambda judged: fmean(judged[1])
    )


def nearest_neighbour(
    training: Sequence[tuple[Sizes, Choice]], problem: Sizes, offered: Mapping[Choice, float]
) -> Choice:
    """Return the best choice of the most similar training problem that is offered for a problem.

    :param training: the training problems, and the best choice of each.
    """

    def gap(trained: tuple[Sizes, Choice]) -> float:
        axes = ("m", "n", "k", "batch")
        return sum(log(getattr(trained[0], axis) / getattr(problem, axis)) ** 2 for axis in axes)

    ranked = sorted(training, key=gap)
    return next((choice for _, choice in ranked if choice in offered), next(iter(offered)))


def noise_ceiling(table: Measurements) -> list[float]:
    """Return what knowing the best group of replicates gives on each problem; nothing without replicates.

    Kernels that take the same time on all problems are replicates. Whoever knows the best group still does
    not know which of its members was lucky in this table: the expected efficiency is the mean over the
    members of the group with the smallest mean.
    """
    groups = _groups(table)
    if all(len(group) == 1 for group in groups):
        return []
    efficiencies = []
    for row in table.rows:
        every = [[row[choice] for choice in group if choice in row] for group in groups]
        times = min(filter(None, every), key=lambda times: (fmean(times), times))
        efficiencies.append(fmean(min(row.values()) / time for time in times))
    return efficiencies


def _groups(table: Measurements) -> list[list[Choice]]:
    groups: list[list[Choice]] = []
    for choice in table.choices:
        for group in groups:
            both = [row for row in table.rows if choice in row and group[0] in row]
            gaps = [abs(log(row[choice] / row[group[0]])) for row in both]
            if len(gaps) >= _COMMON and median(gaps) < _REPLICATE:
                group.append(choice)
                break
        else:
            groups.append([choice])
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedShape:
    """One problem."""

    problem: Problem
    #: of the kernel that was chosen
    prediction: Prediction
    #: its measured time
    chosen_us: float
    best: Choice
    best_us: float
    #: choices that were measured on it; with a single one, the efficiency is meaningless
    choices: int
    #: why the prediction may be farther off than that
    warnings: tuple[str, ...]

    @property
    def efficiency(self) -> float:
        """Best time divided by the time of the chosen kernel."""
        return self.best_us / self.chosen_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Figures of a model and of reference policies.

    Efficiencies are those on problems on which two choices or more were measured, ``None`` without any: the
    only kernel is no choice.
    """

    shapes: tuple[JudgedShape, ...]
    kernels: tuple[str, ...]
    #: kernels that the model was not trained on
    derived: tuple[str, ...]
    #: whether each measured time lies in the interval of its prediction, which promises 95 %: of all kernels,
    #: for predictions without a warning
    inside: tuple[bool, ...]
    #: for predictions with a warning: a problem or a kernel unlike those that the model was trained on
    warned_inside: tuple[bool, ...]
    #: of chosen kernels, without a warning
    chosen_inside: tuple[bool, ...]
    model: Efficiency | None
    top: int
    #: the best of the ``top`` predicted best kernels
    best_of_top: Efficiency | None
    single: Choice | None
    best_single: Efficiency | None
    nearest_neighbour: Efficiency | None
    #: the noise ceiling; ``None`` if no kernels are equivalent
    ceiling: Efficiency | None
    #: times that were left out, with the reason
    dropped: tuple[str, ...]
    #: problems without a measured kernel: there is nothing to choose
    unserved: tuple[Problem, ...]
    #: see :attr:`ckprof_plugins.tuning.time_model.model.TimeModel.basis`
    basis: str
    #: the times are those that the model was trained on
    seen: bool


def validate(session: Session, options: ValidateOptions) -> Validation:
    """Judge a model by the measured times of files.

    :raises InputError: a file is wrong, or the model is of another device and not forced.
    """
    model = load_model(options.model)
    kind, training = KernelKind.of(model), options.training
    table = read_tables(session.registry, options.files, kind)
    if not options.force:
        require_target(model, table.target, options.model)
        require_device(model, table.arch, options.model)
    return judged_model(
        model,
        table,
        gemm_sizes_of(session.registry, model.direction, model.dtype),
        training=read_tables(session.registry, training, kind) if training else None,
        top=options.top,
    )


def judged_model(
    model: TimeModel,
    measured: Measurements,
    gemm_sizes: GemmSizes,
    *,
    training: Measurements | None = None,
    top: int = 3,
) -> Validation:
    """Choose a kernel for every problem of a table and look up what it took.

    Only kernels that were measured on a problem are offered for it.

    :param training: what the model was trained on, for the nearest neighbour; without it that figure is left
        out.
    :param top: how many of the predicted best are measured for the top figure.
    :raises InputError: the table holds no time.
    """
    table = measured.without_glitches()
    kept = tuple(index for index, row in enumerate(table.rows) if row)
    if not kept:
        raise InputError("there is no measured time to validate with")
    unserved = [problem for problem, row in zip(table.problems, table.rows, strict=True) if not row]
    table = table.subset(kept)
    selector = Selector(model, table.kernels, gemm_sizes, choices=table.choices)
    shapes, of_top = [], []
    inside: dict[bool, list[bool]] = {False: [], True: []}
    for problem, row in zip(table.problems, table.rows, strict=True):
        warnings = model.warnings(gemm_sizes(problem))
        shape, predictions = _judged(problem, row, warnings, selector)
        shapes.append(shape)
        of_top.append(shape.best_us / min(row[one.kernel, one.splits] for one in predictions[:top]))
        for one in predictions:
            warned = bool(warnings or selector.warning_of(one.kernel))
            inside[warned].append(one.holds(row[one.kernel, one.splits]))
    several = tuple(index for index, shape in enumerate(shapes) if shape.choices > 1)
    choice = table.subset(several)
    single, single_values = best_single(choice) if several else (None, [])
    return Validation(
        shapes=tuple(shapes),
        kernels=tuple(table.kernels),
        derived=tuple(name for name in table.kernels if name not in model.kernels),
        inside=tuple(inside[False]),
        warned_inside=tuple(inside[True]),
        chosen_inside=tuple(
            shape.prediction.holds(shape.chosen_us) for shape in shapes if not shape.warnings
        ),
        model=summarise([shapes[index].efficiency for index in several]),
        top=top,
        best_of_top=summarise([of_top[index] for index in several]),
        single=single,
        best_single=summarise(single_values),
        nearest_neighbour=_neighbour_figures(training, choice, gemm_sizes),
        ceiling=summarise(noise_ceiling(choice)),
        dropped=table.dropped,
        unserved=(*measured.unserved, *unserved),
        basis=model.basis,
        seen=measured.digest == model.origin.digest,
    )


def _judged(
    problem: Problem, row: Mapping[Choice, float], warnings: tuple[str, ...], selector: Selector
) -> tuple[JudgedShape, tuple[Prediction, ...]]:
    """Return what was chosen for a problem, and the predictions of all kernels that were measured on it."""
    predictions = selector.rank(problem, supported=lambda name, splits: (name, splits) in row, distinct=True)
    first = predictions[0]
    best = min(row, key=row.__getitem__)
    strange = selector.warning_of(first.kernel)
    shape = JudgedShape(
        problem=problem,
        prediction=first,
        chosen_us=row[first.kernel, first.splits],
        best=best,
        best_us=row[best],
        choices=len(row),
        warnings=(*warnings, strange) if strange else warnings,
    )
    return shape, predictions


def _neighbour_figures(
    trained: Measurements | None, table: Measurements, gemm_sizes: GemmSizes
) -> Efficiency | None:
    if trained is None:
        return None
    training = trained.without_glitches()
    rows = [(gemm_sizes(problem), row) for problem, row in zip(training.problems, training.rows, strict=True)]
    best = [(sizes, min(row, key=row.__getitem__)) for sizes, row in rows if row]
    values = []
    for problem, row in zip(table.problems, table.rows, strict=True):
        values.append(min(row.values()) / row[nearest_neighbour(best, gemm_sizes(problem), row)])
    return summarise(values)
