"""Least squares with a soft loss for equations that fall into groups.

Each row depends on a few parameters that all groups share and on those of its own group. The normal
equations are added up group by group from narrow matrices. A general solver decomposes the whole Jacobian in
every step, which takes several times as long for tables of some thousand times; the tests compare both.

The matrices are too small for the threads of a linear algebra library, whose start and waiting would take ten
times as long as the work on a busy machine: products and the factorisation are done without them. So the
result does not depend on the number of threads either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

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


#: some rows: residuals, indices of the parameters that they depend on, and rows x derivatives by those
Block: TypeAlias = "tuple[Array, NDArray[np.intp], Array]"


class Equations(Protocol):
    """What is solved."""

    def blocks(self, vector: Array) -> Sequence[Block]:
        """Return all rows at a point."""

    def residuals(self, vector: Array) -> Array:
        """Return the residuals of all rows at a point."""


def solve(
    equations: Equations, pulls: tuple[Array, Array], start: Array, *, scale: float, steps: int
) -> tuple[Array, float]:
    """Minimise the soft loss of the rows plus the squares of the pulls, by Levenberg and Marquardt's method.

    :param pulls: matrix and target of linear rows without a soft loss: ``matrix @ vector - target``.
    :param scale: size of a residual from which on it counts less than quadratically.
    :param steps: how many steps are tried at most.
    :returns: where the search ended, and the cost there.
    """
    matrix_of_pulls, target = pulls

    def gaps_at(vector: Array) -> Array:
        gaps: Array = np.einsum("rc,c->r", matrix_of_pulls, vector) - target
        return gaps

    def cost_of(vector: Array) -> float:
        # half the soft-L1 loss: quadratic below the scale, linear above it
        loss = scale**2 * (np.sqrt(1 + (equations.residuals(vector) / scale) ** 2) - 1)
        gaps = gaps_at(vector)
        return float(loss.sum()) + 0.5 * float(gaps @ gaps)

    vector, cost = start.copy(), cost_of(start)
    pulled: Array = np.einsum("ri,rj->ij", matrix_of_pulls, matrix_of_pulls)
    damping, small = _FIRST_DAMPING, 0
    done = 0
    while done < steps and small < 2:
        matrix, gradient = _normal_equations(equations, vector, scale)
        matrix += pulled
        gradient += np.einsum("rc,r->c", matrix_of_pulls, gaps_at(vector))
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
    return vector, cost


def _normal_equations(equations: Equations, vector: Array, scale: float) -> tuple[Array, Array]:
    """Return the matrix and the gradient of the rows with a soft loss."""
    matrix = np.zeros((len(vector), len(vector)))
    gradient = np.zeros(len(vector))
    for residuals, columns, jacobian in equations.blocks(vector):
        trust = 1 / np.sqrt(1 + (residuals / scale) ** 2)
        weighted = jacobian * trust[:, None]
        matrix[columns[:, None], columns] += np.einsum("ri,rj->ij", jacobian, weighted)
        gradient[columns] += np.einsum("rc,r->c", weighted, residuals)
    return matrix, gradient


def _solved(matrix: Array, right: Array) -> Array:
    """Solve equations with a symmetric positive matrix, by Cholesky's factorisation.

    Parameters of different groups rarely meet: columns with few values come first, those that all groups
    share come last, and only what is not zero is worked on.
    """
    order = np.argsort((matrix != 0).sum(axis=0), kind="stable")
    lower = matrix[order[:, None], order]
    values: Array = right[order]
    below: list[tuple[NDArray[np.intp], Array]] = []
    for column in range(len(values)):
        lower[column:, column] /= lower[column, column] ** 0.5
        rows = column + 1 + lower[column + 1 :, column].nonzero()[0]
        factors = lower[rows, column]
        lower[rows[:, None], rows] -= factors[:, None] * factors
        values[column] /= lower[column, column]
        values[rows] -= factors * values[column]
        below.append((rows, factors))
    for column in reversed(range(len(values))):
        rows, factors = below[column]
        values[column] -= (factors * values[rows]).sum()
        values[column] /= lower[column, column]
    solution: Array = np.empty_like(values)
    solution[order] = values
    return solution
