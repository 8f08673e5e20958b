"""Simulated sides of comparisons, with the noise that machines have: seeded, so that figures repeat.

``python -m tests.compare.noise 100`` prints the table of docs/compare.md, ``python -m tests.compare.noise
power`` its figures of three rounds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ckprof.compare.change import Verdict, judge_pairs, judge_visits
from ckprof.compare.options import ChangePolicy
from ckprof.compare.visits import Visits

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Generator = np.random.Generator

#: scatter of a trial of one round, and of three
ONE_ROUND = 0.01
THREE_ROUNDS = 0.0058
FALSE = (Verdict.FASTER, Verdict.SLOWER)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How much is measured."""

    problems: int = 20
    kernels: int = 30
    old: int = 3
    new: int = 3

    @property
    def rows(self):
        return self.problems, self.kernels

    def __str__(self):
        passes = f"{self.old}" if self.old == self.new else f"{self.old} and {self.new}"
        return f"{self.problems} x {self.kernels}, {passes} passes"


#: by how much the machine is slower in each of some visits in a row, as logarithms
InTime = Callable[[Generator, int], Array]
#: adds noise of its own to times: (problems, kernels, visits) of both sides
OfRows = Callable[[Generator, Array], Array]


def quiet(generator, count):
    return np.zeros(count)


def spells(slower, share, length):
    """The machine is slower for spells of some visits, this share of the time."""

    def noise(generator, count):
        found, visit = np.zeros(count), 0
        while visit < count:
            visit += int(generator.exponential(length * (1 - share) / share)) + 1
            spell = int(generator.exponential(length)) + 1
            found[visit : visit + spell] = slower
            visit += spell
        return found

    return noise


def another_job(generator, count):
    return np.where(generator.random(count) < 0.03, np.log(generator.uniform(1.2, 1.6, count)), 0.0)


def walk(memory):
    """The machine's speed wanders by 3 %, and forgets within that many visits."""

    def noise(generator, count):
        kept, level, found = math.exp(-1 / memory), generator.normal(0, 0.03), np.empty(count)
        for visit in range(count):
            level = kept * level + math.sqrt(1 - kept**2) * generator.normal(0, 0.03)
            found[visit] = level
        return found

    return noise


def step(generator, count):
    return np.where(np.arange(count) >= generator.integers(0, count), 0.05, 0.0)


def two_states(share, size, chance):
    """A share of the kernels is slower in some processes."""

    def noise(generator, times):
        rows = generator.random(times.shape[:2]) < share
        return size * (rows[:, :, None] & (generator.random(times.shape) < chance))

    return noise


def noisy_rows(generator, times):
    sigma = np.exp(generator.normal(math.log(0.01), 1.0, times.shape[:2]))
    return sigma[:, :, None] * generator.normal(0, 1, times.shape)


def noisy_problems(generator, times):
    problems, _, visits = times.shape
    sigma = np.where(generator.random(problems) < 0.1, 0.10, 0.003)
    return sigma[:, None, None] * generator.normal(0, 1, (problems, 1, visits))


def of_small_kernels(generator, times):
    """Kernels of 5 to 25 us on an H200: 0.7 % from process to process, some more and some less."""
    problems, _, visits = times.shape
    sigma = 0.007 * np.exp(generator.normal(0, 0.4, times.shape[:2]))
    shared = 0.003 * generator.normal(0, 1, (problems, 1, visits)) + 0.002 * generator.normal(0, 1, visits)
    return sigma[:, :, None] * generator.normal(0, 1, times.shape) + shared


