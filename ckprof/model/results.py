"""Everything that one run found out, or a batch of runs over many lists: the input of every report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from ckprof.errors import ExitCode
from ckprof.formatting import counted
from ckprof.model.outcome import Outcome, Status
from ckprof.model.ranking import Ranked, Resolution, ranked_set_of, ranking

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ckprof.model.conversion import Conversion
    from ckprof.model.kernel import SameKernels, SelectedKernel, Substitution
    from ckprof.model.outcome import BaselineOutcome
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSummary:
    """What the build did and what it cost."""

    compiled: int = 0
    from_cache: int = 0
    failed: int = 0
    wall_s: float = 0.0
    #: CPU time of all compiler processes
    cpu_s: float = 0.0
    #: largest resident memory of one compiler process
    peak_memory_bytes: int = 0
    jobs: int = 1
    #: (kernel name, wall seconds), slowest first
    slowest: tuple[tuple[str, float], ...] = ()
    #: (kernels, wall seconds) of each translation unit of kernels that was compiled
    units: tuple[tuple[int, float], ...] = ()
    #: names of kernels that compile, but did not in one translation unit, which would have taken less time;
    #: and what the compiler said to all of them together
    separated: tuple[tuple[tuple[str, ...], str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunResults:
    """One run of ``ckprof run``."""

    direction: str
    target: str
    arch: str
    #: properties needed to reproduce the run: host, compiler, flags, git state, seed, options
    environment: Mapping[str, object]
    conversions: tuple[Conversion, ...]
    instances: tuple[SelectedKernel, ...]
    problems: tuple[Problem, ...]
    #: what the source of each problem says of it; empty where nothing is known
    cases: tuple[ProblemCase, ...] = ()
    build: BuildSummary
    outcomes: tuple[Outcome, ...]
    #: wall seconds per stage
    stages_s: Mapping[str, float] = field(default_factory=dict)
    #: whether reports shall say every condition that rejected an instance
    why: bool = False
    #: instances that are the same kernel on the target, where reports shall say so
    same_kernels: tuple[SameKernels, ...] = ()
    #: kernels that computed problems in place of instances'
    substitutions: tuple[Substitution, ...] = ()
    #: the run was ended before its last outcome, by a signal or an error
    partial: bool = False
    #: what disturbed the times, e.g. a high load
    warnings: tuple[str, ...] = ()
    #: ids of the baselines that were asked for
    baseline_ids: tuple[str, ...] = ()
    #: what became of them
    baselines: tuple[BaselineOutcome, ...] = ()
    #: content key of an instance -> that of the one without what is fused to it, measured beside it
    unfused_instances: Mapping[str, str] = field(default_factory=dict)
    #: position of a problem -> that of its sums alone
    unfused_problems: Mapping[int, int] = field(default_factory=dict)
    #: content key of an instance -> lines of the problems that it was verified on besides
    second: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the trust in all times, for people."""
        passes = {measured.process for outcome in self.outcomes for measured in outcome.rounds}
        if len(passes) < 2 or len(self.problems) - len(self.unfused_problems) > 1:
            return ()
        return ("one problem: its passes follow one another, so slow changes of the machine are not seen",)

    @property
    def succeeded(self) -> bool:
        """False if an outcome failed, also of a baseline, or no instance could serve one of the problems."""
        return not self.failures

    @property
    def failures(self) -> dict[str, int]:
        """How many outcomes failed, by status, also of baselines; and problems that no instance served."""
        outcomes = (*self.outcomes, *(baseline.outcome for baseline in self.baselines))
        failed = Counter(outcome.status.value for outcome in outcomes if outcome.status.is_failure)
        served = {outcome.problem_index for outcome in self.outcomes if outcome.status is Status.OK}
        if len(served) < len(self.problems):
            failed["problem without a kernel"] = len(self.problems) - len(served)
        return dict(failed)

    def is_complete(self, problem_index: int) -> bool:
        """Say whether every instance that a problem takes has an outcome on it: a run may be ended before."""
        if not self.partial:
            return True
        case = self.cases[problem_index] if self.cases else None
        taken = {instance.key for instance in self.instances if case is None or case.takes(instance)}
        return taken <= {o.key for o in self.outcomes if o.problem_index == problem_index}

    @cached_property
    def _rankings(self) -> Mapping[int, list[Ranked]]:
        """The rankings of the problems by position; reports ask for each a dozen times."""
        positions, of = {one.key: one.index for one in self.instances}, attrgetter("problem_index")
        groups = groupby(sorted(self.outcomes, key=of), of)
        return {index: ranking([*outcomes], positions) for index, outcomes in groups}

    def ranking(self, problem_index: int) -> list[Ranked]:
        """Return the outcomes of one problem with their places, best first."""
        return self._rankings.get(problem_index, [])

    def resolution(self, problem_index: int) -> Resolution:
        """Return what is known of the first place on a problem."""
        return ranked_set_of(o for o in self.outcomes if o.problem_index == problem_index)[1].resolution()

    def of_problem(self, problem_index: int) -> list[Outcome]:
        """Return the outcomes of one problem, in the order of :meth:`ranking`."""
        return [ranked.outcome for ranked in self.ranking(problem_index)]

    def best(self, problem_index: int) -> Outcome | None:
        """Return the fastest verified outcome of a problem, or ``None``."""
        ok = (one for one in self.of_problem(problem_index) if one.status is Status.OK)
        return next((one for one in ok if one.measurement and one.verification), None)


class ListVerdict(Enum):
    """What became of one list."""

    #: every instance that supports a problem was verified, and each problem had one
    FINE = "fine"
    #: an outcome failed, or no instance supports a problem
    FAILED = "failed"
    #: the list cannot be read
    BROKEN = "broken"
    #: nothing of it was asked for
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListResult:
    """One list of a batch."""

    #: as a path below the root of the tree
    name: str
    #: empty for a broken list
    direction: str
    verdict: ListVerdict
    #: why the list is broken or skipped
    reason: str = ""
    results: RunResults | None = None
    #: wall seconds from reading to the last outcome
    seconds: float = 0.0
    #: what the command shall return because of a broken list
    exit_code: ExitCode = ExitCode.OK

    @property
    def counts(self) -> Mapping[Status, int]:
        """Outcomes by status."""
        return Counter(outcome.status for outcome in self.results.outcomes) if self.results else Counter()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResults:
    """One call of ``ckprof run --tree``."""

    root: str
    #: name of the folders that lists were taken from; empty for all
    set_name: str
    #: lists that were found
    found: int
    #: those that the batch came to, in order
    lists: tuple[ListResult, ...]
    why: bool = False

    @property
    def finished(self) -> bool:
        """False when the batch was interrupted."""
        return len(self.lists) == self.found and not any(
            item.results is not None and item.results.partial for item in self.lists
        )

    @property
    def counts(self) -> Mapping[Status, int]:
        """Outcomes of all lists by status."""
        return sum((Counter(item.counts) for item in self.lists), Counter[Status]())

    @property
    def verdicts(self) -> Mapping[ListVerdict, int]:
        """Lists by what became of them."""
        return Counter(item.verdict for item in self.lists)


def second_text(second: Mapping[str, Collection[str]]) -> str:
    """Return how many kernels were verified on second problems.

    :param second: content key -> their lines.
    """
    return f"second problems: {sum(map(bool, second.values()))} of {counted(len(second), 'kernel')}"


def status_counts(counts: Mapping[Status, int]) -> str:
    """Return e.g. ``40 ok, 13 unsupported``."""
    return ", ".join(f"{counts[status]} {status.value}" for status in Status if counts.get(status))
