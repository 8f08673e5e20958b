"""The hunt: problems at every boundary of every kernel, verified and not timed, until the time is over."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError, UsageError
from ckprof.events import Message
from ckprof.formatting import counted
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.requests import RunPlanOptions, Stages, StoreOptions
from ckprof.measure.support import build_checked_library, opened_library, support_answers
from ckprof.measure.worker.messages import AbiStatus, DeviceChoice, SupportQuery
from ckprof.measure.worker.process import WorkerFailure
from ckprof.model.architecture import find_architecture
from ckprof.model.problem_case import ProblemCase
from ckprof.option import positive, same_option, settable
from ckprof.sanitize import unknown_name
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof.sweep.recording import is_shard_folder
from ckprof.sweep.requests import SweepOptions
from ckprof_plugins.hunt.boundaries import KernelBoundaries, formulas
from ckprof_plugins.hunt.large import sampling_device
from ckprof_plugins.hunt.orders import OrderingDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ckprof.events import Event
    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.requests import BuildOptions
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.profiler import Profiler
    from ckprof_plugins.hunt.findings import Finding
    from ckprof_plugins.hunt.judging import RangeFinding
    from ckprof_plugins.hunt.large import LargeFinding
    from ckprof_plugins.hunt.orders import OrderFinding

#: a kernel's key, a problem and splits of its reduction
Pair = tuple[str, "Problem", int]

#: the boundary that is judged by what support tests say, without running anything
RANGE: Final = "range"
#: the one at which chosen workgroups are run, where the device can
LARGE: Final = "large"
#: what is right is run again there, in other orders, where the device can
ORDERS: Final = "orders"
#: seconds for all queries to one kernel
_ASK_S: Final = 600.0
#: share of the time after which findings are made smaller
_SEARCH_SHARE: Final = 0.85


def parse_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of boundaries that a text names, separated by commas.

    :raises UsageError: there is no such kind.
    """
    kinds = formulas()["kinds"]
    names = tuple(filter(None, (part.strip() for part in text.split(","))))
    for name in names or ("",):
        if name not in kinds:
            raise UsageError(unknown_name("boundary", name, kinds))
    return names


