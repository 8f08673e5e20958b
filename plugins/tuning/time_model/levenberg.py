"""Least squares with a soft loss for equations that fall into groups.

Each row depends on a few parameters that all groups share and on those of its own group. The normal
equations are added up group by group from narrow matrices. A general solver decomposes the whole Jacobian in
every step, which takes several times as long for tables of some thousand times; the tests compare both.

The matrices are too small for the threads of a linear algebra library, whose start and waiting would take ten
times as long as the work on a busy machine: products and the factorisation are done without them. So the
result does not depend on the number of threads either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FIRST_DAMPING: Final = 1e-2
_LEAST_DAMPING: Final = 1e-9
_MOST_DAMPING: Final = 1e9
#: A step that lowers the cost by less than this part ends the search, when it happens twice in a row.
_SMALL_GAIN: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some rows of the equations."""

    residuals: Array
    #: indices of the parameters that they depend on
    columns: NDArray[np.intp]
    #: derivatives by those: rows x columns
    jacobian: Array


class Equations(Protocol):
    """What is solved."""

    def blocks(self, vector: Array) -> Sequence[Block]:
        """Return all rows at a point."""

    def residuals(self, vector: Array) -> Array:
        """Return the residuals of all rows at a point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulls:
    """Linear rows without a soft loss: ``matrix @ vector - target``."""

    matrix: Array
    target: Array

    def gaps(self, vector: Array) -> Array:
        """Return the rows at a point."""
        gaps: Array = np.einsum("rc,c->r", self.matrix, vector) - self.target
        return gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Where the search ended."""

    vector: Array
    cost: float
    steps: int


def soft_cost(residuals: Array, scale: float) -> float:
    """Return half the soft-L1 loss: quadratic below ``scale``, linear above it."""
    return float((scale**2 * (np.sqrt(1 + (residuals / scale) ** 2) - 1)).sum())


def solve(equations: Equations, pulls: Pulls, start: Array, *, scale: float, steps: int) -> Solution:
    """Minimise the soft loss of the rows plus the squares of the pulls, by Levenberg and Marquardt's method.

    :param scale: size of a residual from which on it counts less than quadratically.
    :param steps: how many steps are tried at most.
    """

    def cost_of(vector: Array) -> float:
        gaps = pulls.gaps(vector)
        return soft_cost(equations.residuals(vector), scale) + 0.5 * float(gaps @ gaps)

    vector, cost = start.copy(), cost_of(start)
    pulled: Array = np.einsum("ri,rj->ij", pulls.matrix, pulls.matrix)
    damping, small = _FIRST_DAMPING, 0
    done = 0
    while done < steps and small < 2:
        matrix, gradient = _normal_equations(equations, pulls, vector, scale)
        matrix += pulled
        diagonal = np.diag(matrix) + 1e-12
        while done < steps and damping <= _MOST_DAMPING:
            done += 1
            change = _solved(matrix + np.diag(damping * diagonal), -gradient)
            trial = vector + np.clip(change, -2.0, 2.0)
            trial_cost = cost_of(trial)
            if trial_cost < cost:
                break
            damping *= 4
        else:
            break
        small = small + 1 if cost - trial_cost < _SMALL_GAIN * cost else 0
        vector, cost = trial, trial_cost
        damping = max(_LEAST_DAMPING, damping / 5)
    return Solution(vector=vector, cost=cost, steps=done)


def _normal_equations(equations: Equations, pulls: Pulls, vector: Array, scale: float) -> tuple[Array, Array]:
    """Return the matrix without that of the pulls, and the gradient."""
    matrix = np.zeros((len(vector), len(vector)))
    gradient: Array = np.einsum("rc,r->c", pulls.matrix, pulls.gaps(vector))
    for block in equations.blocks(vector):
        trust = 1 / np.sqrt(1 + (block.residuals / scale) ** 2)
        weighted = block.jacobian * trust[:, None]
        matrix[np.ix_(block.columns, block.columns)] += np.einsum("ri,rj->ij", block.jacobian, weighted)
        gradient[block.columns] += np.einsum("rc,r->c", weighted, block.residuals)
    return matrix, gradient


def _solved(matrix: Array, right: Array) -> Array:
    """Solve equations with a symmetric positive matrix, by Cholesky's factorisation.

    Parameters of different groups rarely meet: columns with few values come first, those that all groups
    share come last, and only what is not zero is worked on.
    """
    order = np.argsort((matrix != 0).sum(axis=0), kind="stable")
    lower = matrix[np.ix_(order, order)]
    values: Array = right[order]
    below: list[NDArray[np.intp]] = []
    for column in range(len(values)):
        lower[column:, column] /= lower[column, column] ** 0.5
        rows = column + 1 + np.flatnonzero(lower[column + 1 :, column])
        factors = lower[rows, column]
        lower[np.ix_(rows, rows)] -= factors[:, None] * factors
        values[column] /= lower[column, column]
        values[rows] -= factors * values[column]
        below.append(rows)
    for column in reversed(range(len(values))):
        rows = below[column]
        values[column] -= (lower[rows, column] * values[rows]).sum()
        values[column] /= lower[column, column]
    solution: Array = np.empty_like(values)
    solution[order] = values
    return solution
