"""The rounds on one problem: who runs, in which order, who leaves, and when the ranking is settled.

Pure logic over times: nothing here runs a kernel. The caller takes one :class:`~ckprof.rounds.visit.Visit`
after the other from :meth:`Contest.visits`, measures it, and calls :meth:`Contest.record` before the next.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

import numpy as np

from ckprof.rounds.options import RoundOptions
from ckprof.rounds.visit import Cell, Ending, RoundReport, Timing, Visit
from ckprof.statistics.intervals import Interval, Noise, paired_interval, pooled_noise

#: a reference kernel that moves by less has not moved, whatever the noise seems to be
_LEAST_DRIFT: Final = math.log(1.05)
#: standard deviations that a movement must exceed
_DRIFT_SIGMAS: Final = 4.0
#: after a single round only kernels leave that are this many times beyond the margin
_GROSS_FACTOR: Final = 2.0
#: kernels leave at this confidence: among hundreds of kernels, none of the good ones should
_DROP_CONFIDENCE: Final = 0.998
#: resamples of later decisions differ from those of earlier ones only by chance
_SEED_STEP: Final = 7919


@dataclass(slots=True)
class _State(Generic[Cell]):
    """Everything that was seen so far."""

    #: cell -> round -> times of its visits
    times: dict[Cell, dict[int, list[Timing]]] = field(default_factory=dict)
    failed: set[Cell] = field(default_factory=set)
    dropped: dict[Cell, float] = field(default_factory=dict)
    drifted: set[int] = field(default_factory=set)
    reference: Cell | None = None


class Contest(Generic[Cell]):
    """Rounds of some kernels on one problem.

    :param cells: what competes: kernels, with their numbers of splits.
    :param options: when kernels leave and when it is enough.
    :param on_round: told after each round.
    :param rounds_before: numbers of rounds that are taken by measurements that shall not count any more.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        options: RoundOptions,
        on_round: Callable[[RoundReport[Cell]], None] = lambda report: None,
        *,
        rounds_before: int = 0,
    ) -> None:
        self._cells = tuple(dict.fromkeys(cells))
        self._options = options
        self._on_round = on_round
        self._state: _State[Cell] = _State(times={cell: {} for cell in self._cells})
        self._round = rounds_before
        self._known_logs: dict[Cell, dict[int, float]] = {}
        #: (round, marked rounds) -> the best cell after that round, for :meth:`resume`
        self._bests: dict[tuple[int, int], Cell | None] = {}
        self._noted = 0
        self._counted: tuple[tuple[int, ...], list[int]] = ((), [])
        #: set by :meth:`visits` at the end, or by :meth:`resume`
        self.ending: Ending | None = None

    # --- what was seen ------------------------------------------------------------------------------------

    @property
    def drifted(self) -> frozenset[int]:
        """Rounds that do not count because the machine drifted."""
        return frozenset(self._state.drifted)

    @property
    def dropped(self) -> frozenset[Cell]:
        """The cells that left because they are surely slower."""
        return frozenset(self._state.dropped)

    def listen(self, on_round: Callable[[RoundReport[Cell]], None]) -> None:
        """Have somebody told after each round, in place of whoever was told before."""
        self._on_round = on_round

    def record(self, visit: Visit[Cell], timing: Timing | None) -> None:
        """Note what a visit gave.

        :param timing: ``None`` if the kernel failed or may not be ranked: it leaves the rounds.
        """
        self._note(visit.cell, visit.round, timing)

    def _note(self, cell: Cell, round: int, timing: Timing | None) -> None:
        self._noted += 1
        if timing is None:
            self._state.failed.add(cell)
            if self._state.reference == cell:
                self._state.reference = None
        else:
            self._state.times[cell].setdefault(round, []).append(timing)
        self._known_logs.pop(cell, None)
        self._round = max(self._round, round)

    def resume(
        self,
        history: Mapping[Cell, Sequence[tuple[int, Timing | None]]],
        drifted: Collection[int] = (),
        dropped: Mapping[Cell, int] | None = None,
    ) -> None:
        """Take over what earlier sweeps measured, and decide what that leaves to do.

        :param history: cell -> (round, timing) of each visit in order; timing ``None`` for a failure.
        :param drifted: rounds that were marked.
        :param dropped: cells that left the rounds -> after which round; those that today's margin would have
            kept then come back.
        """
        state = self._state
        last = max((number for visits in history.values() for number, _ in visits), default=0)
        for cell, visits in history.items():
            if cell in state.times:
                for number, timing in visits:
                    self._note(cell, number, timing)
        state.drifted = {number for number in drifted if number <= last}
        self._known_logs.clear()
        left = {cell: number for cell, number in (dropped or {}).items() if cell in state.times}
        state.dropped = {cell: math.inf for cell in left if not self._would_stay(cell, left[cell])}
        state.reference = self.best()
        if last and not self._missing(last):
            told, self._on_round = self._on_round, lambda report: None
            self._decide(last, drifted=last in state.drifted, drift=None)
            self._on_round = told

    def _would_stay(self, cell: Cell, number: int) -> bool:
        """Say whether today's margin would have kept a cell that left after a round.

        Judged by what was known then, so that the same margin gives the same answer whatever came later.
        """
        key = number, len(self._state.drifted)
        if key not in self._bests:
            then = [one for one in self._cells if number in self._state.times[one]]
            rounds = (self._rounds_until(one, number) for one in then)
            shared = set.intersection(*rounds) if then else set()
            self._bests[key] = (
                min(then, key=lambda one: mean([self._logs(one)[at] for at in shared])) if shared else None
            )
        best = self._bests[key]
        if best is None:
            return True
        own, other = self._logs(cell), self._logs(best)
        shared = self._rounds_until(cell, number) & self._rounds_until(best, number)
        return not shared or mean([own[at] - other[at] for at in shared]) <= math.log1p(
            self._options.keep_within
        )

    def _rounds_until(self, cell: Cell, number: int) -> set[int]:
        """Return the rounds of a cell up to one, without those that are marked."""
        return {at for at in self._logs(cell) if at <= number}

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Everything that competes, those that left included."""
        return self._cells

    @property
    def rounds(self) -> int:
        """Rounds that count: complete and not marked."""
        return len(self._counted_rounds())

    @property
    def active(self) -> list[Cell]:
        """The cells that run in the next round."""
        gone = self._state.failed | self._state.dropped.keys()
        return [cell for cell in self._cells if cell not in gone]

    @property
    def remaining_visits(self) -> int:
        """Visits that the rounds still take at most."""
        if self.ending is not None:
            return 0
        rounds = max(0, self._options.max_rounds - self.rounds)
        return len(self.active) * rounds

    # --- what is to be done -------------------------------------------------------------------------------

    def visits(self) -> Iterator[Visit[Cell]]:
        """Yield the visits of all rounds that are needed."""
        if self.ending is None and not self.active:
            self.ending = Ending.NO_CONTEST
        number = self._round
        begun = any(number in rounds for rounds in self._state.times.values())
        if not begun or not self._missing(number):
            number += 1
        while self.ending is None:
            order = 0
            for visit in self._round_visits(number):
                yield Visit(cell=visit[0], round=number, order=order, reference=visit[1])
                order += 1
            drift = self._drift(number)
            drifted = drift is not None and abs(drift) > self._drift_limit(number)
            drifted = drifted and len(self._state.drifted) < self._options.max_repeats
            if drifted:
                self._state.drifted.add(number)
                self._known_logs.clear()
            self._round = number
            self._decide(number, drifted=drifted, drift=drift)
            number += 1

    def _round_visits(self, number: int) -> Iterator[tuple[Cell, bool]]:
        """Yield the cells of one round: the reference first and last, the others shuffled."""
        chance = random.Random(f"{self._options.seed}/{number}")  # noqa: S311
        missing = self._missing(number)
        chance.shuffle(missing)
        reference = self._state.reference
        if reference is not None:
            missing = [cell for cell in missing if cell != reference]
            yield reference, True
        for cell in missing:
            if cell not in self._state.failed:
                yield cell, False
        if self._state.reference is None:
            self._choose_reference()
        last = self._state.reference
        if last is not None and len(self.active) > 1:
            yield last, True

    def _missing(self, number: int) -> list[Cell]:
        return [cell for cell in self.active if number not in self._state.times[cell]]

    def _choose_reference(self) -> None:
        if self._state.reference is None:
            self._state.reference = self.best()

    # --- decisions ----------------------------------------------------------------------------------------

    def best(self) -> Cell | None:
        """Return the cell with the least mean logarithm over the rounds that all active cells share."""
        cells = [cell for cell in self.active if self._state.times[cell]]
        if not cells:
            return None
        shared = set.intersection(*(set(self._state.times[cell]) for cell in cells)) - self._state.drifted
        if not shared:
            return min(cells, key=self._least_time)
        return min(cells, key=lambda cell: mean([self._logs(cell)[one] for one in shared]))

    def interval(self, cell: Cell, best: Cell, noise: Noise | None = None) -> Interval:
        """Return the interval of log(time of the cell / time of the best).

        :param noise: what :meth:`noise` returns.
        """
        return paired_interval(
            self._ratios(cell, best),
            confidence=self._options.confidence,
            noise=noise,
            seed=self._options.seed * _SEED_STEP + self.rounds,
        )

    def noise(self, without: int = 0) -> Noise | None:
        """Return how much times vary from round to round.

        :param without: a round that is left out.
        """
        counted = [number for number in self._counted_rounds() if number != without]
        table = [
            [self._logs(cell).get(number, math.nan) for number in counted]
            for cell in self._cells
            if cell not in self._state.failed
        ]
        return pooled_noise(np.array(table)) if table and counted else None

    def _decide(self, number: int, *, drifted: bool, drift: float | None, ask_ending: bool = True) -> None:
        dropped: dict[Cell, float] = {}
        best = self.best()
        if not drifted and best is not None and not self._options.exhaustive:
            dropped = self._slow_cells(best)
            self._state.dropped.update(dropped)
        self.ending = self._find_ending(best)
        self._on_round(
            RoundReport(
                round=number,
                drifted=drifted,
                drift=drift,
                dropped=dropped,
                best=best,
                left=len(self.active),
                ending=self.ending,
            )
        )

    def _find_ending(self, best: Cell | None) -> Ending | None:
        if best is None:
            return Ending.NO_CONTEST
        if self.rounds >= self._options.max_rounds:
            return Ending.MAX_ROUNDS
        if self.rounds < self._options.min_rounds or self._options.exhaustive:
            return None
        margin = math.log1p(self._options.tie)
        noise = self.noise()
        others = (self.interval(cell, best, noise) for cell in self.active if cell != best)
        decided = all(one.low > margin or one.lies_within(margin) for one in others)
        return Ending.SETTLED if decided else None

    def _slow_cells(self, best: Cell) -> dict[Cell, float]:
        """Return the cells that are surely slower than the best by the margin, with their ratios."""
        margin = math.log1p(self._options.keep_within)
        noise = self.noise()
        slow: dict[Cell, float] = {}
        for cell in self.active:
            ratios = self._ratios(cell, best)
            if cell in (best, self._state.reference) or not ratios or min(ratios) <= margin:
                continue
            if len(ratios) == 1 or noise is None:
                surely = min(ratios) > margin + math.log(_GROSS_FACTOR) and self._never_near(cell, best)
            else:
                found = paired_interval(ratios, confidence=_DROP_CONFIDENCE, noise=noise, seed=None)
                # with two or three rounds, the noise that all kernels show says more than their own spread
                reach = noise.sigma * math.sqrt(2 / len(ratios)) * 3.3
                surely = found.low > margin or (len(ratios) <= 3 and found.estimate - reach > margin)
            if surely:
                slow[cell] = math.exp(mean(ratios))
        return slow

    def _never_near(self, cell: Cell, best: Cell) -> bool:
        """Say whether even the fastest sample of a cell is slower than the best's median by the margin."""
        fastest = min(one.min_ms for visits in self._state.times[cell].values() for one in visits)
        usual = max(one.median_ms for visits in self._state.times[best].values() for one in visits)
        return fastest > usual * (1 + self._options.keep_within)

    # --- times --------------------------------------------------------------------------------------------

    def _logs(self, cell: Cell) -> dict[int, float]:
        """Return the mean logarithm of a cell's times per round that is not marked."""
        known = self._known_logs.get(cell)
        if known is None:
            known = self._known_logs[cell] = {
                number: math.fsum(math.log(one.median_ms) for one in visits) / len(visits)
                for number, visits in self._state.times[cell].items()
                if number not in self._state.drifted
            }
        return known

    def _least_time(self, cell: Cell) -> float:
        """Return the least time of a cell, that of marked rounds included."""
        return min(one.median_ms for visits in self._state.times[cell].values() for one in visits)

    def _ratios(self, cell: Cell, best: Cell) -> list[float]:
        own, other = self._logs(cell), self._logs(best)
        return [own[number] - other[number] for number in own if number in other]

    def _counted_rounds(self) -> list[int]:
        state = self._state
        # what it depends on; times only ever grow
        version = (self._noted, len(state.failed), len(state.dropped), len(state.drifted))
        if self._counted[0] != version:
            cells = self.active
            shared = set.intersection(*(set(state.times[cell]) for cell in cells)) if cells else set()
            self._counted = version, sorted(shared - state.drifted)
        return self._counted[1]

    def _drift(self, number: int) -> float | None:
        """Return how much the reference moved within a round, as a logarithm."""
        reference = self._state.reference
        visits = self._state.times[reference].get(number, []) if reference is not None else []
        if len(visits) < 2:
            return None
        return math.log(visits[-1].median_ms / visits[0].median_ms)

    def _drift_limit(self, number: int) -> float:
        reference = self._state.reference
        # a round that drifts must not excuse itself
        noise = self.noise(without=number)
        sigma = noise.sigma if noise is not None else 0.0
        if reference is not None:
            visits = self._state.times[reference].get(number, [])
            # what the samples of one visit say of it; three quarters of the quartile distance is one sigma
            sigma = max([sigma, *(one.spread / 0.6745 for one in visits)])
        return max(_LEAST_DRIFT, _DRIFT_SIGMAS * math.sqrt(2) * sigma)


def mean(values: Sequence[float]) -> float:
    """Return the mean of a few values; numpy takes longer for these."""
    return math.fsum(values) / len(values)