def run_kinds(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the boundaries at which whole problems are run; none named are all of them.

    Alone, other orders are those of what is right at all boundaries.

    :param kinds: what was asked for.
    """
    run = [kind for kind in kinds if kind not in (RANGE, LARGE, ORDERS)]
    return () if ORDERS in kinds and not run else kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions:
    """What is looked for, and for how long."""

    kinds: tuple[str, ...] = settable(
        (),
        "only these boundaries (repeatable; default: all): " + ", ".join(formulas()["kinds"]),
        flag="--boundary",
        metavar="NAME,...",
        parse=parse_kinds,
        several="extend",
    )
    draws: int = settable(
        2,
        "problems at each value of a boundary, which differ in what it leaves open",
        metavar="N",
        parse=positive,
    )
    budget_s: float | None = field(default=None, metadata=same_option(SweepOptions, "max_time_s"))
    store: StoreOptions | None = None
    #: asked before every kernel
    should_stop: Callable[[], bool] = lambda: False


def hunt_run_options(timeout_s: float) -> RunOptions:
    """Return how kernels are run: verified once, on usual and on exact operands."""
    return RunOptions(
        timeout_s=timeout_s,
        min_samples=0,
        rounds=1,
        passes=1,
        cache=CacheMode.WARM,
        second_problem=False,
    )


def _guarded(build: BuildOptions, selection: Selection) -> BuildOptions:
    """Return how kernels are built with a workspace of exactly the size that they ask for, if any has one."""
    if not any(one.pipeline.id in formulas()["workspace"]["pipelines"] for one in selection.candidates):
        return build
    header = Path(__file__).parent / "include" / "guarded_workspace.hpp"
    return replace(build, cxx_flags=(*build.cxx_flags, "-include", str(header)))


class Hunt:
    """One hunt: what is run, and what became of it.

    :param profiler: builds and runs.
    :param selection: the kernels.
    :param run: how they are run, see :func:`hunt_run_options`.
    :raises CkprofError: no toolchain.
    """

    def __init__(
        self,
        profiler: Profiler,
        selection: Selection,
        build: BuildOptions,
        run: RunOptions,
        options: HuntOptions,
    ) -> None:
        self._profiler, self._options = profiler, options
        self._selection, self._build, self._run = selection, _guarded(run.built_for(build), selection), run
        self._started = time.monotonic()
        self.operation = profiler.registry.operation(selection.direction)
        self.target = profiler.target(build.target)
        self.seed = run.seed
        #: what runs the kernels, if it is not one of the machine's own devices
        self.device_name = run.device_name
        self.device = profiler.named_device(self.device_name) if self.device_name else None
        #: what executes chosen workgroups, if anything does
        self.sampling = sampling_device(profiler.registry, self.device_name, self.target.id)
        #: ``None`` where nothing is run, because support tests alone are asked
        self.library: BuiltLibrary | None = None
        if options.kinds != (RANGE,):
            self.library = build_checked_library(profiler, selection, self._build)
        built = selection.candidates if self.library is None else self.library.built
        #: what has no kernel
        self.rejected = () if self.library is None else self.library.rejected
        self.candidates: Mapping[str, Candidate] = {one.instance.key: one for one in built}
        recipe = self.library.recipe if self.library is not None else None
        self.arch = find_architecture(recipe.arch if recipe else build.arch or self.target.default_arch)
        #: boundaries of each pair, as (kind, formula), in the order in which pairs are run
        self.planned: dict[Pair, list[tuple[str, str]]] = {}
        #: what became of them, as far as that is known
        self.outcomes: dict[Pair, Outcome] = {}
        #: how many the store had
        self.known = 0
        self.findings: list[Finding] = []
        #: answers of support tests that were judged, and what they are wrong about
        self.answered = 0
        self.ranges: list[RangeFinding] = []
        #: pairs of kernel and large problem of which a few workgroups were run, those that are left, and what
        #: is wrong there
        self.sampled = self.unsampled = 0
        self.large: list[LargeFinding] = []
        #: pairs that were run in several orders, those that are left, and what is wrong there
        self.ordered = self.unordered = 0
        self.orders: list[OrderFinding] = []
        #: what ended the hunt
        self.error: BaseException | None = None

    @property
    def complete(self) -> bool:
        """Whether every pair has an outcome."""
        is_done = all(pair in self.outcomes for pair in self.planned)
        return self.error is None and is_done and not self.unsampled and not self.unordered

    @property
    def all_findings(self) -> list[Finding | RangeFinding | LargeFinding | OrderFinding]:
        """Everything that was found."""
        return [*self.findings, *self.ranges, *self.large, *self.orders]

    @property
    def samples(self) -> bool:
        """Whether a few workgroups of large problems are run, where there are any."""
        # the CPU counts in 64 bits where devices do not: it is looked at there when that is asked for
        return self.sampling is not None and (
            LARGE in self._options.kinds if self.target.embedded else self.tries(LARGE)
        )

    @property
    def reorders(self) -> bool:
        """Whether what is right is run in other orders."""
        return self.tries(ORDERS) and isinstance(self.device, OrderingDevice)

    def tries(self, kind: str) -> bool:
        """Say whether a boundary was asked for."""
        return not self._options.kinds or kind in self._options.kinds

    def emit(self, event: Event) -> None:
        """Tell whoever listens of progress."""
        self._profiler.emit(event)

    def seconds_left(self, share: float = 1.0) -> float:
        """Return the seconds until a share of the budget is spent; infinity without a budget."""
        budget_s = self._options.budget_s
        return math.inf if budget_s is None else self._started + share * budget_s - time.monotonic()

    def usual(self, key: str) -> Problem:
        """Return the problem that a kernel is run on when none is given."""
        candidate = self.candidates[key]
        instance = candidate.instance
        problem: Problem = candidate.pipeline.default_problem(
            instance, self.operation.default_problem[instance.ndim]
        )
        return problem

    # --- what is run --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Choose the problems, and run what the store does not have, until the time is over."""
        if self.library is None:
            return
        self._plan()
        self._read_store(self.library)
        text = (
            f"{counted(len(self.planned), 'pair')} of {counted(len(self.candidates), 'kernel')} and boundary"
        )
        known = f", {self.known} of them in the store" if self.known else ""
        self._profiler.emit(Message(f"{text} problem{known}"))
        left = [pair for pair in self.planned if pair not in self.outcomes]
        self.outcomes |= self.results(left, store=True, share=_SEARCH_SHARE)

    def _plan(self) -> None:
        """Choose problems at the boundaries of each kernel that its own support test accepts."""
        places = {
            key: list(
                KernelBoundaries(candidate.instance, self.usual(key), self.arch, self.seed).places(
                    run_kinds(self._options.kinds)
                )
            )
            for key, candidate in self.candidates.items()
        }
        asked = {key: [one for place in found for one in place.attempts] for key, found in places.items()}
        answers = self.answers(asked)
        rounds: list[list[tuple[Pair, tuple[str, str]]]] = [[] for _ in range(self._options.draws)]
        for key, found in places.items():
            said = iter(answers[key])
            for place in found:
                taken = [one for one in place.attempts if next(said)]
                for chosen, (problem, splits) in zip(rounds, taken, strict=False):
                    chosen.append(((key, problem, splits), (place.kind, place.formula)))
        draw = random.Random(self.seed)  # noqa: S311 - no secret
        for chosen in rounds:
            draw.shuffle(chosen)
            for pair, reached in chosen:
                self.planned.setdefault(pair, []).append(reached)

    def answers(self, asked: Mapping[str, Sequence[tuple[Problem, int]]]) -> dict[str, list[bool]]:
        """Return which problems kernels support, by the kernels' keys, in the order of the problems.

        A problem at which a support test fails or crashes counts as supported: to run it tells how. Kernels
        that do not compile are missing.

        :raises ToolchainError: no toolchain, or the library cannot be used.
        """
        pending = [(key, [SupportQuery(*one) for one in problems]) for key, problems in asked.items()]
        library = self.library
        if library is None:
            queries = list(dict.fromkeys(query for _, some in pending for query in some))
            said = support_answers(self._profiler, self._selection, self._build, queries)
            by_query = {key: dict(zip(queries, answers, strict=True)) for key, answers in said.items()}
            return {
                key: [by_query[key][query].supported for query in some]
                for key, some in pending
                if key in said
            }
        answers: dict[str, list[bool]] = {key: [] for key in asked}
        while pending and library.path is not None:
            is_open = False
            try:
                device = DeviceChoice(arch=library.recipe.arch, index=self._run.device_index)
                variables = library.recipe.worker_variables
                with opened_library(library.path, device, dict(variables)) as (remote, _):
                    is_open = True
                    while pending:
                        key, some = pending[0]
                        given = remote.support(_ASK_S, key, some)
                        answers[key] += [one.status is not AbiStatus.REJECTED for one in given]
                        pending.pop(0)
            except WorkerFailure as failure:
                if not is_open:
                    raise ToolchainError(f"{library.path}: cannot be asked: {failure}") from failure
                key, some = pending.pop(0)
                half = len(some) // 2
                if half:
                    pending[:0] = [(key, some[:half]), (key, some[half:])]
                else:
                    answers[key].append(True)
        return answers

    def _read_store(self, library: BuiltLibrary) -> None:
        """Take the outcomes that a store has of the same objects."""
        options = self._options.store
        if options is None or is_shard_folder(options.store) or not Path(options.store).exists():
            return
        digests = {kernel.key: kernel.object_digest for kernel in library.kernels}
        with Store(options.store) as store:
            for attempt in store.attempts(StoreQuery(direction=self.operation.id), samples=False):
                kernel = attempt.key.kernel
                pair = kernel.instance, attempt.key.problem, attempt.key.split_k
                if pair in self.planned and kernel.object_digest == digests.get(kernel.instance):
                    self.outcomes[pair] = attempt.outcome(0)
        self.known = len(self.outcomes)

    def results(
        self, pairs: Iterable[Pair], *, store: bool = False, share: float = 1.0
    ) -> dict[Pair, Outcome]:
        """Run pairs and return what became of them; fewer where the time is over.

        :param store: keep them.
        :param share: of the budget.
        """
        kernels: dict[tuple[Problem, int], set[str]] = {}
        for key, problem, splits in pairs:
            kernels.setdefault((problem, splits), set()).add(key)
        if not kernels:
            return {}
        cases = [
            ProblemCase(problem=problem, splits=(splits,), instances=frozenset(keys))
            for (problem, splits), keys in kernels.items()
        ]
        request = RunPlanOptions(run=self._run).request(self._selection, cases, self._build, Stages())
        stops = self._options.should_stop
        results, error = self._profiler.execute_until_end(
            replace(
                request,
                store=self._options.store if store else None,
                should_stop=lambda: stops() or self.seconds_left(share) <= 0,
            )
        )
        self.error = self.error or error
        return {
            (
                outcome.key,
                cases[outcome.problem_index].problem,
                cases[outcome.problem_index].splits[0],
            ): outcome
            for outcome in results.outcomes
            if outcome.launched
        }
