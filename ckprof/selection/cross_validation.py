"""Figures of a model on its own kind of problems: fitted to some, judged by others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.selection.metrics import summarise
from ckprof.selection.training import LEAST_PROBLEMS, train
from ckprof.selection.validation import ValidateRequest, validate

if TYPE_CHECKING:
    from ckprof.selection.metrics import Efficiency
    from ckprof.selection.training import TrainRequest

FOLDS: Final = 4


def cross_validated(request: TrainRequest) -> Efficiency | None:
    """Return the figures of choices for problems that were left out of the fit.

    Every problem is left out once, with all its measurements. Problems of one table are often variations of a
    few: figures on problems of another kind will be lower.

    :returns: ``None`` for fewer problems than the smallest fit needs in each fold.
    """
    count = len(request.table.problems)
    if count < FOLDS * LEAST_PROBLEMS:
        return None
    values = []
    for fold in range(FOLDS):
        held = tuple(range(fold, count, FOLDS))
        rest = tuple(index for index in range(count) if index % FOLDS != fold)
        model = train(replace(request, table=request.table.subset(rest)))
        found = validate(
            ValidateRequest(model=model, table=request.table.subset(held), gemm_sizes=request.gemm_sizes)
        )
        values += [one.efficiency for one in found.shapes]
    return summarise(values)
