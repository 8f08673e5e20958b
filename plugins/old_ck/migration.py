"""Kernels of both sides are built, asked, run, inspected and timed, each by what ``ckprof`` has for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ckprof.errors import NothingLeftError, UsageError
from ckprof.formatting import counted
from ckprof.kernels.candidates import KernelNames, list_candidates
from ckprof.kernels.choose import Selection, choose_instances
from ckprof.kernels.fitting import problems_for
from ckprof.kernels.inspection import inspect_what_compiles
from ckprof.kernels.library import build_library
from ckprof.kernels.requests import BuildOptions
from ckprof.lists.list_files import read_request
from ckprof.measure.options import RunOptions
from ckprof.measure.run import Run
from ckprof.measure.support import query_instance_strings, query_library, random_queries
from ckprof.measure.worker.messages import AbiStatus, Support, SupportQuery
from ckprof.model.problem_case import AUTO, ProblemCase
from ckprof.model.recipe import Purpose
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings.rendering import StringError
from ckprof.option import Limits, above_zero, limits, limits_text, settable
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Target
from ckprof.problems.choose import GivenProblems
from ckprof_converters.drop_rules import DropRule
from ckprof_plugins.old_ck.family import OldCkInstance
from ckprof_plugins.old_ck.pairs import KernelPair, Loss, Migration, PairSide
from ckprof_plugins.old_ck.rules import ruled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.inspection import InspectedKernel
    from ckprof.kernels.requests import InstanceQuery
    from ckprof.model.outcome import Outcome
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session

    #: content key of a kernel, and what it was asked
    Asked: TypeAlias = tuple[str, SupportQuery]
    #: what is computed -> keys of the kernels that compute it
    Wanted: TypeAlias = Mapping[SupportQuery, frozenset[str]]

#: source of a line -> its old and its new kernel, or why it has none
Lines: TypeAlias = "Mapping[str, tuple[Candidate | str, Candidate | str]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateOptions:
    """How kernels are held against each other."""

    problems: tuple[ProblemCase, ...] = ()
    build: BuildOptions = field(default_factory=BuildOptions)
    #: how old kernels are built, if not as new ones are: with other headers or another compiler
    old_build: BuildOptions | None = None
    run: RunOptions = field(default_factory=RunOptions)
    random: int = settable(500, "ask about so many random problems as well", metavar="N")
    runs: bool = settable(
        True, "only ask kernels: they are neither compiled for a device nor run", flag="--no-run"
    )
    checked: int = settable(
        3, "random problems per line on which results are compared", flag="--results", metavar="N"
    )
    most_flop: float = settable(
        1e9,
        "given problems of up to N floating-point operations are run on the emulated device as well",
        flag="--run-flop",
        metavar="N",
        parse=above_zero,
    )
    gpu: str = settable(
        "",
        "product whose compute units, clock and memory count, e.g. MI300X (default: the architecture's "
        "usual one)",
        metavar="NAME",
    )
    fail_on: Limits[Loss] = settable(
        (Loss.SUPPORT, Loss.RESULTS, Loss.BUILD),
        "losses that make the command exit with 1, separated by commas, or none; slower=10% counts from that "
        f"share on: {', '.join(loss.value for loss in Loss)}",
        metavar="LIST",
        parse=partial(limits, Loss, graded=(Loss.SLOWER,)),
        show=lambda losses: ",".join(limits_text(losses)),
        several="store",
    )

    def __post_init__(self) -> None:
        for option, value in (("--random", self.random), ("--results", self.checked)):
            if value < 0:
                raise UsageError(f"{option} is {value}, expected at least 0")


#: of runs that compare results alone: as few launches as there can be
_ONCE: Final[Mapping[str, Any]] = {
    "rounds": 1,
    "passes": 1,
    "warmup": 0,
    "min_samples": 1,
    "max_time_s": 0.001,
}
#: every n-th random problem is asked about with splits that the kernel chooses, too
_AUTOMATIC: Final = 10


def migrate(session: Session, lines: Lines, options: MigrateOptions) -> Migration:
    """Hold the old and the new kernel of each line against each other.

    :raises UsageError: the target does not run kernels here.
    :raises InputError: a problem fits no kernel.
    :raises NothingLeftError: no line has a kernel, or none compiles.
    :raises CkprofError: no toolchain, or a library cannot be used.
    """
    candidates = [one for pair in lines.values() for one in pair if not isinstance(one, str)]
    if not candidates:
        why = next((str(text) for pair in lines.values() for text in pair), "the list is empty")
        raise NothingLeftError(f"no line has a kernel of either side: {why}")
    operation = session.registry.operation(candidates[0].instance.direction)
    cases = problems_for(session, GivenProblems(named=options.problems), operation, candidates)
    given = {SupportQuery(case.problem, split) for case in cases for split in case.splits or (1,)}
    asked = {source: _queries(operation, pair, cases, options) for source, pair in lines.items()}
    sides = _built(session, lines, options)
    libraries = [*dict.fromkeys(sides)]
    for kernels in libraries:
        kernels.ask([*dict.fromkeys(chain.from_iterable(asked.values()))])

    def pairs() -> Iterator[KernelPair]:
        for source, queries in asked.items():
            old, new = (of.side(one, queries) for of, one in zip(sides, lines[source], strict=True))
            yield KernelPair(
                source=source,
                queries=queries,
                old=old,
                new=new,
                exact=operation.is_exact(queries[0].problem),
                ruled=_ruled(old, source, queries, sides[0].library.recipe.arch),
            )

    drawn, timed = _to_compute(pairs(), given, options.checked)
    notes: dict[str, None] = {}
    if not options.runs:
        notes["results, machine code and times: kernels were only asked"] = None
    for kernels in libraries if options.runs else ():
        kernels.inspect()
        kernels.run(drawn, replace(options.run, **_ONCE))
        if not kernels.is_emulated:
            kernels.run(timed, options.run, timed=True)
            continue
        small = {query: keys for query, keys in timed.items() if query.problem.flop <= options.most_flop}
        kernels.run(small, replace(options.run, **_ONCE))
        if len(small) < len(timed):
            left = counted(len(timed) - len(small), "given problem")
            notes[f"results of {left} of more than {options.most_flop:g} operations (--run-flop)"] = None
        if find_spec("ckprof_plugins.tuning") is not None:
            kernels.predict(cases, options.gpu)
        else:
            notes["times: predicting them needs the tuning package, which is not installed"] = None
    recipe = sides[1].library.recipe
    return Migration(
        pairs=tuple(sorted(pairs(), key=_urgency)),
        direction=operation.id,
        target=recipe.target,
        arch=recipe.arch,
        times=sides[1].device,
        random=options.random,
        fail_on=options.fail_on,
        notes=tuple(notes),
    )


#: what users name the families of both sides by
OLD: Final = "old-ck"
NEW: Final = "ck-tile"


def lines_of(session: Session, query: InstanceQuery) -> Lines:
    """Return the lines of lists that have an old kernel, with their kernels.

    :param query: the lists, and which of their old kernels are meant.
    :raises InputError: a list cannot be used, or no line has an old kernel.
    :raises UsageError: the query contradicts itself.
    """
    old = choose_instances(session, replace(query, pipelines=(OLD,))).require()
    every = replace(query, pipelines=(NEW,), indices=(), filters=(), excludes=())
    new = choose_instances(session, every)
    kernels = {one.source: one for one in new.candidates}
    by_key = {one.instance.key: one for one in new.candidates}
    reasons = {
        f"{conversion.path}:{line}": why
        for conversion in new.conversions
        for line, why in conversion.dropped.items()
    }

    def successor(source: str) -> Candidate | str:
        why = reasons.get(source)
        if why is None:
            return kernels.get(source, "no list has one")
        if why.rule != DropRule.DUPLICATE.value:
            return why.message
        # another line has the same kernel of CK Tile
        path, _, line = source.rpartition(":")
        text = Path(path).read_bytes().splitlines()[int(line) - 1]
        conversion = read_request(every.reading.request(Path(path), text, old.direction), session.registry)
        (same,) = list_candidates([conversion], session.registry)
        return by_key[same.instance.key]

    return {one.source: (one, successor(one.source)) for one in old.candidates}


def _urgency(pair: KernelPair) -> tuple[float, ...]:
    """Return by what pairs are ordered: wrong results, lost support, time."""
    losses = pair.losses
    return tuple(-losses.get(loss, 0.0) for loss in (Loss.RESULTS, Loss.SUPPORT, Loss.SLOWER, Loss.RESOURCES))


def _queries(
    operation: Operation,
    pair: tuple[Candidate | str, Candidate | str],
    cases: Sequence[ProblemCase],
    options: MigrateOptions,
) -> list[SupportQuery]:
    """Return what the kernels of a line are asked: the given problems, then those that are drawn for them."""
    kernel = next(one for one in reversed(pair) if not isinstance(one, str))
    instance, selected = kernel.instance, kernel.selected()
    drawn = [
        replace(query, problem=kernel.pipeline.default_problem(instance, query.problem))
        for query in random_queries(options.random, instance.ndim, options.run.seed, operation)
    ]
    given = [
        SupportQuery(case.problem, split)
        for case in cases
        if case.takes(selected)
        for split in (*(case.splits or (1,)), AUTO)
    ]
    automatic = [replace(query, split_k=AUTO) for query in drawn[::_AUTOMATIC]]
    return [*dict.fromkeys((*given, *drawn, *automatic))]


def _ruled(old: PairSide, source: str, queries: Sequence[SupportQuery], arch: str) -> Mapping[int, str]:
    """Return what the rules of audits say of a kernel of the old library."""
    if old.candidate is None or not isinstance(instance := old.candidate.instance, OldCkInstance):
        return {}
    text = old.candidate.instance_string
    return ruled(text, source, instance.elementwise_op, queries, arch.partition(":")[0])


def _to_compute(
    pairs: Iterable[KernelPair], given: Collection[SupportQuery], most: int
) -> tuple[Wanted, Wanted]:
    """Return drawn and given queries that all kernels of a line support, with the keys of these kernels.

    :param most: that are drawn, per line.
    """
    drawn: dict[SupportQuery, frozenset[str]] = {}
    timed: dict[SupportQuery, frozenset[str]] = {}
    for pair in pairs:
        left = most
        keys = frozenset(side.key for side in pair.running)
        for at, query in enumerate(pair.queries):
            if keys and all(side.answers[at].supported for side in pair.running):
                if query in given:
                    timed[query] = timed.get(query, frozenset()) | keys
                elif left and query.split_k != AUTO:
                    left -= 1
                    drawn[query] = drawn.get(query, frozenset()) | keys
    return drawn, timed


def _built(session: Session, lines: Lines, options: MigrateOptions) -> tuple[_Kernels, _Kernels]:
    """Build the kernels of both sides: together if they are timed on a GPU, which only one run does fairly.

    Otherwise apart, so that lines of the old library share translation units, which saves most of their cost.
    """
    build, old_build = (
        options.run.built_for(one or options.build) for one in (options.build, options.old_build)
    )
    old, new = ([one for one in of if not isinstance(one, str)] for of in zip(*lines.values(), strict=True))
    purpose = Purpose.RUN if options.runs else Purpose.SUPPORT_CHECK
    together = build == old_build and options.runs and not build.device
    if together or not (old and new):
        both = _Kernels(session, _selection([*old, *new]), build if new else old_build, purpose)
        sides = both, both
    else:
        sides = (
            _Kernels(session, _selection(old), old_build, purpose),
            _Kernels(session, _selection(new), build, purpose),
        )
    if all(kernels.library.path is None for kernels in sides):
        raise NothingLeftError(f"no kernel was built: {sides[0].library.rejected[0].reason}")
    return sides


def _selection(candidates: Sequence[Candidate]) -> Selection:
    """Return kernels that may be those of several families, each once, under names that differ."""
    names = KernelNames()
    unique = {candidate.instance.key: candidate for candidate in candidates}.values()
    return Selection(
        conversions=(),
        candidates=tuple(
            replace(one, index=number, name=names.take(one.name, one.instance))
            for number, one in enumerate(unique)
        ),
        source="the lists",
    )


class _Kernels:
    """Kernels of one or of both sides in one library, and what was found of them, by their content keys."""

    def __init__(self, session: Session, selection: Selection, build: BuildOptions, purpose: Purpose) -> None:
        self._session, self._selection, self._build = session, selection, build
        self.library = build_library(session, selection, build, purpose)
        self.is_emulated = bool(build.device)
        #: what times are of; empty without any
        self.device = ""
        self._rejected = {one.candidate.instance.key: one for one in self.library.rejected}
        self._answers: Mapping[str, Mapping[SupportQuery, Support]] = {}
        self._code: Mapping[str, InspectedKernel] = {}
        self._strings: Mapping[str, str] = {}
        self._outcomes: dict[Asked, Outcome] = {}
        self._times: dict[Asked, tuple[float, str]] = {}
        self._loops: dict[Asked, Mapping[str, int]] = {}

    def ask(self, queries: Sequence[SupportQuery]) -> None:
        """Have all kernels say what they support, and print themselves."""
        path, recipe = self.library.path, self.library.recipe
        answers = query_library(path, recipe.arch, queries)
        self._answers = {key: dict(zip(queries, found, strict=True)) for key, found in answers.items()}
        if path is not None:
            self._strings, _ = query_instance_strings(path, [*answers])

    def inspect(self) -> None:
        """Read the machine code of all kernels, where the target can."""
        session, recipe = self._session, self.library.recipe
        if offers(session.target(recipe.target), Target.inspect):
            build = replace(self._build, target=recipe.target, device="")
            inspection, _ = inspect_what_compiles(session, self._selection, build)
            self._code = {kernel.key: kernel for kernel in inspection.kernels}

    def run(self, wanted: Wanted, options: RunOptions, *, timed: bool = False) -> None:
        """Run kernels, and compare their results with the reference."""
        if self.library.path is None or not wanted:
            return
        queries = [*wanted]
        cases = [
            ProblemCase(problem=query.problem, splits=(query.split_k,), instances=wanted[query])
            for query in queries
        ]
        run = Run(self._session, self.library, cases, options)
        for outcome in run.outcomes():
            asked = outcome.key, queries[outcome.problem_index]
            self._outcomes[asked] = outcome
            if timed and outcome.ranked and outcome.measurement is not None:
                self._times[asked] = outcome.measurement.time_ms * 1e3, ""
        if timed:
            self.device = f"measured on {run.bench.device}"

    def predict(self, cases: Sequence[ProblemCase], gpu: str) -> None:
        """Have the emulated device predict times."""
        from ckprof_plugins.tuning import PredictOptions, predict

        options = PredictOptions(
            selection=self._selection, problems=tuple(cases), build=self._build, gpu=gpu, profile=True
        )
        predictions = predict(self._session, options)
        self.device = f"predicted for {predictions.device.name}"
        for case, kernels in predictions.problems:
            for kernel in kernels:
                if kernel.time is not None:
                    asked = kernel.kernel.instance.key, SupportQuery(case.problem, kernel.split_k)
                    self._times[asked] = kernel.time.time_us, kernel.time.limit
                    if kernel.time.profile is not None:
                        self._loops[asked] = Counter(one.unit for one in kernel.time.profile.loop)

    def side(self, kernel: Candidate | str, queries: Sequence[SupportQuery]) -> PairSide:
        """Return what is known of a kernel of a pair, or of why it is missing."""
        key = "" if isinstance(kernel, str) else kernel.instance.key
        candidate = None if isinstance(kernel, str) else kernel
        answers = self._answers.get(key)
        if answers is None or candidate is None:
            rejection = self._rejected.get(key)
            missing = "it was not built" if candidate else str(kernel)
            reason = rejection.reason if rejection is not None else missing
            unmet = UnmetRequirement(rule="no-kernel", message=reason)
            refused = Support(status=AbiStatus.REJECTED, unmet_requirements=(unmet,), split_k=1)
            return PairSide(
                candidate=candidate,
                reason=reason,
                answers=[refused] * len(queries),
                broken=rejection is not None and rejection.status.is_failure,
            )
        places = [(at, (key, query)) for at, query in enumerate(queries)]
        return PairSide(
            candidate=candidate,
            reason="",
            answers=[answers[query] for query in queries],
            outcomes={at: self._outcomes[asked] for at, asked in places if asked in self._outcomes},
            times={at: self._times[asked] for at, asked in places if asked in self._times},
            loops={at: self._loops[asked] for at, asked in places if asked in self._loops},
            code=self._code.get(key),
            strings=_strings(self._session, self._strings.get(key, ""), candidate),
        )


def _strings(session: Session, printed: str, candidate: Candidate) -> tuple[str, str]:
    """Return what an object prints and what it should print; twice the same where both mean one instance."""
    expected = candidate.instance_string
    if not printed:
        return "", ""
    try:
        same = session.registry.strings.parse(printed) == session.registry.strings.parse(expected)
    except StringError:
        same = printed == expected
    return (expected, expected) if same else (printed, expected)
