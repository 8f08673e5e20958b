"""Pairs against all assignments that there are, and against another library's."""

from __future__ import annotations

import itertools
import random

import pytest
from scipy.optimize import linear_sum_assignment

from ckprof.parity import compare as pairing
from ckprof.parity.compare import closest_pairs
from tests.cases import each


def things(rng, count, fields=6, values=3, kind="k"):
    return [(kind, tuple(rng.choice("abcdefgh"[:values]) for _ in range(fields))) for _ in range(count)]


def differing(one, other):
    return sum(a != b for a, b in zip(one[1], other[1], strict=True))


def total(first, second, pairs):
    return sum(differing(first[i], second[j]) for i, j in pairs.items())


@each(seed=range(60))
def test_no_assignment_of_few_is_better(seed):
    rng = random.Random(seed)
    first, second = (things(rng, rng.randint(1, 5)) for _ in range(2))
    pairs = closest_pairs(first, second)
    assert len(set(pairs.values())) == len(pairs)
    small, large = sorted((len(first), len(second)))
    swap = len(first) > len(second)
    costs = (
        sum(
            differing(first[j], second[i]) if swap else differing(first[i], second[j])
            for i, j in enumerate(p)
        )
        for p in itertools.permutations(range(large), small)
    )
    # what has nothing in common is no pair, and costs as much as it has fields
    assert total(first, second, pairs) + 6 * (small - len(pairs)) == min(costs)


@pytest.mark.parametrize(("rows", "columns"), [(40, 40), (70, 25), (20, 90)])
def test_many_are_paired_as_scipy_does(rows, columns):
    rng = random.Random(rows)
    first, second = things(rng, rows, 30, 8), things(rng, columns, 30, 8)
    pairs = closest_pairs(first, second)
    costs = [[differing(one, other) for other in second] for one in first]
    chosen = linear_sum_assignment(costs)
    assert len(pairs) == min(rows, columns)
    assert total(first, second, pairs) == sum(costs[i][j] for i, j in zip(*chosen, strict=True))
    assert closest_pairs(first, second) == pairs


def test_only_things_of_a_kind_with_something_in_common_are_paired():
    first = [("k", ("a", "b")), ("other", ("a", "b")), ("k", ("x", "y")), ("k", ("a",))]
    second = [("k", ("a", "c")), ("third", ("a", "b")), ("k", ("p", "q"))]
    assert closest_pairs(first, second) == {0: 0}
    assert closest_pairs(first, []) == closest_pairs([], second) == {}


def test_very_many_are_paired_once_each(monkeypatch):
    monkeypatch.setattr(pairing, "_LARGEST", 100)
    rng = random.Random(3)
    first, second = things(rng, 30, 12, 4), things(rng, 50, 12, 4)
    pairs = closest_pairs(first, second)
    assert len(pairs) == len(set(pairs.values())) == 30
    # the most alike of all are together
    least = min(differing(one, other) for one in first for other in second)
    assert min(differing(first[i], second[j]) for i, j in pairs.items()) == least
