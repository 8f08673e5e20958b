"""Boosted trees: LightGBM trains them, plain tables hold them, and nobody needs them."""

from __future__ import annotations

import random
import sys
from dataclasses import replace

import pytest

from ckprof.errors import UsageError
from ckprof_plugins.tuning.time_model.measurements import Measurements
from ckprof_plugins.tuning.time_model.model import TimeModel
from ckprof_plugins.tuning.time_model.selector import Selector
from ckprof_plugins.tuning.time_model.trees import FEATURES, BoostedTree, correction, features, train_trees
from ckprof_plugins.tuning.validation import judged_model
from plugins.tuning.tests.sizes import forward_sizes
from plugins.tuning.tests.time_model.figures import of_kernels

STUMP = BoostedTree(features=(0,), thresholds=(2.0,), left=(-1,), right=(-2,), leaves=(0.5, -0.25))


def test_trees_by_hand() -> None:
    assert [STUMP.value([x]) for x in (1.0, 2.0, 2.5)] == [0.5, 0.5, -0.25]
    deep = BoostedTree(
        features=(0, 1), thresholds=(2.0, 7.0), left=(1, -1), right=(-3, -2), leaves=(1.0, 2.0, 3.0)
    )
    assert [deep.value(row) for row in ([1.0, 7.0], [1.0, 8.0], [3.0, 0.0])] == [1.0, 2.0, 3.0]
    assert BoostedTree(features=(), thresholds=(), left=(), right=(), leaves=(0.75,)).value([]) == 0.75
    assert correction((STUMP, STUMP), [1.0]) == pytest.approx(2.718281828459045)


def test_without_lightgbm_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, model_20: TimeModel, table_20: Measurements
) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(UsageError, match=r"pip install 'ckprof\[boost\]'"):
        train_trees(table_20, model_20, forward_sizes)


def test_a_model_without_trees_corrects_nothing(model_20: TimeModel, table_30: Measurements) -> None:
    with pytest.raises(UsageError, match="no boosted trees"):
        Selector(model_20, table_30.kernels, forward_sizes, boost=True)


def test_trees_change_the_ranking_only_when_asked(model_20: TimeModel, table_30: Measurements) -> None:
    slow_large = BoostedTree(
        features=(FEATURES.index("tile_m"),), thresholds=(3.0,), left=(-1,), right=(-2,), leaves=(-9.0, 9.0)
    )
    model = replace(model_20, trees=(slow_large,))
    problem = max(table_30.problems, key=lambda one: one.batch * one.input[0] * one.input[1])
    plain = Selector(model, table_30.kernels, forward_sizes)
    boosted = Selector(model, table_30.kernels, forward_sizes, boost=True)
    assert not plain.rank(problem)[0].kernel.startswith("16x")
    assert boosted.rank(problem)[0].kernel.startswith("16x")
    assert plain.best(problem) == boosted.best(problem)


def test_tables_give_what_lightgbm_gives(model_20: TimeModel, table_20: Measurements) -> None:
    lightgbm = pytest.importorskip(
        "lightgbm", reason="LightGBM is not installed: pip install 'ckprof[boost]'"
    )
    kept: list[object] = []
    original = lightgbm.train

    def train(*arguments: object, **named: object) -> object:
        kept.append(original(*arguments, **named))
        return kept[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lightgbm, "train", train)
        trees = train_trees(table_20, model_20, forward_sizes)
    source = random.Random(3)
    rows = []
    for problem in source.sample(table_20.problems, 20):
        sizes = forward_sizes(problem)
        rows += [features(model_20, one, sizes, 1) for one in model_20.kernels.values()]
    expected = kept[0].predict(rows)  # type: ignore[attr-defined]
    found = [sum(tree.value(row) for tree in trees) for row in rows]
    assert found == pytest.approx(list(expected), rel=1e-9, abs=1e-12)


def test_trees_keep_the_choice_good(
    model_20: TimeModel, table_20: Measurements, table_30: Measurements
) -> None:
    pytest.importorskip("lightgbm", reason="LightGBM is not installed: pip install 'ckprof[boost]'")
    model = replace(model_20, trees=train_trees(table_20, model_20, forward_sizes))
    found = judged_model(model, of_kernels(table_30, table_20), forward_sizes, boost=True)
    assert found.model.mean > 0.97
