"""Settling: kernels of rows that are unclear or fail are built for both sides, and measured interleaved."""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from statistics import geometric_mean
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.compare.change import Verdict, judge_pairs
from ckprof.compare.compare import Comparison, compare
from ckprof.compare.options import ENOUGH_PAIRS, ChangePolicy
from ckprof.compare.side import SETTLED, MeasuredRow, ProblemKey, RowKey, Side, with_rounds
from ckprof.errors import NothingLeftError, UsageError
from ckprof.events import Message
from ckprof.formatting import counted
from ckprof.kernels.choose import choose_instances
from ckprof.kernels.requests import InstanceQuery
from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import Ending, KernelConfiguration, PlannedSample, Ranking, RoundOptions
from ckprof.measure.rounds_loop import Bench, KernelGroup, RoundsLoop
from ckprof.measure.support import build_checked_library
from ckprof.model.device import Reading
from ckprof.model.outcome import RoundTime
from ckprof.sweep.requests import RoundRunOptions
from ckprof.sweep.sweep import open_library, sweep_run_options

if TYPE_CHECKING:
    from ckprof.compare.options import SettleOptions
    from ckprof.kernels.choose import Selection
    from ckprof.model.outcome import Outcome
    from ckprof.session import Session
    from ckprof.store.key import MeasurementKey
    from ckprof.store.query import SharedKey
    from ckprof.sweep.sweep import OpenedLibrary


#: sides of a comparison, as cells name them
OLD: Final = "old"
NEW: Final = "new"


#: of one row, for each pair of processes: times of the old and the new side in milliseconds, when they began
_Pairs: TypeAlias = list[tuple[float, float, float]]


def settle(
    comparison: Comparison,
    sides: tuple[Side, Side],
    keys: Sequence[RowKey],
    bench: Bench,
    max_rounds: int,
) -> Comparison:
    """Measure rows again and compare anew, with the new times in place of the old ones.

    :param comparison: whose rows are meant.
    :param sides: what was compared.
    :param keys: the rows to measure, which both sides can run.
    :param bench: measures cells of the sides :data:`OLD` and :data:`NEW`.
    :param max_rounds: pairs of processes that measure a row at most.
    """
    measured = _measure_rows(keys, bench, comparison.policy, max_rounds)
    old, new = (_replaced(side, measured, place) for place, side in enumerate(sides))
    return compare(old, new, comparison.policy, settled=len(measured))


def _replaced(side: Side, measured: dict[RowKey, _Pairs], place: int) -> Side:
    """Return a side with new rounds."""
    rows: dict[RowKey, MeasuredRow] = dict(side.rows)
    for key, pairs in measured.items():
        rounds = [
            RoundTime(
                time_ms=pair[place],
                started=pair[2],
                place=(SETTLED, number),
                process=f"{SETTLED}/{number}",
            )
            for number, pair in enumerate(pairs, start=1)
        ]
        rows[key] = with_rounds(rows[key], rounds)
    return replace(side, rows=rows)


def _measure_rows(
    keys: Sequence[RowKey], bench: Bench, policy: ChangePolicy, max_rounds: int
) -> dict[RowKey, _Pairs]:
    """Return the rounds of each row that worked on both sides in every round."""
    groups: dict[ProblemKey, list[RowKey]] = defaultdict(list)
    for key in keys:
        groups[key.problem].append(key)
    pairs: dict[RowKey, _Pairs] = {}
    rankings = [
        PairRounds(group, policy, max_rounds, seed=index) for index, group in enumerate(groups.values())
    ]
    measured = [
        KernelGroup(problem=problem.problem, problem_index=index, kernels={}, ranking=ranking)
        for index, (problem, ranking) in enumerate(zip(groups, rankings, strict=True))
    ]
    for _, samples in RoundsLoop(bench).visits(measured):
        for _ in samples:
            pass
    for ranking in rankings:
        pairs |= ranking.pairs
    return pairs


class PairRounds(Ranking[KernelConfiguration]):
    """Rows of one problem, a round in each pass: a row's sides are measured in the order ABBA.

    :param keys: the rows.
    :param policy: says when a row is settled, after which it leaves.
    :param seed: of the order within rounds.
    """

    def __init__(self, keys: Sequence[RowKey], policy: ChangePolicy, max_rounds: int, seed: int) -> None:
        cells = [KernelConfiguration(key.instance, key.split_k, side) for key in keys for side in (OLD, NEW)]
        super().__init__(cells, RoundOptions(max_rounds=max_rounds))
        self._policy = policy
        self._chance = random.Random(seed)  # noqa: S311 - an order, no secret
        self._unsettled = set(keys)
        self._latest: Timing | None = None
        #: of each row that worked on both sides so far
        self.pairs: dict[RowKey, _Pairs] = {key: [] for key in keys}

    def record(self, planned: PlannedSample[KernelConfiguration], timing: Timing | None) -> None:
        """Note what a sample gave."""
        self._latest = timing

    def visit(self) -> Iterator[PlannedSample[KernelConfiguration]]:
        """Yield the samples of one round."""
        chance, active = self._chance, self._unsettled
        self._round += 1
        order = [key for key in self.pairs if key in active]
        chance.shuffle(order)
        for position, key in enumerate(order):
            # what changes steadily moves the outer two as much as the inner two
            sides = (NEW, OLD, OLD, NEW) if chance.random() < 0.5 else (OLD, NEW, NEW, OLD)
            started = time.time()
            times: dict[str, list[float]] = defaultdict(list)
            for place, side in enumerate(sides):
                cell = KernelConfiguration(key.instance, key.split_k, side)
                at = 4 * position + place
                yield PlannedSample(cell=cell, round=self._round, order=at)
                if self._latest is None:
                    active.discard(key)
                    del self.pairs[key]
                    break
                times[side].append(self._latest.time_ms)
            else:
                old, new = (geometric_mean(times[side]) for side in (OLD, NEW))
                self.pairs[key].append((old, new, started))
        if self._round >= ENOUGH_PAIRS:
            active -= _settled({key: self.pairs[key] for key in active}, self._policy)
        if not active or self._round >= self._options.max_rounds:
            self.ending = Ending.MAX_ROUNDS


