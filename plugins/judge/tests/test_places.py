from __future__ import annotations

from collections import Counter

import pytest

from ckprof.model.types import DataType
from ckprof_plugins.judge.operands import Place, Task
from ckprof_plugins.judge.places import KINDS, reached, smaller, weight


def task_of(registry, direction):
    operation = registry.operation(direction)
    usual = operation.default_problem[0 if direction == "gemm" else 2]
    layout = next(one for one in operation.layouts if one.ndim == usual.ndim)
    return Task(operation=operation, types=operation.types(DataType.FP16), layout=layout), usual


@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight", "gemm"])
def test_problems_are_of_all_kinds_and_the_first_ones_as_well(registry, direction):
    task, usual = task_of(registry, direction)
    found = reached(task, usual, 7, splits=True)
    kinds = Counter(one.kind for one in found)
    assert {*kinds} <= {*KINDS, "second", "random"}
    least = {"channels", "tiles", "loops", "splits", "batch", "random"}
    assert least <= {*kinds}
    assert least <= {one.kind for one in found[: 6 * len(kinds)]}
    assert len({one.place for one in found}) == len(found)
    assert all(one.place.problem.unmet_by(task.layout) is None for one in found)
    if direction != "gemm":
        assert found[0].kind == "second"
        assert any(one.place.problem.groups > 1 for one in found)
        assert any(len({*one.place.problem.strides}) > 1 for one in found)
    assert any(one.place.split_k > 1 for one in found)
    if direction == "gemm":
        assert reached(task, usual, 7, splits=True) == found
        assert {one.place.split_k for one in reached(task, usual, 7, splits=False)} == {1}


def test_smaller_problems_are_smaller_and_of_the_same_kind(registry):
    task, usual = task_of(registry, "gemm")
    place = Place(usual, 3)
    some = [*smaller(place, task)]
    assert some and all(weight(one) < weight(place) for one in some)
    assert [*map(weight, some)] == sorted(map(weight, some))
    assert any(one.split_k < 3 for one in some) and any(one.problem.k == 1 for one in some)
