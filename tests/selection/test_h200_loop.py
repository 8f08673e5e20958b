"""The loop on a GPU: models trained on half of the problems of a sweep, judged by the other half.

The thresholds are a little below what is reached, see ``docs/selection.md``. The tables hold what the cuda
target's own kernels took, so that the target says what these do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from ckprof.plugin.timing import TimedKernel
from ckprof.selection.csv_tables import read_csv
from ckprof.selection.training import TrainRequest, train
from ckprof.selection.validation import ValidateRequest, validate
from ckprof_plugins.directions.gemm_sizes import (
    backward_weight_runs,
    backward_weight_sizes,
    forward_runs,
    forward_sizes,
)
from ckprof_plugins.pipelines._gemm.traits import fields_of_name, traits_of_name
from ckprof_plugins.targets.cuda.execution import executed
from tests.selection.conftest import MEASURED

if TYPE_CHECKING:
    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.model.problem import ConvProblem
    from ckprof.selection.sizes import GemmSizes

MULTIPROCESSORS = 132


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One direction: what was measured, and the least figures."""

    direction: str
    sizes: GemmSizes
    problems: int
    kernels: int
    mean: float
    best_of_three: float


def forward(problem: ConvProblem) -> tuple[int, ...]:
    return *forward_sizes(problem), *forward_runs(problem)


def backward_weight(problem: ConvProblem) -> tuple[int, ...]:
    return *backward_weight_sizes(problem), *backward_weight_runs(problem)


CASES = (
    Expected(direction="fwd", sizes=forward, problems=200, kernels=68, mean=0.965, best_of_three=0.990),
    Expected(
        direction="bwd_weight",
        sizes=backward_weight,
        problems=60,
        kernels=15,
        mean=0.970,
        best_of_three=0.990,
    ),
)


@pytest.mark.parametrize("expected", CASES, ids=lambda one: one.direction)
def test_choices_for_unseen_problems(expected: Expected) -> None:
    def describe(name: str) -> KernelTraits | None:
        traits, fields = traits_of_name(name), fields_of_name(name)
        if traits is None or fields is None:
            return None
        return executed(TimedKernel(direction=expected.direction, dtype="bf16", fields=fields, traits=traits))

    training, unseen = (
        read_csv(MEASURED / f"h200_{expected.direction}_bf16_{half}.csv", describe)
        for half in ("train", "unseen")
    )
    assert not set(training.problems) & set(unseen.problems)
    assert len(training.problems) + len(unseen.problems) == expected.problems
    assert len(training.kernels) == len(unseen.kernels) == expected.kernels
    model = train(
        TrainRequest(
            table=replace(training, arch="h200"),
            direction=expected.direction,
            gemm_sizes=expected.sizes,
            dtype="bf16",
            element_bytes=2,
            device="h200",
            units=MULTIPROCESSORS,
        )
    )
    found = validate(ValidateRequest(model=model, table=unseen, gemm_sizes=expected.sizes, training=training))
    assert found.model.mean >= expected.mean
    assert found.best_of_top.mean >= expected.best_of_three
    assert found.nearest_neighbour is not None
    assert found.ceiling is not None
    assert found.best_single.mean < found.nearest_neighbour.mean < found.model.mean < found.ceiling.mean
