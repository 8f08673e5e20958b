"""Which kernels of a problem may be the fastest, by what several devices have measured of parts of them.

Each device runs some of the kernels, and all run one of them, the anchor, at the beginning of each round:
times are compared as ratios to it on the same device and in the same round (see
:func:`ckprof.store.attempt.marked_round_time`). If ratios were the same on all devices, that would settle the
ranking. They are not quite: kernels that memory limits and kernels that arithmetic limits do not slow down
alike. So parts only say who surely is not the fastest. All others then run beside each other on one device,
whose rounds count as they were measured; by what that device may differ from the first one, the margin of
screening allows for.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.model.outcome import Status
from ckprof.model.ranking import RankedSet, kernel_time
from ckprof.store.attempt import Mark
from ckprof.sweep.plan import History, MeasuredBefore
from ckprof_plugins.cluster.messages import Anchor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from ckprof.measure.rounds import KernelConfiguration, RoundOptions
    from ckprof.model.outcome import RoundTime
    from ckprof.store.query import PastVisit
    from ckprof.sweep.plan import PlanRequest

#: cells that failed, that left early, and that were not measured to the end
_WithoutTime: TypeAlias = (
    "tuple[set[KernelConfiguration], set[KernelConfiguration], list[KernelConfiguration]]"
)

#: two devices may differ by so much more for one kernel than for the anchor: as much as they may differ at
#: all before one of them counts as slow
BETWEEN_DEVICES: Final = 0.05
#: times of the anchor agree that differ by no more than this factor; it is measured so often at most
_AGREE: Final = 1.02
#: and one that is slower than expected by this factor was disturbed
_DISTURBED: Final = 1.1
_MOST_VISITS: Final = 8


def rankings_of_one_device(
    visits: Sequence[PastVisit], cells: Sequence[KernelConfiguration], request: PlanRequest
) -> MeasuredBefore:
    """Count attempts of one device alone, and what the parts of a problem say of the others."""
    out: frozenset[KernelConfiguration] = frozenset()
    failed = out
    parts = [visit for visit in visits if visit.marks and Mark.PART in visit.all_marks]
    if parts:
        visits = [visit for visit in visits if Mark.PART not in visit.all_marks]
        if not request.fresh:
            out, failed, _ = screen(parts, cells, request.rounds, retry_failed=request.retry_failed)
            cells = tuple(cell for cell in cells if cell not in out)
    device = ""
    if visits:
        device, visits = _of_one_device(visits, cells, request)
    return MeasuredBefore(visits=tuple(visits), device=device, out=out, failed=failed)


def _of_one_device(
    visits: Sequence[PastVisit], cells: Sequence[KernelConfiguration], request: PlanRequest
) -> tuple[str, list[PastVisit]]:
    """Return a device and its attempts: one that finished the ranking, else the one with most attempts."""
    groups: dict[str, list[PastVisit]] = {}
    for visit in visits:
        groups.setdefault(visit.device_id, []).append(visit)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    if len(ordered) > 1:
        for device, group in ordered:
            if History(group, request).resumed(cells, request.rounds).ending is not None:
                return device, group
    return ordered[0]


def anchor_time(measure: Callable[[], float | None], expected_ms: float) -> float | None:
    """Return the time of the anchor in a round in milliseconds.

    What disturbs a measurement makes it slower; were it the anchor's, everything else in the round would seem
    faster than it is. So the least time counts, when a second one agrees with it and it is about what is
    expected. If it still is not after several attempts, it is the device that is slow.

    :param measure: measures it once.
    :param expected_ms: the least time that was seen so far.
    :returns: ``None`` if it cannot be ranked.
    """
    times: list[float] = []
    while len(times) < _MOST_VISITS and (
        len(times) < 2 or times[1] > times[0] * _AGREE or times[0] > expected_ms * _DISTURBED
    ):
        time = measure()
        if time is None:
            return None
        times = sorted([*times, time])
    return times[0]


def part_rounds(rounds: RoundOptions) -> RoundOptions:
    """Return the rounds of a part: enough to see who is surely slower; who is tied shows later."""
    return replace(rounds, max_rounds=rounds.min_rounds)


def round_numbers(rounds: RoundOptions) -> int:
    """Return how many numbers of rounds are left to a part: as many as a problem on one device may take.

    They tell parts from one another that one worker has measured.
    """
    return 2 * (rounds.max_rounds + rounds.least_passes)


def screen(
    visits: Sequence[PastVisit],
    cells: Sequence[KernelConfiguration],
    rounds: RoundOptions,
    *,
    retry_failed: bool = False,
) -> tuple[frozenset[KernelConfiguration], frozenset[KernelConfiguration], tuple[KernelConfiguration, ...]]:
    """Say who may be the fastest, and who was not measured yet.

    Kernels are left out by what ran beside them in their part, and those that are not by all other parts.

    :param visits: attempts of parts of the problem, oldest first; those on slow devices left out.
    :param cells: what competes.
    :param retry_failed: what failed is to be measured again.
    :returns: cells that need not run beside the others, since they surely are slower than the best or
        failed; those among them that failed or are not supported; and those that no device has measured to
        the end.
    """
    by_part: dict[tuple[str, int], list[PastVisit]] = defaultdict(list)
    for visit in visits:
        by_part[visit.session, (visit.round - 1) // round_numbers(rounds)].append(visit)
    failed, left, missing = _without_time(visits, cells, rounds, retry_failed=retry_failed)
    slower: set[KernelConfiguration] = set()
    for part in by_part.values():
        slower |= _slower_in_part(part, rounds)[1]
    slower_than_all, _ = compare_parts(_but(visits, failed, left, missing, slower), rounds)
    out = failed.union(left, slower - {*missing}, slower_than_all)
    return frozenset(out), frozenset(failed), tuple(missing)


def out_of_part(visits: Sequence[PastVisit], rounds: RoundOptions) -> frozenset[KernelConfiguration]:
    """Say which kernels of a part surely are not the fastest, by that part alone.

    :func:`screen` finds the same of all attempts of a problem: what a worker leaves out is never asked for
    when a store is opened again.

    :param visits: attempts of the part.
    """
    (failed, left, _), slower = _slower_in_part(visits, rounds)
    return frozenset(failed.union(left, slower))


def _slower_in_part(
    part: Sequence[PastVisit], rounds: RoundOptions
) -> tuple[_WithoutTime, set[KernelConfiguration]]:
    """Return what has no time in a part, and what is slower than others of it.

    Who left in another part, as the anchor may, counts here: it was the measure of the others.
    """
    ran = dict.fromkeys(visit.cell for visit in part)
    without = _without_time(part, ran, rounds)
    return without, compare_parts(_but(part, *without), rounds)[0]


def _without_time(
    visits: Iterable[PastVisit],
    cells: Iterable[KernelConfiguration],
    rounds: RoundOptions,
    *,
    retry_failed: bool = False,
) -> _WithoutTime:
    """Return which cells failed, which left early, and which were not measured to the end."""
    by_cell: dict[KernelConfiguration, list[PastVisit]] = defaultdict(list)
    for visit in visits:
        by_cell[visit.cell].append(visit)
    failed: set[KernelConfiguration] = set()
    left: set[KernelConfiguration] = set()
    missing: list[KernelConfiguration] = []
    for cell in cells:
        own = by_cell.get(cell, ())
        counted = {(visit.session, visit.round) for visit in own if Mark.DISTURBED not in visit.all_marks}
        if any(visit.status != Status.OK.value for visit in own):
            (missing.append if retry_failed else failed.add)(cell)
        elif any(Mark.DROPPED in visit.all_marks for visit in own):
            # surely slower than somebody who did not leave
            left.add(cell)
        elif len(counted) < part_rounds(rounds).least_rounds:
            missing.append(cell)
    return failed, left, missing


def _but(visits: Iterable[PastVisit], *cells: Collection[KernelConfiguration]) -> list[PastVisit]:
    """Return the attempts on other cells than some."""
    aside = {cell for some in cells for cell in some}
    return [visit for visit in visits if visit.cell not in aside]


def compare_parts(
    visits: Iterable[PastVisit], rounds: RoundOptions
) -> tuple[set[KernelConfiguration], Anchor | None]:
    """Return the kernels that surely are slower than the best of them, and that one.

    :param visits: attempts on those that their parts have left.
    :returns: ``None`` for the best before a kernel has a time.
    """
    by_cell: dict[KernelConfiguration, list[RoundTime]] = defaultdict(list)
    # the same again, in whatever order parts were finished
    for visit in sorted(visits, key=lambda visit: (visit.session, visit.round)):
        if (measured := visit.round_time) is not None:
            by_cell[visit.cell].append(measured)
    times = {cell: time for cell, own in by_cell.items() if (time := kernel_time(own)) is not None}
    if not times:
        return set(), None
    ordered = sorted(times, key=lambda cell: (times[cell].time_ms, cell))
    margin = (1 + rounds.tie) * (1 + BETWEEN_DEVICES) - 1
    slower = RankedSet([times[cell] for cell in ordered]).slower(margin)
    return {cell for cell, out in zip(ordered, slower, strict=True) if out}, Anchor(
        cell=ordered[0], time_ms=times[ordered[0]].time_ms
    )
