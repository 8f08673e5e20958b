"""What is measured with kernels on the same operands: other libraries, and the same kernels unfused.

Baselines have processes of the same kind, and the same rules. A fused kernel and the one without its epilogue
run in the same rounds, one after the other, so that what disturbs the one disturbs the other. Each side has
worker processes of its own, which hold its operands.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ckprof.errors import ToolchainError, UsageError
from ckprof.measure.executor import Executor
from ckprof.measure.options import ReferencePlace, round_options, round_timing
from ckprof.measure.requests import Unfused
from ckprof.measure.rounds import Ending, KernelConfiguration, PlannedSample, Ranking, RoundOptions
from ckprof.measure.worker.messages import BaselineSource
from ckprof.model.outcome import BaselineOutcome, RoundTime, Status
from ckprof.model.problem import FusedProblem
from ckprof.model.ranking import summed_up
from ckprof.session import ignore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckprof.events import Event
    from ckprof.measure.bench import KernelBench
    from ckprof.measure.kernel_measurement import Verified
    from ckprof.measure.options import RunOptions
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.round_times import Timing
    from ckprof.measure.rounds_loop import KernelGroup
    from ckprof.measure.worker.sampling import TimingSettings
    from ckprof.model.device import Reading
    from ckprof.model.outcome import Measurement, Outcome
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.tensor import Layout
    from ckprof.model.types import ComputeType, DataType
    from ckprof.session import Session


class _Key(NamedTuple):
    """What outcomes of baselines are told apart by."""

    baseline: str
    problem_index: int
    layout: str
    dtype: DataType
    compute_type: ComputeType | None


class _Trials:
    """What was measured of a baseline on one problem."""

    def __init__(self) -> None:
        #: of the latest sample
        self.outcome: Outcome | None = None
        #: the samples of all trials
        self.visits: list[tuple[RoundTime, Measurement]] = []
        #: what was found right
        self.verified: Verified | None = None

    def add(self, outcome: Outcome, executor: Executor) -> None:
        """Take note of a sample."""
        self.outcome, measured = outcome, outcome.measurement
        self.verified = executor.verified or self.verified
        if measured is not None:
            round_time = RoundTime(
                time_ms=measured.time_ms,
                spread_ms=measured.spread_ms,
                place=("0", len(self.visits) + 1),
                process=executor.process,
            )
            self.visits.append((round_time, measured))


class Baselines:
    """The baselines of one run, and what became of them.

    Each has a trial in every visit of a problem, as kernels have, and its time is defined as theirs.

    :param sources: which; may be none.
    """

    def __init__(self, sources: Sequence[BaselineSource] = ()) -> None:
        #: which are measured
        self.sources = tuple(sources)
        #: called with each outcome as it comes
        self.on_measured: Callable[[BaselineOutcome], None] = lambda outcome: None
        #: called after each trial
        self.on_trial: Callable[[], None] = lambda: None
        self._executors: dict[str, Executor] = {}
        self._descriptions: dict[str, str] = {}
        self._keeps_samples = False
        #: of those that have no outcome yet
        self._trials: dict[_Key, _Trials] = {}
        #: one per baseline, problem, layout and types, in the order in which they were measured
        self.outcomes: list[BaselineOutcome] = []

    @contextmanager
    def opened(
        self,
        options: RunOptions,
        work_dir: Path,
        on_event: Callable[[Event], None] = ignore,
        checks: Path | None = None,
        arch: str = "",
    ) -> Iterator[None]:
        """Have a worker for each baseline inside of a block.

        :param options: how kernels are run, verified and timed.
        :param work_dir: below which workers have their working directories; must exist.
        :param on_event: called with what happens.
        :param checks: kernel library whose target may verify results on the device.
        :param arch: architecture that it is for; empty for the one that it was built for.
        :raises ToolchainError: a baseline cannot be used; the message says why.
        """
        self._keeps_samples = options.keep_samples
        # The peak is that of the target's kernels; the vendor's may use other units.
        options = replace(options, peak_flops=())
        with ExitStack() as stack:
            for source in self.sources:
                if checks is not None and options.reference is not ReferencePlace.HOST:
                    source = msgspec.structs.replace(source, checks=str(checks.resolve()))
                executor = stack.enter_context(
                    Executor(source, arch=arch, options=options, work_dir=work_dir, on_event=on_event)
                )
                self._executors[source.id] = executor
                self._descriptions[source.id] = executor.open().device
            try:
                yield
            finally:
                # the run may have been ended before the last pass
                for key in [*self._trials]:
                    self._finish(key)
                self._executors.clear()

    def new_process(self) -> None:
        """Have what follows measured by new worker processes: another pass."""
        for executor in self._executors.values():
            executor.new_process()

    def measure(
        self,
        problem_index: int,
        layout: Layout,
        dtype: DataType,
        prepared: PreparedProblem,
        on_host: Callable[[], PreparedProblem],
        *,
        rounds: int = 1,
        timing: tuple[TimingSettings, TimingSettings] | None = None,
        last: bool = True,
    ) -> None:
        """Measure a trial of every baseline on the operands that instances were run with.

        :param on_host: prepares the same operands in files, for baselines that no device verifies.
        :param rounds: of the trial.
        :param timing: how samples are taken in the first round of all and in later ones; ``None``: as the
            options say.
        :param last: baselines get their outcome: no other trial follows on the problem.
        :raises ToolchainError: workers do not start any more.
        """
        for id_, executor in self._executors.items():
            key = _Key(id_, problem_index, layout.name, dtype, prepared.types.compute_type)
            trials = self._trials.setdefault(key, _Trials())
            with_files = prepared.on_device and not executor.can_check
            executor.set_problem(on_host() if with_files else prepared)
            for _ in range(rounds):
                if trials.outcome is None or trials.outcome.status is Status.OK:
                    how = timing and timing[trials.outcome is not None]
                    sample = executor.measure(id_, problem_index, timing=how, verified=trials.verified)
                    trials.add(sample, executor)
            self.on_trial()
            if last:
                self._finish(key)

    def _finish(self, key: _Key) -> None:
        trials = self._trials.pop(key)
        outcome = trials.outcome
        if outcome is None:
            return
        if outcome.status is Status.OK and all(measured.samples_ms for _, measured in trials.visits):
            outcome = summed_up(outcome, trials.visits, _most_frequent_end)
        found = BaselineOutcome(
            baseline=key.baseline,
            description=self._descriptions[key.baseline],
            layout=key.layout,
            dtype=key.dtype,
            compute_type=key.compute_type,
            outcome=outcome if self._keeps_samples else outcome.without_samples(),
        )
        self.outcomes.append(found)
        self.on_measured(found)


def _most_frequent_end(visits: Sequence[Measurement], samples: Sequence[float]) -> str:
    return Counter(visit.stopped_by for visit in visits).most_common(1)[0][0]


def baseline_sources(session: Session, ids: Sequence[str], target: str | None) -> list[BaselineSource]:
    """Return what workers are sent for the baselines of these ids, on the device of a target.

    :param target: id; ``None`` for the usual target.
    :raises UsageError: there is no such baseline or target.
    :raises ToolchainError: its library is not installed.
    """
    on_host = session.target(target).embedded
    requests = []
    for id_ in ids:
        baseline = session.registry.baselines.find(id_)
        missing = baseline.missing()
        if missing:
            raise ToolchainError(f"baseline {id_}: {missing}")
        requests.append(BaselineSource(id=id_, entry=baseline.entry, on_host=on_host))
    return requests


#: side of the cells whose kernels have nothing fused to them
UNFUSED: Final = "unfused"

#: a fused cell and the one beside it; ``None`` where that cannot run
Pair = tuple[KernelConfiguration, KernelConfiguration | None]


def paired_problems(
    problems: Sequence[ProblemCase], own: frozenset[str], pairs: Mapping[str, str]
) -> tuple[list[ProblemCase], Unfused]:
    """Return the problems, behind each that asks for more than sums the sums alone, for the kernels of pairs.

    :param own: content keys of the instances that were asked for.
    :param pairs: content key of an instance -> that of the one beside it.
    :raises UsageError: no problem asks for more.
    """
    cases: list[ProblemCase] = []
    beside: dict[int, ProblemCase] = {}
    for case in problems:
        allowed = own if case.instances is None else own & case.instances
        cases.append(replace(case, instances=allowed))
        if isinstance(case.problem, FusedProblem):
            partners = frozenset(pairs[key] for key in allowed if key in pairs)
            alone = replace(case, problem=case.problem.unfused, instances=partners)
            beside[len(cases) - 1] = alone
            cases.append(alone)
    if not beside:
        raise UsageError("no problem asks for more than its sums of products: the kernels' epilogue has none")
    return cases, Unfused(instances=pairs, problems=beside)


def paired_groups(
    groups: Sequence[KernelGroup],
    unfused: Sequence[KernelGroup],
    pairs: Mapping[str, str],
    options: RunOptions,
) -> list[KernelGroup]:
    """Return groups of fused kernels, each with that of the kernels beside them.

    :param groups: of one problem.
    :param unfused: of its sums alone; those that no other group has beside it stay by themselves.
    """
    left, rounds = list(unfused), round_options(options)
    joined = []
    for group in groups:
        wanted = {pairs.get(key) for key in group.kernels}
        partner = next((one for one in left if one.runs and wanted & one.kernels.keys()), None)
        if partner is None or not group.runs:
            joined.append(group)
            continue
        left.remove(partner)
        cells: list[Pair] = []
        for cell in group.ranking.cells:
            key = pairs.get(cell.instance)
            other = None if key is None else KernelConfiguration(key, cell.split_k, UNFUSED)
            cells.append((cell, other if key in partner.kernels else None))
        changed = replace(group, ranking=PairedRounds(cells, rounds), beside=partner)
        joined.append(replace(changed, timing=round_timing(options, once=False)))
    return [*joined, *left]


class PairedRounds(Ranking[KernelConfiguration]):
    """Every pair in every round, its cells one after the other: what comes first changes from round to round.

    Nothing is pruned, and no visit is repeated: what disturbs a pair disturbs both.
    """

    def __init__(self, pairs: Sequence[Pair], options: RoundOptions) -> None:
        cells = [cell for pair in pairs for cell in pair if cell is not None]
        super().__init__(cells, replace(options, exhaustive=True))
        self._pairs = tuple(pairs)
        self._rounds = self._options.max_rounds
        self._chance = random.Random(options.seed)  # noqa: S311 - an order, no secret
        #: pairs whose fused kernel comes first in odd rounds
        self._first = [self._chance.random() < 0.5 for _ in self._pairs]
        self._left = self._rounds * sum(len(_members(pair)) for pair in pairs)

    @property
    def remaining_samples(self) -> int:
        """Samples that are left at most."""
        return self._left

    def record(self, planned: PlannedSample[KernelConfiguration], timing: Timing | None) -> None:
        """Note what a sample gave; a pair of which one fails leaves."""
        self._left -= 1
        super().record(planned, timing)

    def visit(self) -> Iterator[PlannedSample[KernelConfiguration]]:
        """Yield the samples of the rounds of one process."""
        first, count = self._round + 1, self._options.visit_rounds(self._passes, self._round)
        self._passes += 1
        for number in range(first, first + count):
            # in the first round all are visited: each has an outcome
            running = [
                index
                for index, pair in enumerate(self._pairs)
                if number == 1 or not self._failed.intersection(_members(pair))
            ]
            self._left = (self._rounds - number + 1) * sum(len(_members(self._pairs[one])) for one in running)
            self._chance.shuffle(running)
            order = 0
            for index in running:
                members = _members(self._pairs[index])
                for cell in members if self._first[index] == (number % 2 == 0) else reversed(members):
                    yield PlannedSample(cell=cell, round=number, order=order)
                    order += 1
            self._round = number
            if number == self._rounds or not running:
                self.ending = Ending.MAX_ROUNDS
                break


def _members(pair: Pair) -> tuple[KernelConfiguration, ...]:
    return tuple(cell for cell in pair if cell is not None)


class PairedBench:
    """Two benches of a library as one, for groups that have another one beside them.

    :param own: has the device's lock, and the baselines.
    :param other: for the groups beside others.
    """

    def __init__(self, own: KernelBench, other: KernelBench) -> None:
        self._own, self._other = own, other
        self._latest = own

    def open_group(self, group: KernelGroup) -> None:
        """Prepare operands and reference, of both sides where there are two."""
        self._latest = self._own
        self._own.open_group(group)
        if group.beside is not None:
            # both sides are needed as long
            self._other.open_group(replace(group.beside, ranking=group.ranking))

    def measure(self, group: KernelGroup, planned: PlannedSample[KernelConfiguration]) -> Outcome:
        """Measure one kernel of the side that is meant."""
        self._latest = self._other if planned.cell.side == UNFUSED else self._own
        return self._latest.measure(group, planned)

    def measure_baselines(self, group: KernelGroup, rounds: int) -> None:
        """Measure a trial of every baseline, on the operands of both sides where there are two."""
        self._own.measure_baselines(group, rounds)
        if group.beside is not None:
            beside = replace(group.beside, ranking=group.ranking)
            self._other.measure_baselines(beside, rounds, self._own.baselines)

    def observe(self) -> Reading:
        """Return what all observers see."""
        return self._own.observe()

    def new_process(self) -> None:
        """Have what follows measured by new worker processes, of both sides."""
        self._own.new_process()
        self._other.new_process()

    @property
    def process(self) -> str:
        """The process of the last measurement."""
        return self._latest.process