def heavy_tails(generator, times):
    return 0.01 * generator.standard_t(2, times.shape)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the machine does to times."""

    in_time: InTime = quiet
    of_rows: OfRows | None = None
    #: between which shares kernels follow the machine, and how much each canary does
    follow: tuple[float, float] = (1.0, 1.0)
    canaries: tuple[float, ...] = (1.0, 0.0)
    #: standard deviation of a canary's time in a visit
    canary: float = 0.003
    #: the new side's machine is slower by this
    slower: float = 0.0
    #: standard deviations of what a side has in common, and of what a process has, shared by canaries or not
    of_side: float = 0.0
    of_process: float = 0.0
    shared: bool = True
    sigma: float = ONE_ROUND
    #: share of the trials that are missing
    missing: float = 0.0


def simulate(generator, shape, machine, change=None):
    """Return two sides, measured one after the other, pass by pass.

    :param change: by how much each row is slower on the new side.
    """
    passes = shape.old + shape.new
    is_new = np.arange(passes) >= shape.old
    state = machine.in_time(generator, passes * shape.problems).reshape(passes, shape.problems).T
    state = state + np.where(is_new, machine.slower, 0.0)
    state = state + generator.normal(0, 1, 2)[is_new.astype(int)] * machine.of_side
    process = machine.of_process * generator.normal(0, 1, passes)
    follow = generator.uniform(*machine.follow, shape.rows)
    times = follow[:, :, None] * state[:, None, :] + process
    times = times + machine.sigma * generator.normal(0, 1, times.shape)
    if machine.of_rows is not None:
        times = times + machine.of_rows(generator, times)
    if change is not None:
        times = times + change[:, :, None] * is_new
    if machine.missing:
        times[generator.random(times.shape) < machine.missing] = np.nan
    canaries = np.array([factor * state for factor in machine.canaries]).reshape(-1, shape.problems, passes)
    canaries = canaries + (process if machine.shared else 0.0)
    canaries = canaries + machine.canary * generator.normal(0, 1, canaries.shape)
    return Visits(times=times, canaries=canaries, old=shape.old)


def judged(visits, policy=None):
    """Return the changes of the rows that both sides have, by problem and kernel."""
    changes, shift = judge_visits(visits, policy or ChangePolicy(), same_clock=True)
    both = np.all([np.isfinite(visits.times[..., side]).any(axis=-1) for side in visits.sides], axis=0)
    return dict(zip(map(tuple, np.argwhere(both).tolist()), changes, strict=True)), shift


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What came of many comparisons."""

    #: share of the unchanged rows that were called faster or slower
    false: float
    #: share of the comparisons with such a row
    with_false: float
    #: share of the changed rows that were called slower
    found: float = math.nan
    #: share of all rows that are not settled
    unclear: float
    #: share of the comparisons that were SHIFTED
    shifted: float


def figures(machine, shape, repetitions, *, factor=1.0, changed=None, seed=1, settle=False):
    """Compare simulated sides.

    :param changed: which rows are slower by the factor.
    :param settle: measure again what has a false verdict, in pairs of processes, as ``--settle`` does.
    """
    false = with_false = unclear = shifted = found = rows_changed = rows = 0
    for repetition in range(repetitions):
        generator = np.random.default_rng([seed, repetition])
        some = changed(generator, shape) if changed else np.zeros(shape.rows, bool)
        verdicts, shift = judged(simulate(generator, shape, machine, some * math.log(factor)))
        wrong = [row for row, one in verdicts.items() if one.verdict in FALSE and not some[row]]
        if settle:
            wrong = [row for row in wrong if _settled(generator, machine) in FALSE]
        false, with_false = false + len(wrong), with_false + bool(wrong)
        found += sum(verdicts[row].verdict is Verdict.SLOWER for row in verdicts if some[row])
        rows_changed += sum(bool(some[row]) for row in verdicts)
        unclear += sum(one.verdict is Verdict.UNCLEAR for one in verdicts.values())
        shifted, rows = shifted + shift.unexplained, rows + len(verdicts)
    return Figures(
        false=false / max(1, rows - rows_changed),
        with_false=with_false / repetitions,
        found=found / rows_changed if rows_changed else math.nan,
        unclear=unclear / rows,
        shifted=shifted / repetitions,
    )


def _settled(generator, machine, most=20):
    """Return the verdict about a row that did not change after pairs of processes, as settling has it."""
    times = np.zeros((1, 1, 2 * most)) + machine.sigma * generator.normal(0, 1, (1, 1, 2 * most))
    if machine.of_rows is not None:
        # the row is one of those that the noise is about
        noise = machine.of_rows(generator, np.zeros((400, 1, 2 * most)))
        times = times + noise[np.argmax(np.ptp(noise, axis=-1)[:, 0])]
    differences = times.reshape(most, 2)[:, 1] - times.reshape(most, 2)[:, 0]
    for pairs in range(4, most + 1):
        (change,) = judge_pairs([differences[:pairs].tolist()], ChangePolicy())
        if change.verdict is not Verdict.UNCLEAR:
            return change.verdict
    return Verdict.UNCLEAR


def tenth(generator, shape):
    return generator.random(shape.rows) < 0.1


def first_rows(count):
    return lambda generator, shape: np.broadcast_to(np.arange(shape.kernels) < count, shape.rows)


def one_problem(generator, shape):
    return np.broadcast_to(np.arange(shape.problems)[:, None] == 0, shape.rows)


