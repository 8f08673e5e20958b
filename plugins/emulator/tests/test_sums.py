"""Sums of some elements are those of the operations' references, which know whole tensors only."""

import random
from itertools import islice

import numpy as np
import pytest

from ckprof.measure.verify.operands import Drawing, InitKind, OperandValues, make_operand
from ckprof.model.types import DataType
from ckprof.problems.choose import random_problems
from ckprof_plugins.emulator.sums import SumsOfProducts

WANTED = OperandValues(kind=InitKind.INTEGER, seed=3, reduction_length=1)
MOST_PRODUCTS = 200_000


@pytest.mark.parametrize("name", ["forward", "bwd_data", "bwd_weight", "gemm"])
def test_sums_are_those_of_the_reference(registry, name):
    operation = registry.operation(name)
    layout = operation.layouts[-1]

    def is_small(problem):
        result = problem.tensor(operation.tensors[-1], layout)
        return result.elements * operation.reduction_length(problem) < MOST_PRODUCTS

    problems = filter(is_small, random_problems(operation, random.Random(7), layout.ndim))
    for problem in islice(problems, 3):
        specs = tuple(problem.tensor(tensor, layout) for tensor in operation.tensors)
        drawings = {spec.name: Drawing.of(spec, DataType.FP32, WANTED) for spec in specs[:-1]}
        operands = {spec.name: make_operand(spec, DataType.FP32, WANTED) for spec in specs[:-1]}
        sums = SumsOfProducts(operation.contraction(problem), specs, drawings)
        got = sums.at(np.arange(specs[-1].stored_elements))
        expected = operation.reference(
            problem, layout, {spec: values.astype(np.float64) for spec, values in operands.items()}
        )
        np.testing.assert_array_equal(got[~np.isnan(got)], expected.ravel())