def _settled(pairs: dict[RowKey, _Pairs], policy: ChangePolicy) -> set[RowKey]:
    differences = [[math.log(pair[1] / pair[0]) for pair in of_row] for of_row in pairs.values()]
    judged = zip(pairs, judge_pairs(differences, policy), strict=True)
    return {key for key, change in judged if change.verdict is not Verdict.UNCLEAR}


#: what names the compilers of the old and of the new side on the command line
_COMPILER_OPTIONS: Final = ("--old-compiler", "--compiler")


def settle_rows(
    session: Session, comparison: Comparison, sides: tuple[Side, Side], options: SettleOptions
) -> Comparison:
    """Build what is unclear, or fails by its time, for both sides, measure it interleaved, and compare anew.

    :raises UsageError: a side cannot be run here as it was measured, or the query does not have its kernels.
    :raises ToolchainError: no usable compiler.
    """
    open_rows = [
        row
        for row in comparison.rows
        if row.change and (row.change.verdict is Verdict.UNCLEAR or comparison.failure_of(row))
    ]
    if not open_rows:
        return comparison
    directions = {row.key.problem.direction for row in open_rows}
    if len(directions) > 1:
        raise UsageError(
            f"rows to settle are of {', '.join(sorted(directions))}: choose one with --direction"
        )
    selection = _kernels_to_settle(
        session, {row.key.instance for row in open_rows}, directions.pop(), options.query
    )
    listed = {candidate.instance.key for candidate in selection.candidates}
    keys = [row.key for row in open_rows if row.key.instance in listed]
    session.emit(
        Message(f"settling {len(keys)} of {counted(len(open_rows), 'row')} that are unclear or fail")
    )
    run = options.run or RoundRunOptions(timeout_s=session.settings.timeout)
    with ExitStack() as stack:
        libraries: list[OpenedLibrary] = []
        for side, build, option in zip(sides, (options.old, options.new), _COMPILER_OPTIONS, strict=True):
            key = side.rows[keys[0]].measurement
            # as it was measured where the options do not say it
            as_measured = replace(
                build,
                target=build.target or key.device.target,
                arch=build.arch or key.device.arch or None,
                api_level=build.api_level or key.operation.api_level or None,
            )
            library = build_checked_library(session, selection, as_measured)
            how = sweep_run_options(run, library.recipe)
            # one of the two sides takes the device's lock for both
            lock = None if libraries else ""
            opened = stack.enter_context(open_library(session, library, how, lock=lock))
            _check_same(opened.shared, key, side.label, option)
            libraries.append(opened)
        return settle(comparison, sides, keys, _TwoBenches(*libraries), options.max_rounds)


def _kernels_to_settle(
    session: Session, instances: set[str], direction: str, query: InstanceQuery
) -> Selection:
    selection = choose_instances(session, replace(query, directions=direction))
    wanted = tuple(candidate for candidate in selection.candidates if candidate.instance.key in instances)
    if not wanted:
        raise NothingLeftError(
            "none of the kernels to settle is in the given list: name the one they come from"
        )
    return replace(selection, candidates=wanted)


def _check_same(shared: SharedKey, key: MeasurementKey, label: str, option: str) -> None:
    """Refuse to settle with other code, or elsewhere, than what was measured."""
    for what, here, there in (
        ("compiler", shared.toolchain.compiler, key.toolchain.compiler),
        ("flags", " ".join(shared.toolchain.flags), " ".join(key.toolchain.flags)),
        ("headers", shared.toolchain.headers[:12], key.toolchain.headers[:12]),
        ("device", shared.device.model, key.device.model),
    ):
        if there and here != there:
            raise UsageError(
                f"{label} cannot be measured again here: its {what} was {there!r}, here it is {here!r}; "
                f"another compiler is named with {option}"
            )


class _TwoBenches:
    """Both sides as one bench: a cell says which of them is meant."""

    def __init__(self, old: OpenedLibrary, new: OpenedLibrary) -> None:
        self._sides = {OLD: old, NEW: new}
        self._groups: dict[str, KernelGroup] = {}
        self._process = ""

    def open_group(self, group: KernelGroup) -> None:
        """Prepare a problem on both sides."""
        wanted = {cell.instance for cell in group.ranking.cells}
        for name, side in self._sides.items():
            kernels = {kernel.key: kernel for kernel in side.library.kernels if kernel.key in wanted}
            self._groups[name] = replace(group, kernels=kernels)
            side.bench.open_group(self._groups[name])

    def measure(self, group: KernelGroup, planned: PlannedSample[KernelConfiguration]) -> Outcome:
        """Measure a kernel of one side once."""
        side = self._sides[planned.cell.side]
        outcome = side.bench.measure(self._groups[planned.cell.side], planned)
        self._process = side.bench.process
        side.hooks.after_outcome(group.problem, outcome)
        return outcome

    def new_process(self) -> None:
        """Have both sides measured in new processes."""
        for side in self._sides.values():
            side.bench.new_process()

    @property
    def process(self) -> str:
        """The process of the side that was measured last."""
        return self._process

    def observe(self) -> Reading:
        """Return nothing: both sides run under the same conditions."""
        return Reading()
