from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckprof.model.types import DataType
from ckprof_plugins.judge.changes import exchange, negate
from ckprof_plugins.judge.operands import Task, exchanges


def test_slices_are_negated_as_numbers_are_and_poison_stays():
    """The middle axis of three has four indices, two elements apart."""
    values = np.arange(-8, 16, dtype=np.float32).reshape(3, 4, 2)
    values[0, 1, 0] = 0.0
    words = values.reshape(-1).view(np.uint32).copy()
    words[13] = 0xFFFFFFFF
    expected = values.copy()
    expected[:, [1, 3]] *= -1
    expected[0, 1, 0] = 0.0
    expected = expected.reshape(-1).view(np.uint32)
    expected[13] = 0xFFFFFFFF
    negate(words, 4, 2, np.array([1, 3]))
    assert np.array_equal(words, expected)
    negate(words, 4, 2, np.array([1, 3]))
    words[13] = values.reshape(-1).view(np.uint32)[13]
    assert np.array_equal(words, values.reshape(-1).view(np.uint32))


@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight", "gemm"])
def test_exchanged_operands_exchange_the_result(registry, direction):
    """By the operation's own reference, with several groups or products, integers and nothing rounded."""
    operation = registry.operation(direction)
    if direction == "gemm":
        problem = replace(operation.default_problem[0], m=5, n=7, k=3, batch=2)
    else:
        problem = replace(
            operation.default_problem[2], groups=2, batch=3, out_channels=5, in_channels=4, input=(6, 5)
        )
    layout = next(one for one in operation.layouts if one.ndim == problem.ndim)
    task = Task(operation=operation, types=operation.types(DataType.INT8), layout=layout)
    draw = np.random.default_rng(3)
    *names, _ = operation.tensors_of(problem)
    specs = {name: problem.tensor(name, layout) for name in names}
    operands = {name: draw.integers(-4, 5, spec.shape).astype(float) for name, spec in specs.items()}
    before = operation.reference(problem, layout, operands).copy()
    axes = exchanges(task, problem)
    assert [axis.operand for axis in axes] == names
    changed = {name: values.copy() for name, values in operands.items()}
    expected = before.reshape(-1).copy()
    for axis in axes:
        indices = np.array(draw.choice(axis.length, min(axis.length, 3), replace=False))
        exchange(changed[axis.operand].reshape(-1), axis.length, axis.operand_step, indices)
        exchange(expected, axis.length, axis.result_step, indices)
    after = operation.reference(problem, layout, changed).reshape(-1)
    assert np.array_equal(after, expected) and not np.array_equal(after, before.reshape(-1))