#: kernels follow the machine between not at all and wholly
PARTLY = (0.0, 1.0)
#: what the machine does while nothing changes
MACHINES = {
    "1 % of independent noise": Machine(),
    "8 % slower, 10 % of the time": Machine(in_time=spells(0.08, 0.10, 4)),
    "8 % slower, 30 % of the time": Machine(in_time=spells(0.08, 0.30, 4)),
    "5 % slower, half of the time": Machine(in_time=spells(0.05, 0.5, 8)),
    "another job, 20 to 60 %, 3 % of the time": Machine(in_time=another_job),
    "a walk of 3 %, memory one visit": Machine(in_time=walk(1)),
    "a walk of 3 %, memory five visits": Machine(in_time=walk(5)),
    "a clock 5 % lower from some visit on": Machine(in_time=step),
    "the new side's machine 5 % slower": Machine(slower=0.05),
    "4 % per side": Machine(of_side=0.04, canaries=(1.0, 0.3)),
    "3 % per process, canaries too": Machine(of_process=0.03),
    "3 % per process, canaries not": Machine(of_process=0.03, shared=False),
    "noise of 10 % in a tenth of the problems": Machine(of_rows=noisy_problems),
    "noise by row, 0.3 to 3 %": Machine(of_rows=noisy_rows),
    "heavy tails": Machine(of_rows=heavy_tails),
    "all rows in two states": Machine(of_rows=two_states(1.0, 0.08, 0.3)),
    "5 % of the rows in two states": Machine(of_rows=two_states(0.05, 0.08, 0.5)),
    "2 % of the rows in two states": Machine(of_rows=two_states(0.02, 0.08, 0.5)),
    "a fifth of the trials missing": Machine(missing=0.2),
}
#: kernels that scatter as those of an H200 do; by how much canaries do beside them is assumed
SMALL_KERNELS = {
    f"small kernels of an H200, canaries of {canary:.1%}": Machine(
        sigma=0.0, of_rows=of_small_kernels, canary=canary
    )
    for canary in (0.001, 0.01)
}
#: of :data:`MACHINES`, those whose canaries say what the machine does, while kernels follow it in part
FOLLOWED = (
    "8 % slower, 10 % of the time",
    "8 % slower, 30 % of the time",
    "another job, 20 to 60 %, 3 % of the time",
    "a walk of 3 %, memory five visits",
    "a clock 5 % lower from some visit on",
    "the new side's machine 5 % slower",
)
SHAPES = (
    *(Shape(problems=p, kernels=k) for p, k in ((1, 3), (1, 30), (2, 3), (3, 5), (20, 3))),
    *(Shape(old=a, new=b) for a, b in ((2, 2), (5, 5), (2, 5))),
    *(Shape(problems=1, kernels=k, old=2, new=2) for k in (3, 30)),
)


def kinds():
    """Return all kinds of noise without a change, by name."""
    found = {name: (machine, Shape()) for name, machine in MACHINES.items()}
    for name in FOLLOWED:
        partly = replace(MACHINES[name], follow=PARTLY)
        found[f"{name}, followed in part"] = partly, Shape()
        found[f"{name}, followed in part, no canaries"] = replace(partly, canaries=()), Shape()
        for shape in SHAPES:
            found[f"{name}, followed in part: {shape}"] = partly, shape
    for shape in SHAPES:
        found[f"1 % of independent noise: {shape}"] = Machine(), shape
    found |= {name: (machine, Shape(problems=32, kernels=18)) for name, machine in SMALL_KERNELS.items()}
    return found


def print_power(repetitions):
    """Print how much of what changed is found with three passes of three rounds."""
    for what, changed in (("a tenth", tenth), ("26 of 30", first_rows(26)), ("one problem", one_problem)):
        for factor in (1.05, 1.1):
            one = figures(Machine(sigma=THREE_ROUNDS), Shape(), repetitions, factor=factor, changed=changed)
            print(f"{what} {factor - 1:+.0%}: {one.found:.0%} found, {one.false:.3%} of the others false")


def main():
    """Print the table, or with ``power`` what is found."""
    if sys.argv[1:] == ["power"]:
        print_power(20)
        return
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print(f"{repetitions} comparisons each without a change; in the last column, a tenth of the rows changed")
    print("| noise | false rows | comparisons with any | SHIFTED | UNCLEAR | +10 % found |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (machine, shape) in kinds().items():
        one = figures(machine, shape, repetitions)
        power = figures(machine, shape, max(10, repetitions // 20), factor=1.1, changed=tenth)
        print(
            f"| {name} | {one.false:.3%} | {one.with_false:.1%} | {one.shifted:.0%} | {one.unclear:.0%} "
            f"| {power.found:.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
