"""Judges a model by measured times that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.selection.baselines import best_single, nearest_neighbour, noise_ceiling
from ckprof.selection.metrics import Efficiency, summarise
from ckprof.selection.selector import Candidate, Selector
from ckprof.selection.sizes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.problem import Problem
    from ckprof.selection.measurements import Choice, Measurements
    from ckprof.selection.model import Prediction, TimeModel
    from ckprof.selection.sizes import GemmSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateRequest:
    """What to judge."""

    model: TimeModel
    table: Measurements
    gemm_sizes: GemmSizes
    #: what the model was trained on, for the nearest neighbour; ``None``: that figure is left out
    training: Measurements | None = None
    #: how many of the predicted best are measured for the top figure
    top: int = 3
    #: correct predictions by the model's trees
    boost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedShape:
    """One problem."""

    problem: Problem
    chosen: Choice
    #: its measured time
    chosen_us: float
    predicted_us: float
    #: relative standard deviation of the prediction
    uncertainty: float
    best: Choice
    best_us: float
    warnings: tuple[str, ...]

    @property
    def efficiency(self) -> float:
        """Best time divided by the time of the chosen kernel."""
        return self.best_us / self.chosen_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Figures of a model beside those of simpler choices."""

    shapes: tuple[JudgedShape, ...]
    kernels: tuple[str, ...]
    #: kernels that the model was not trained on
    derived: tuple[str, ...]
    model: Efficiency
    top: int
    #: the best of the ``top`` predicted best kernels
    best_of_top: Efficiency
    single: Choice
    best_single: Efficiency
    nearest_neighbour: Efficiency | None
    #: what nobody can beat; ``None`` if no kernels are alike
    ceiling: Efficiency | None
    #: times that were left out, with the reason
    dropped: tuple[str, ...]


def validate(request: ValidateRequest) -> Validation:
    """Choose a kernel for every problem of a table and look up what it took.

    Only kernels that were measured on a problem are offered for it.

    :raises InputError: the table holds no time.
    """
    table = request.table.without_glitches()
    kept = tuple(index for index in range(len(table.problems)) if table.of_problem(index))
    if not kept:
        raise InputError("there is no measured time to validate with")
    table = table.subset(kept)
    selector = Selector(request.model, candidates_of(table), request.gemm_sizes, boost=request.boost)
    shapes, tops = [], []
    for index, problem in enumerate(table.problems):
        row = table.of_problem(index)
        ranking = selector.rank(
            problem,
            top=request.top,
            supported=partial(_is_measured, row),
            distinct=True,
        )
        shapes.append(_judged(problem, row, ranking.predictions, ranking.warnings))
        tops.append(min(row.values()) / min(row[one.kernel, one.splits] for one in ranking.predictions))
    single, single_values = best_single(table)
    ceiling = noise_ceiling(table)
    return Validation(
        shapes=tuple(shapes),
        kernels=tuple(table.kernels),
        derived=tuple(name for name in table.kernels if name not in request.model.kernels),
        model=summarise([one.efficiency for one in shapes]),
        top=request.top,
        best_of_top=summarise(tops),
        single=single,
        best_single=summarise(single_values),
        nearest_neighbour=_neighbour_figures(request, table),
        ceiling=None if ceiling is None else summarise(ceiling),
        dropped=table.dropped,
    )


def _is_measured(times: Mapping[Choice, float], name: str, splits: int) -> bool:
    """Say whether there is a time of a kernel with a number of splits."""
    return (name, splits) in times


def candidates_of(table: Measurements) -> list[Candidate]:
    """Return the kernels of a table with the splits that were measured."""
    splits: dict[str, list[int]] = {}
    for name, count in table.choices:
        splits.setdefault(name, []).append(count)
    return [
        Candidate(name=name, traits=table.kernels[name], splits=tuple(counts))
        for name, counts in splits.items()
    ]


def _judged(
    problem: Problem,
    row: dict[Choice, float],
    predictions: Sequence[Prediction],
    warnings: tuple[str, ...],
) -> JudgedShape:
    first = predictions[0]
    chosen = first.kernel, first.splits
    best = min(row, key=row.__getitem__)
    return JudgedShape(
        problem=problem,
        chosen=chosen,
        chosen_us=row[chosen],
        predicted_us=first.time_us,
        uncertainty=first.uncertainty,
        best=best,
        best_us=row[best],
        warnings=warnings,
    )


def _neighbour_figures(request: ValidateRequest, table: Measurements) -> Efficiency | None:
    if request.training is None:
        return None
    size = request.model.element_bytes
    training = request.training.without_glitches()
    known, best = [], []
    for index, problem in enumerate(training.problems):
        row = training.of_problem(index)
        if row:
            known.append(sizes_of(problem, request.gemm_sizes, size))
            best.append(min(row, key=row.__getitem__))
    values = []
    for index, problem in enumerate(table.problems):
        row = table.of_problem(index)
        chosen = nearest_neighbour(known, best, sizes_of(problem, request.gemm_sizes, size), row)
        values.append(min(row.values()) / row[chosen])
    return summarise(values)
