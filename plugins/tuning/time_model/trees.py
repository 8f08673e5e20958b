"""Boosted trees on what the time model leaves unexplained, for those who ask for them.

Trees correct the ranking of kernels on one problem, not the length of their times: they are trained on the
logarithm of measured / predicted time less its mean over the problem. LightGBM trains them; a model file
holds them as plain tables, which are evaluated without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import UsageError
from ckprof_plugins.tuning.time_model.formula import terms, work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof_plugins.tuning.time_model.formula import GemmSizes, Sizes
    from ckprof_plugins.tuning.time_model.measurements import Measurements
    from ckprof_plugins.tuning.time_model.model import ModelKernel, TimeModel


#: what trees decide by, in this order
FEATURES: Final = (
    "m", "n", "k", "batch", "tile_m", "tile_n", "tile_k", "lds_stages", "splits", "load", "idle", "loops",
    "padding_m", "padding_n", "time", "waiting", "computing", "memory", "ragged",
)  # fmt: skip
_ROUNDS: Final = 150
_SETTINGS: Final[Mapping[str, object]] = {
    "objective": "regression",
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 40,
    "lambda_l2": 10.0,
    "feature_fraction": 0.8,
    "seed": 14,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


def correction(trees: Sequence[BoostedTree], row: Sequence[float]) -> float:
    """Return the factor by which a predicted time is corrected."""
    return exp(sum(tree.value(row) for tree in trees))


def features(model: TimeModel, kernel: ModelKernel, sizes: Sizes, splits: int) -> list[float]:
    """Return the features of a kernel on a problem, in the order of :data:`FEATURES`."""
    traits = kernel.computes
    done = work(traits, sizes, splits, model.compute_units)
    parts = terms(done, model.shared, kernel.parameters)
    tile_m, tile_n, tile_k = traits.tile
    total = parts.total
    return [
        *(log(value) for value in (sizes.m, sizes.n, sizes.k, sizes.batch, tile_m, tile_n, tile_k)),
        float(traits.lds_stages),
        log(splits),
        log(done.load),
        1.0 if done.rounds is None else done.rounds / done.load,
        log(done.loops),
        -(-sizes.m // tile_m) * tile_m / sizes.m,
        -(-sizes.n // tile_n) * tile_n / sizes.n,
        log(total),
        parts.waiting / total,
        parts.computing / total,
        parts.memory / total,
        0.0 if done.ragged is None else float(done.ragged),
    ]


def train_trees(table: Measurements, model: TimeModel, gemm_sizes: GemmSizes) -> tuple[BoostedTree, ...]:
    """Return trees for what a model leaves unexplained of the times that it was fitted to.

    :raises UsageError: LightGBM is not installed.
    """
    try:
        import lightgbm
    except ImportError:
        raise UsageError("boosted trees need LightGBM: pip install 'ckprof[boost]'") from None
    import numpy as np

    rows: list[list[float]] = []
    targets: list[float] = []
    weights: list[float] = []
    clean = table.without_glitches()
    for problem, measured in zip(clean.problems, clean.rows, strict=True):
        if not measured:
            continue
        sizes = gemm_sizes(problem)
        gaps = []
        for (name, splits), time in measured.items():
            kernel = model.kernels[name]
            rows.append(features(model, kernel, sizes, splits))
            gaps.append(log(time / model.time_us(kernel, sizes, splits)))
            weights.append(min(measured.values()) / time)
        mean = fmean(gaps)
        targets += [gap - mean for gap in gaps]
    data = lightgbm.Dataset(
        np.array(rows), label=np.array(targets), weight=np.array(weights), feature_name=list(FEATURES)
    )
    booster = lightgbm.train(dict(_SETTINGS), data, num_boost_round=_ROUNDS)
    return tuple(_table(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"])


def _table(structure: Mapping[str, Any]) -> BoostedTree:
    """Return a tree of LightGBM's form as tables."""
    nodes = list(_nodes(structure))
    splits = [node for node in nodes if "split_feature" in node]
    leaves = [node for node in nodes if "leaf_value" in node]
    position = {id(node): number for number, node in enumerate(splits)}
    position |= {id(node): -1 - number for number, node in enumerate(leaves)}
    return BoostedTree(
        features=tuple(int(node["split_feature"]) for node in splits),
        thresholds=tuple(float(node["threshold"]) for node in splits),
        left=tuple(position[id(node["left_child"])] for node in splits),
        right=tuple(position[id(node["right_child"])] for node in splits),
        leaves=tuple(float(node["leaf_value"]) for node in leaves),
    )


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    if "split_feature" in node:
        yield from _nodes(node["left_child"])
        yield from _nodes(node["right_child"])


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedTree:
    """One tree. Node 0 is its root; children below zero are leaves: -1 is the first one."""

    #: per node: index into :data:`FEATURES`, and the largest value that goes left
    features: tuple[int, ...]
    thresholds: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    #: logarithms of factors, per leaf
    leaves: tuple[float, ...]

    def value(self, row: Sequence[float]) -> float:
        """Return the leaf that a row of features falls into."""
        node = 0 if self.features else -1
        while node >= 0:
            below = row[self.features[node]] <= self.thresholds[node]
            node = self.left[node] if below else self.right[node]
        return self.leaves[-1 - node]
