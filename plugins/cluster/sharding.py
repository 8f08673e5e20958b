"""Problems that several devices share since they take long: which, in how many parts, in which order.

A sharded problem begins with a few of its kernels on one device; the fastest of them is the anchor that all
further parts run as well, on any devices at once. What may be the fastest after that runs on one device, as
the kernels of a problem that is not sharded do. See :mod:`ckprof_plugins.cluster.screening`.
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import defaultdict, deque
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from ckprof_plugins.cluster.screening import compare_parts, round_numbers, screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ckprof.measure.rounds import KernelConfiguration, RoundOptions
    from ckprof.store.query import PastVisit
    from ckprof_plugins.cluster.messages import Anchor, Unit
    from ckprof_plugins.cluster.units import OpenUnit


T = TypeVar("T")

#: about how often a kernel is measured in a part, and in the last step
PART_VISITS: Final = 2
LAST_VISITS: Final = 4
#: share of the kernels that the last step has, as long as nobody knows
_USUAL_LAST_SHARE: Final = 1 / 20
#: what takes longer than its effort says shall not begin last: it counts as so many times longer
_CAUTION: Final = 2.0
#: kernels that must have hung before one that does in the end is reckoned with
_CERTAIN: Final = 3


class Pace:
    """How long problems take per effort, learned from those that were begun."""

    def __init__(self) -> None:
        self._ratios: list[float] = []

    def corrected(self, parts: int, problem_s: float, effort: float) -> int:
        """Return in how many parts a problem is sharded once it is known how long its attempts take.

        :param parts: in how many otherwise.
        :param problem_s: about how long one device would take for it; it is taken note of.
        """
        ratio = problem_s / effort
        insort(self._ratios, ratio)
        if len(self._ratios) < _FEWEST or not self.usual:
            return parts
        return max(1, math.ceil(parts * (ratio / self.usual)))

    @property
    def usual(self) -> float | None:
        """The median, in seconds per effort; ``None`` before the first problem."""
        return self._ratios[len(self._ratios) // 2] if self._ratios else None


def _last_s(visit_s: float, last: int) -> float:
    """Return about how long the last step of a problem takes."""
    return visit_s * LAST_VISITS * last


def expected_last(kernels: int) -> int:
    """Return how many kernels of a problem the last step will have, before anybody knows."""
    return round(_USUAL_LAST_SHARE * kernels)


class ShardSchedule(Generic[T]):
    """What can be handed out.

    What somebody failed to finish comes first: others have waited for it. Then come problems to be sharded:
    their first parts are small, and say how long they take. All else comes in the order of the time that it
    and what can only follow it take, the longest first, so that what is short fills the gaps at the end.

    :param sharded: problems to be sharded, in their order.
    :param whole: problems that one device gets, and their efforts, the longest first.
    :param timeout_s: seconds that a kernel takes that hangs.
    :param share: what each device has to do, as an effort.
    """

    def __init__(
        self,
        sharded: Iterable[T],
        whole: Iterable[tuple[float, T]],
        timeout_s: float = 0.0,
        share: float = 0.0,
    ) -> None:
        self._timeout_s, self._share = timeout_s, share
        self.pace = Pace()
        self._first = deque[T]()
        self._to_shard = deque(sharded)
        self._whole = deque(whole)
        #: (minus seconds of what can only follow it too, number, seconds of its own, unit)
        self._parts: list[tuple[float, int, float, T]] = []
        #: (minus seconds, number, unit)
        self._last: list[tuple[float, int, T]] = []
        #: kernels that seemed to hang
        self.hangs = 0
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._first) + len(self._to_shard) + len(self._whole) + len(self._parts) + len(self._last)

    @property
    def hang_s(self) -> float:
        """Seconds before the end after which nothing should begin that may hang.

        Last steps are left for them, in which nothing hangs, no more than there are before hangs are certain.
        """
        last_share = LAST_VISITS * _USUAL_LAST_SHARE / PART_VISITS
        # half of them: the longest shall not begin when nothing else is left
        filled_s = last_share / 2 * self._share * (self.pace.usual or 0.0)
        return self._timeout_s if self.hangs >= _CERTAIN else min(self._timeout_s, filled_s)

    def put_first(self, unit: T) -> None:
        """Hand a unit out before all that is there but those that were put first before it."""
        self._first.append(unit)

    def put_part(self, unit: T, visit_s: float, kernels: int, last: int) -> None:
        """Hand a part out when its turn comes.

        :param visit_s: seconds of an attempt.
        :param kernels: in the part.
        :param last: kernels that the last step of its problem will have.
        """
        own_s = visit_s * PART_VISITS * kernels
        heapq.heappush(self._parts, (-own_s - _last_s(visit_s, last), next(self._numbers), own_s, unit))

    def put_last(self, unit: T, visit_s: float, last: int) -> None:
        """Hand a last step out when its turn comes; the parameters are as before."""
        heapq.heappush(self._last, (-_last_s(visit_s, last), next(self._numbers), unit))

    def pop(self) -> T | None:
        """Take the next unit; ``None`` if there is none."""
        if self._first:
            return self._first.popleft()
        if self._to_shard:
            return self._to_shard.popleft()
        last_s = -self._last[0][0] if self._last else -1.0
        part_s = max(-self._parts[0][0], self._parts[0][2] + self.hang_s) if self._parts else -1.0
        if self._whole and self._whole_s() >= max(part_s, last_s):
            return self._whole.popleft()[1]
        if self._parts and part_s >= last_s:
            return heapq.heappop(self._parts)[3]
        return heapq.heappop(self._last)[2] if self._last else None

    def keep(self, wanted: Callable[[T], bool]) -> None:
        """Drop all other units."""
        self._first = deque(filter(wanted, self._first))
        self._to_shard = deque(filter(wanted, self._to_shard))
        self._whole = deque(pair for pair in self._whole if wanted(pair[1]))
        self._parts = [entry for entry in self._parts if wanted(entry[3])]
        heapq.heapify(self._parts)
        self._last = [entry for entry in self._last if wanted(entry[2])]
        heapq.heapify(self._last)

    def _whole_s(self) -> float:
        """Return about how long the longest whole problem takes, with caution."""
        return self._whole[0][0] * (self.pace.usual or 0.0) * _CAUTION + self.hang_s


#: sharding is worth it where whole problems, the longest first, keep the devices for more than this many
#: times what they would take if no device ever waited
_WORTH: Final = 1.05
#: share of a device's time that a unit takes at most, as far as effort says. It is small since effort is a
#: guess: what takes longer than it says must not be what all others wait for in the end
PART_SHARE: Final = 1 / 32
#: kernels of a part at least: each part measures the anchor besides
LEAST_KERNELS: Final = 48
#: problems whose attempts are timed before what they take says anything about the guess
_FEWEST: Final = 8
#: kernels that are tried at first to find an anchor
LEAD_KERNELS: Final = 12
#: share of a device's time that the last step of a problem takes at most, where measuring in parts helps
_LAST_SHARE: Final = 1 / 2
#: it does not below so many times what is usual: the rest is what devices cannot tell apart
_TIED: Final = 1.5
#: nor if more than this share of the kernels is left by it
_WORTH_NARROWING: Final = 0.7


def parts_of(efforts: Sequence[float], kernels: Sequence[int], devices: int) -> list[int]:
    """Return in how many parts each problem is sharded; 1 for those that one device gets whole.

    The numbers are those of problems with kernels enough; :func:`part_size` has what parts there really are.

    :param efforts: about how long each problem takes, in any unit.
    :param kernels: how many compete on each.
    """
    each = sum(efforts) / devices
    if _makespan(efforts, devices) <= _WORTH * each:
        return [1] * len(efforts)
    return [
        math.ceil(effort / (PART_SHARE * each)) if most_parts(count) > 1 else 1
        for effort, count in zip(efforts, kernels, strict=True)
    ]


def most_parts(kernels: int) -> int:
    """Return in how many parts a problem is sharded at most."""
    return max(1, kernels // LEAST_KERNELS)


def part_size(kernels: int, parts: int) -> int:
    """Return how many kernels a part has at most."""
    return max(LEAST_KERNELS, math.ceil(kernels / parts))


def narrows(left: int, before: int, kernels: int, parts: int) -> bool:
    """Say whether the kernels that may be the fastest run in parts once more, before one device runs them.

    :param left: how many these are.
    :param before: how many they were when that was done the last time; 0: it was not.
    :param kernels: how many compete.
    :param parts: how many parts the problem has.
    """
    too_long = left * LAST_VISITS * PART_SHARE * parts > _LAST_SHARE * kernels * PART_VISITS
    too_many = left > max(LEAST_KERNELS, _TIED * expected_last(kernels))
    return too_long and too_many and (not before or left <= _WORTH_NARROWING * before)


def _makespan(efforts: Sequence[float], devices: int) -> float:
    """Return when the last device is done if each takes the longest problem that is left."""
    loads = [0.0] * devices
    for effort in sorted(efforts, reverse=True):
        heapq.heapreplace(loads, loads[0] + effort)
    return max(loads)


def deal(cells: Sequence[KernelConfiguration], parts: int) -> Iterator[tuple[KernelConfiguration, ...]]:
    """Deal kernels to parts; neighbours, which resemble each other, to different ones."""
    return (tuple(cells[first::parts]) for first in range(min(parts, len(cells))))


class ShardedProblem:
    """A problem that several devices share: what is left of it, and what can be handed out now.

    :param whole: with all kernels; parts of it are handed out, known by their numbers, from 1.
    :param cells: all that compete.
    :param parts: how many devices may be at it at once.
    :param visits: what parts have measured before.
    :param last_round: the highest number of a round that there is.
    """

    def __init__(
        self,
        whole: OpenUnit,
        cells: tuple[KernelConfiguration, ...],
        parts: int,
        rounds: RoundOptions,
        visits: Sequence[PastVisit],
        last_round: int,
    ) -> None:
        self.whole, self.cells, self.parts = whole, cells, parts
        self.visits = list(visits)
        #: seconds of an attempt, as soon as there is one
        self.visit_s: float | None = None
        #: what runs on one device in the end, once it is known; and whether it did
        self.last: OpenUnit | None = None
        self.ended = False
        self._rounds = rounds
        #: what no device has measured or is measuring
        self._todo = list(cells)
        self._out: set[KernelConfiguration] = set()
        self._in_flight: dict[int, Unit] = {}
        #: parts that were left with a kernel that hangs
        self.split_parts: set[int] = set()
        #: device -> what it has measured, in parts that were finished
        self._measured: dict[str, list[KernelConfiguration]] = defaultdict(list)
        #: what a part has left; all else that was measured is slower or has failed
        self._left = {visit.cell for visit in visits}
        #: what was agreed on stays so: all times are scaled to it
        self._anchor: Anchor | None = None
        self._numbers = math.ceil(last_round / round_numbers(rounds))
        self._lead = LEAD_KERNELS
        #: how many could be the fastest when they were dealt out again the last time
        self._narrowed = 0
        if visits:
            out, _, missing = screen(visits, cells, rounds, retry_failed=whole.unit.retry_failed)
            self._todo, self._out = list(missing), set(out)
        for visit in visits:
            self._measured[visit.device_id].append(visit.cell)
        self._narrow()

    @property
    def is_complete(self) -> bool:
        """Whether every kernel was measured by some device, but for those that hang."""
        return not self._todo and self.split_parts.issuperset(self._in_flight)

    def next_parts(self) -> list[Unit]:
        """Return what can be handed out besides what already is."""
        todo = self._todo
        if not todo:
            return []
        anchor = self._anchor = self._compared()[1] or self._anchor
        if anchor is None and self._in_flight:
            return []
        if anchor is None:
            # one device looks for an anchor, among more kernels each time
            dealt = [next(deal(todo, math.ceil(len(todo) / self._lead)))]
            first = {*dealt[0]}
            self._todo = [cell for cell in todo if cell not in first]
            self._lead *= 2
        else:
            dealt = list(deal(todo, math.ceil(len(todo) / part_size(len(self.cells), self.parts))))
            self._todo = []
        return [self._part(cells, anchor) for cells in dealt]

    def finish(self, number: int, device: str, visits: Sequence[PastVisit]) -> None:
        """Take what a part leaves.

        :param visits: of those of its kernels that may be the fastest.
        """
        part = self._in_flight.pop(number)
        if number in self.split_parts:
            # what only was slow is measured as the others are
            slow = {visit.cell for visit in visits}
            self._todo += [cell for cell in part.cells if cell in slow]
            part, visits = replace(part, cells=tuple(cell for cell in part.cells if cell not in slow)), ()
        self._measured[device] += part.cells
        left = {visit.cell for visit in visits}
        # the anchor runs in many parts
        self._out |= self._left.intersection(part.cells) - left
        self._left |= left
        self.visits.extend(visits)
        self._narrow()

    def split(self, number: int, cell: KernelConfiguration) -> Unit | None:
        """Leave a part with a kernel that hangs; return one with its others, if it has any."""
        part = self._in_flight[number]
        anchor = part.anchor.cell if part.anchor is not None else None
        others = tuple(other for other in part.cells if other != cell)
        if cell not in part.cells or cell == anchor or not {*others} - {anchor}:
            return None
        self._in_flight[number] = replace(part, cells=(cell,))
        self.split_parts.add(number)
        return self._part(others, part.anchor)

    def copy(self, number: int) -> Unit:
        """Return a part with the kernels of another one, in its place or beside it: the first one counts."""
        part = self._in_flight[number]
        return self._part(part.cells, part.anchor)

    def drop(self, number: int) -> None:
        """Wait no longer for a part: another one has its kernels."""
        self._in_flight.pop(number, None)

    def forget(self, devices: Iterable[str]) -> None:
        """Have measured again what some devices have measured."""
        slow = frozenset(devices)
        again = {cell for device in slow for cell in self._measured.pop(device, ())}
        self._out -= again
        self._todo += [cell for cell in self.cells if cell in again]
        self.visits = [visit for visit in self.visits if visit.device_id not in slow]
        self._left = {visit.cell for visit in self.visits}

    def _compared(self) -> tuple[set[KernelConfiguration], Anchor | None]:
        """Return which of those that may be the fastest surely are slower by now, and the best."""
        return compare_parts((visit for visit in self.visits if visit.cell not in self._out), self._rounds)

    @property
    def finalists(self) -> tuple[KernelConfiguration, ...]:
        """What runs on one device in the end."""
        out = self._compared()[0] | self._out
        return tuple(cell for cell in self.cells if cell in self._left and cell not in out)

    def _narrow(self) -> None:
        """Have measured once more, by many devices, those that are too many for one."""
        if not self.is_complete:
            return
        left = self.finalists
        if narrows(len(left), self._narrowed, len(self.cells), self.parts):
            self._todo, self._narrowed = list(left), len(left)

    def _part(self, cells: tuple[KernelConfiguration, ...], anchor: Anchor | None) -> Unit:
        self._numbers += 1
        if anchor is not None and anchor.cell not in cells:
            # beside a fast kernel, slow ones leave early
            cells = (anchor.cell, *cells)
        part = self._in_flight[self._numbers] = replace(
            self.whole.unit,
            part=self._numbers,
            cells=cells,
            anchor=anchor,
            rounds_before=self._numbers * round_numbers(self._rounds),
            past=(),
            device="",
        )
        return part
