"""Simulated sides of comparisons, with the noise that machines have: seeded, so that figures repeat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckprof.compare.change import Change, Verdict, estimate_changes, judge
from ckprof.compare.options import ChangePolicy
from ckprof.compare.row_times import RowTimes

Array = NDArray[np.float64]

#: kernels per problem
KERNELS = 30
FALSE = (Verdict.FASTER, Verdict.SLOWER)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How much there is to simulate."""

    rows: int = 300
    processes: int = 1
    rounds: int = 3

    @property
    def problem(self) -> NDArray[np.int64]:
        """Return the number of each row's problem."""
        return np.arange(self.rows) // KERNELS


#: adds noise to an array of logarithms of times: (rows, processes, rounds)
Noise = Callable[[np.random.Generator, Shape], Array]


def _auto_regressive(generator: np.random.Generator, count: int, shape: Shape, sigma: float) -> Array:
    steps = generator.normal(0, sigma * math.sqrt(1 - 0.8**2), (count, shape.processes, shape.rounds))
    steps[..., 0] = generator.normal(0, sigma, (count, shape.processes))
    for number in range(1, shape.rounds):
        steps[..., number] += 0.8 * steps[..., number - 1]
    return steps


def _walk(generator: np.random.Generator, shape: Shape) -> Array:
    """All rows of a process follow one slow walk, problem after problem."""
    problems = int(shape.problem.max()) + 1
    steps = generator.normal(0, 0.004, (shape.processes, problems * shape.rounds)).cumsum(axis=1)
    return steps.reshape(shape.processes, problems, shape.rounds).transpose(1, 0, 2)[shape.problem]


def _per(count: str, sigma: float) -> Noise:
    def noise(generator: np.random.Generator, shape: Shape) -> Array:
        if count == "row":
            return generator.normal(0, sigma, (shape.rows, shape.processes, 1))
        if count == "problem":
            problems = int(shape.problem.max()) + 1
            return generator.normal(0, sigma, (problems, shape.processes, 1))[shape.problem]
        return generator.normal(0, sigma, (1, shape.processes if count == "process" else 1, 1))

    return noise


#: what disturbs times beside independent noise of 1 %
KINDS: dict[str, Noise] = {
    "independent": lambda generator, shape: np.zeros(1),
    "2 % per row and process": _per("row", 0.02),
    "3 % per problem and process": _per("problem", 0.03),
    "3 % per process": _per("process", 0.03),
    "3 % per side": _per("side", 0.03),
    "AR(0.8)": lambda generator, shape: _auto_regressive(generator, shape.rows, shape, 0.02),
    "AR(0.8) per problem": lambda generator, shape: _auto_regressive(
        generator, int(shape.problem.max()) + 1, shape, 0.03
    )[shape.problem],
    "slow walk": _walk,
    "bursts": lambda generator, shape: (
        (generator.random((shape.rows, shape.processes, shape.rounds)) < 0.05)
        * generator.exponential(0.4, (shape.rows, shape.processes, shape.rounds))
    ),
}


def side(generator: np.random.Generator, shape: Shape, noise: Noise, sigma: float | Array = 0.01) -> Array:
    """Return logarithms of times: (rows, processes, rounds).

    :param sigma: of the independent noise, for all rows or each of them.
    """
    independent = generator.normal(0, 1, (shape.rows, shape.processes, shape.rounds))
    return independent * np.reshape(sigma, (-1, 1, 1)) + noise(generator, shape)


def row_times(old: Array, new: Array, shape: Shape) -> list[RowTimes]:
    """Return the rows of two sides."""
    return [
        RowTimes(
            old={f"old {number}": rounds for number, rounds in enumerate(before)},
            new={f"new {number}": rounds for number, rounds in enumerate(after)},
            problem=problem,
        )
        for before, after, problem in zip(old.tolist(), new.tolist(), shape.problem.tolist(), strict=True)
    ]


def judged(rows: list[RowTimes], policy: ChangePolicy | None = None) -> list[Change]:
    """Return the verdicts about some rows."""
    policy = policy or ChangePolicy()
    changes, _, _ = estimate_changes(rows, policy)
    return judge(changes, policy)


def verdicts(old: Array, new: Array, shape: Shape) -> list[Verdict]:
    """Return the verdicts about two sides."""
    return [change.verdict for change in judged(row_times(old, new, shape))]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What came of comparing simulated sides that differ in one row at most."""

    #: shares of the other rows
    false: float
    same: float
    #: share of the simulations in which the row that differs was found
    found: float


def without_change(
    noise: Noise, shape: Shape, sides: int, factor: float = 1.3, sigma: float = 0.01
) -> Figures:
    """Compare sides that differ in nothing but one row, which is slower by a factor."""
    found = false = same = 0
    for seed in range(sides):
        generator = np.random.default_rng([seed, shape.processes, shape.rounds])
        old, new = (side(generator, shape, noise, sigma) for _ in range(2))
        changed = seed % shape.rows
        new[changed] += math.log(factor)
        got = verdicts(old, new, shape)
        found += got.pop(changed) is Verdict.SLOWER
        false += sum(verdict in FALSE for verdict in got)
        same += got.count(Verdict.SAME)
    others = sides * (shape.rows - 1)
    return Figures(false=false / others, same=same / others, found=found / sides)


def power(noise: Noise, shape: Shape, factor: float, *, sides: int, changed: int = 10) -> float:
    """Return the share of changed rows that are found."""
    found = 0
    for seed in range(sides):
        generator = np.random.default_rng([seed, 7])
        old, new = (side(generator, shape, noise) for _ in range(2))
        rows = generator.choice(shape.rows, changed, replace=False)
        new[rows] += math.log(factor)
        got = verdicts(old, new, shape)
        found += sum(got[row] is Verdict.SLOWER for row in rows.tolist())
    return found / (sides * changed)


def main() -> None:
    """Print the figures of docs/compare.md."""
    print(f"{'noise beside 1 %':30} processes x rounds   false verdicts   1.3 times slower found")
    for name, noise in KINDS.items():
        for processes, rounds in ((4, 3), (1, 3), (1, 10)):
            figures = without_change(noise, Shape(processes=processes, rounds=rounds), 30)
            print(f"{name:30} {processes} x {rounds:<17} {figures.false:<16.3%} {figures.found:.0%}")
    five = Shape(processes=5, rounds=3)
    for factor in (1.05, 1.1):
        found = power(KINDS["independent"], five, factor, sides=20)
        print(f"5 processes x 3 rounds, {factor} times slower: {found:.2f}")
    disturbed = power(KINDS["bursts"], Shape(rounds=20), 1.1, sides=20)
    print(f"5 % of the rounds disturbed, 20 rounds, 1.1 times slower: {disturbed:.2f}")
    for sigma in (0.003, 0.005, 0.007):
        quiet = without_change(KINDS["independent"], Shape(), 10, sigma=sigma)
        print(f"nothing changed, 1 process x 3 rounds, noise {sigma:.1%}: SAME {quiet.same:.0%}")


if __name__ == "__main__":
    main()
