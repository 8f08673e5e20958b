"""One decision tree of boosted ones, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One tree. Node 0 is its root; children below zero are leaves: -1 is the first one."""

    #: per node: index into :data:`ckprof.selection.boost.FEATURES`, and the largest value that goes left
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
