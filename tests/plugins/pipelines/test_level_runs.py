"""In which order the kernels of a level are run, and what is kept of their outcomes."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import pytest

from ckprof.kernels.build.keys import abi_dir
from ckprof.model.api_level import API_LEVEL_2025_11
from tests.plugins.pipelines.level_runs import (
    KIND,
    LARGEST,
    PROBLEMS,
    Outcome,
    Record,
    convolutions,
    expressed,
    in_order,
    table,
)

pytestmark = pytest.mark.thorough


def setting(arch="gfx942"):
    return SimpleNamespace(
        arch=arch,
        api_level=API_LEVEL_2025_11,
        compiler=SimpleNamespace(description="clang 19"),
        digested_dirs=(abi_dir(),),
    )


def kind(candidate):
    return tuple(candidate.instance.fields().get(field) for field in KIND)


@pytest.fixture(scope="module")
def kernels():
    return {one.instance.key: one for _, _, valid in expressed(setting()) for one in valid}


def test_every_kernel_comes_once_and_one_of_each_kind_first(kernels):
    kinds = {kind(one) for one in kernels.values()}
    order = [one for group in in_order(kernels, (), "") for one in group]
    assert {one.instance.key for one in order} == set(kernels)
    assert len(order) == len(kernels)
    assert {kind(one) for one in order[: len(kinds)]} == kinds


def test_what_is_known_is_not_compiled_again_nor_another_one_of_its_kind_before_others(kernels):
    groups = list(in_order(kernels, (), ""))
    known = {one.instance.key for group in groups[:3] for one in group}
    order = [one for group in in_order(kernels, known, "") for one in group]
    assert {one.instance.key for one in order} == set(kernels) - known
    done = {kind(kernels[key]) for key in known}
    left = {kind(one) for one in kernels.values()} - done
    assert left
    assert {kind(one) for one in order[: len(left)]} == left


def test_outcomes_are_kept_for_their_architecture_alone(tmp_path, monkeypatch, kernels):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    passed, failed = list(kernels)[:2]
    path = tmp_path / "record.jsonl"
    outcomes = [
        Outcome(passed, right=3, wrong=["a problem: wrong_result: 1 of 8"]),
        Outcome(failed, "no match"),
    ]
    Record(path, setting()).add(outcomes)
    record = Record(path, setting())
    assert list(record.outcomes.values()) == outcomes
    assert not Record(path, setting("gfx950")).outcomes
    first = next(line for line in table(setting(), record) if line.startswith("| forward"))
    assert first.endswith("| 1 | 1 | 1 | 3 | 1 |")


@pytest.mark.parametrize("merged", [1, 8])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_convolutions_are_small_and_some_suit_every_kernel(ndim, merged):
    found = [one.problem for one in convolutions(random.Random(ndim), ndim, merged)]
    assert len(found) == PROBLEMS
    for one in found:
        channels = one.in_channels * one.out_channels * one.groups * one.batch
        assert channels * math.prod(one.filter) * math.prod(one.output) <= LARGEST
    assert any(one.filter == one.strides == (1,) * ndim and not any(one.left_pads) for one in found)
    assert merged == 1 or sum(one.groups % merged == 0 for one in found) == PROBLEMS // 2
