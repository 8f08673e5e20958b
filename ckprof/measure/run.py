"""Runs of libraries: what is built and run, its progress, what is known of its device, who is notified."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import CkprofError, ExitCode, InputError, PluginError, UsageError
from ckprof.events import Level, Message, Progress, ProgressEnded
from ckprof.kernels.candidates import same_kernels, substitutions
from ckprof.kernels.choose import choose_from_lists, read_lists
from ckprof.kernels.fitting import Fitting, default_problems
from ckprof.lists.list_files import find_lists, find_tree
from ckprof.measure.baselines import Baselines, PairedBench, baseline_sources
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.canary import find_canary
from ckprof.measure.host import run_environment
from ckprof.measure.observers import PluginHooks
from ckprof.measure.options import ReferencePlace, options_on, round_options
from ckprof.measure.requests import UNPAIRED, Stages
from ckprof.measure.run_outcomes import RunPace, RunRounds, run_groups
from ckprof.measure.support import build_needed_library
from ckprof.model.problem_case import OtherOperationError, as_case
from ckprof.model.results import ListResult, ListVerdict, RunResults, status_counts
from ckprof.problems.choose import GivenProblems, note_skipped, parse_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.requests import BuildOptions, InstanceQuery
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunPlanOptions, RunRequest, Unfused
    from ckprof.measure.run_outcomes import Recorder
    from ckprof.model.outcome import BaselineOutcome, Outcome
    from ckprof.model.problem_case import ProblemCase
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session


class Run:
    """One run of a library: outcomes as they come, and afterwards what is known of the device.

    :param session: whose plugins and listener are notified.
    :param library: the built kernels.
    :param problems: what they compute.
    :param options: how they are run, verified and timed.
    :param baselines: what is measured as well.
    :param should_stop: asked before each sample: whether it and those after it are skipped.
    :param unfused: what is measured beside kernels.
    """

    def __init__(
        self,
        session: Session,
        library: BuiltLibrary,
        problems: Sequence[ProblemCase],
        options: RunOptions,
        baselines: Baselines | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        unfused: Unfused = UNPAIRED,
    ) -> None:
        self._session, self.unfused = session, unfused
        self.library = library
        self.problems = tuple(problems)
        self.options = options_on(options, library.recipe)
        #: what is compared with the kernels; it collects its outcomes itself
        self.baselines = Baselines() if baselines is None else baselines
        self.baselines.on_measured = self._baseline_measured
        self.baselines.on_trial = lambda: self._pace.baseline_measured()
        self._hooks = PluginHooks(session, library)
        new_bench = partial(
            KernelBench,
            BenchLibrary.of(library),
            self.options,
            on_event=session.emit,
            before_problem=self._hooks.before_problem,
        )
        #: knows the device once :meth:`outcomes` has opened it
        self.bench = new_bench(observers=[*session.registry.observers], baselines=self.baselines)
        self.bench.canary = find_canary(session, library.recipe.target, library.recipe.arch, self.options)
        #: with that of kernels beside others
        self.benches = [self.bench]
        bench: KernelBench | PairedBench = self.bench
        if unfused.problems:
            self.benches.append(new_bench(lock=None))
            bench = PairedBench(self.bench, self.benches[1])
        for one in self.benches:
            one.second.should_stop = should_stop
        passes = round_options(self.options).least_passes
        self._pace = RunPace(len(self.problems) * len(self.baselines.sources) * passes)
        #: knows what disturbed the times, and what was measured of kernels when the run was ended
        self.rounds = RunRounds(
            bench, self.options, session.emit, bench.measure_baselines, self._pace, should_stop
        )

    def outcomes(
        self, open_recorder: Callable[[Run], Recorder] | None = None
    ) -> Generator[Outcome, None, None]:
        """Yield one outcome per kernel, problem and number of splits.

        Pass after pass goes over all problems. Within a problem, kernels of the same layout and types are run
        together, because they share operands and reference: in shuffled rounds, or with ``options.rounds`` of
        1 in the order given. Closing the generator, or an exception such as Ctrl-C in it, ends the worker.

        :param open_recorder: called as soon as the device is known; returns what keeps each measurement.
        :raises CkprofError: the library cannot be used, or a plugin broke its contract.
        """
        emit = self._session.emit
        names = {kernel.key: kernel.name for kernel in self.library.kernels}
        emit(Progress(what="run", done=0, total=len(self.problems) * len(names)))
        try:
            with ExitStack() as stack:
                for bench in self.benches:
                    stack.enter_context(bench)
                self.rounds.recorder = open_recorder(self) if open_recorder is not None else None
                groups = run_groups(
                    self.bench.library, self.options, self.library.kernels, self.problems, self.unfused
                )
                outcomes = stack.enter_context(closing(self.rounds.outcomes(groups)))
                for outcome in outcomes:
                    self._hooks.after_outcome(self.problems[outcome.problem_index].problem, outcome)
                    # First to who keeps it: what is shown must not be lost when a signal comes now.
                    yield outcome
                    text = f"{outcome.status.value}: {names[outcome.key]} {outcome.reason}".rstrip()
                    emit(Message(text, Level.DETAIL))
        finally:
            emit(ProgressEnded())

    def _baseline_measured(self, measured: BaselineOutcome) -> None:
        if self.rounds.recorder is not None:
            self.rounds.recorder.add_baseline(measured)
        outcome = measured.outcome
        text = f"{outcome.status.value}: baseline {measured.baseline} {outcome.reason}".rstrip()
        self._session.emit(Message(text, Level.DETAIL))


def run_to_its_end(
    session: Session, request: RunRequest, open_recorder: Callable[[Run], Recorder] | None = None
) -> tuple[RunResults, BaseException | None]:
    """Build a selection's library, run it on the problems, and return everything that was found out.

    :param open_recorder: called as soon as the device is known; returns what keeps each measurement.
    :returns: the results, and what ended the run before its last outcome, if something did.
    :raises CkprofError: no toolchain, or a library that is asked for is missing: nothing was run.
    :raises KeyboardInterrupt: nothing was run yet.
    """
    stages, target = request.stages, session.target(request.build.target)
    if request.options.reference is ReferencePlace.DEVICE and target.embedded:
        raise UsageError(
            f"--reference device: the target {target.id} has no device; use --reference host or auto"
        )
    # Who lacks a library that is compared need not build for hours.
    baselines = Baselines(baseline_sources(session, request.baselines, request.build.target))
    library = build_needed_library(session, request)
    stages.done("build")
    run = Run(
        session, library, request.problems, request.options, baselines, request.should_stop, request.unfused
    )
    outcomes: list[Outcome] = []
    error: BaseException | None = None
    try:
        with closing(run.outcomes(open_recorder)) as coming:
            for outcome in coming:
                outcomes.append(outcome)
        request.when_measured()
    except BaseException as exc:
        # Whatever it is: what was measured until then must not be lost with it.
        error = exc
        outcomes += [outcome for outcome in run.rounds.abandoned if outcome not in outcomes]
    stages.done("run")
    partial = error is not None or run.rounds.stopped
    # those of one problem together, whenever they came
    outcomes.sort(key=lambda outcome: outcome.problem_index)
    return _results(session, request, run, tuple(outcomes), partial=partial), error


def _results(
    session: Session, request: RunRequest, run: Run, outcomes: tuple[Outcome, ...], *, partial: bool
) -> RunResults:
    library, candidates = run.library, request.selection.candidates
    target = session.registry.targets.find(library.recipe.target)
    problems = tuple(problem.problem for problem in run.problems)
    return RunResults(
        direction=library.direction.id,
        target=library.recipe.target,
        arch=library.recipe.arch,
        environment=run_environment(library.recipe, run.bench.device, run.options.as_plain(), Path.cwd()),
        conversions=request.selection.conversions,
        instances=library.kernels,
        problems=problems,
        cases=run.problems,
        build=library.summary,
        outcomes=outcomes,
        stages_s=request.stages.seconds,
        why=request.why,
        same_kernels=same_kernels(target, candidates) if request.why else (),
        substitutions=substitutions(target, candidates, problems) if request.why else (),
        partial=partial,
        warnings=tuple(run.rounds.warnings),
        baseline_ids=request.baselines,
        baselines=tuple(run.baselines.outcomes),
        unfused_instances=dict(request.unfused.instances),
        unfused_problems={index: index + 1 for index in request.unfused.problems},
        second={key: lines for bench in run.benches for key, lines in bench.second.lines.items()},
    )


class _Skipped(Exception):
    """Nothing of a list was asked for; the message says why."""


class Batch:
    """The lists of a tree.

    :param session: settings, plugins and listener.
    :param root: folder of lists.
    :param query: how each list is read and filtered; ``conf`` and ``rule_set`` are empty.
    :param plan: what lists are run on, and how.
    :param set_name: only lists in folders of this name; empty for all.
    :raises CkprofError: the tree, an option or a problem is wrong.
    """

    def __init__(
        self,
        session: Session,
        root: str,
        query: InstanceQuery,
        plan: RunPlanOptions,
        build: BuildOptions,
        set_name: str = "",
    ) -> None:
        if query.conf or query.rule_set:
            option = "--conf" if query.conf else "--rule-set"
            raise UsageError(f"{option} and --tree contradict each other: name the instances once")
        if query.indices:
            raise UsageError("--instance counts within one list: use --filter with --tree")
        names = query.directions if isinstance(query.directions, tuple) else (query.directions,)
        if len(names) > 1:
            raise UsageError("a tree is run for one direction or for all: name one, or none")
        self._session = session
        self._query, self._options, self._build = query, plan, build
        self._only = session.registry.operation(names[0]) if names else None
        session.target(build.target)
        self._root = find_tree(root)
        #: all lists that were found
        self.paths = find_lists(self._root, set_name or None)
        self._problems = self._problems_by_direction()

    def results(self) -> Iterator[ListResult]:
        """Run one list after the other; one that cannot be read, or at which a plugin fails, is a result too.

        What a list gave before something ended its run is a result as well; the error follows.

        :raises CkprofError: the toolchain or an option is wrong.
        """
        for path, name, place in self._listed():
            result, error = self._result(path, name)
            if result.verdict is ListVerdict.BROKEN:
                self._session.emit(Message(result.reason, Level.WARNING))
            text = result.reason or status_counts(result.counts)
            self._session.emit(Message(f"{place}: {result.verdict.value}: {text}"))
            yield result
            if error is not None:
                raise error

    def plans(self) -> Iterator[RunRequest | ListResult]:
        """Yield what would be run, list by list, or why nothing is."""
        for path, name, _ in self._listed():
            try:
                yield self._plan(path)
            except (_Skipped, InputError, PluginError) as why:
                yield _not_run(name, "", why)

    def _listed(self) -> Iterator[tuple[Path, str, str]]:
        """Yield path and name of each list, and what messages call it, which is told."""
        for position, path in enumerate(self.paths, start=1):
            name = path.relative_to(self._root).as_posix()
            place = f"[{position}/{len(self.paths)}] {name}"
            self._session.emit(Message(place))
            yield path, name, place

    def _result(self, path: Path, name: str) -> tuple[ListResult, BaseException | None]:
        """Return the result of a list, and what ends the batch with it."""
        started = time.monotonic()
        direction = ""
        try:
            request = self._plan(path)
            direction = request.selection.direction
            results, error = run_to_its_end(self._session, request)
        except (_Skipped, InputError, PluginError) as why:
            return _not_run(name, direction, why), None
        verdict = ListVerdict.FINE if results.succeeded and error is None else ListVerdict.FAILED
        result = ListResult(
            name=name,
            direction=direction,
            verdict=verdict,
            results=results,
            seconds=time.monotonic() - started,
        )
        if isinstance(error, (InputError, PluginError)):
            # the next list may do without what has failed here
            blamed = _not_run(name, direction, error)
            return replace(blamed, results=results, seconds=result.seconds), None
        return result, error

    def _plan(self, path: Path) -> RunRequest:
        stages, build = Stages(), self._build
        selection = self._select(path)
        problems = self._fitting(selection, self._session.registry.operation(selection.direction))
        if build.build_dir is not None:
            # one folder per list
            if not build.build_dir.absolute().parent.is_dir():
                raise UsageError(f"--build-dir {build.build_dir}: there is no folder above it; make it first")
            folder = build.build_dir / path.relative_to(self._root).with_suffix("")
            folder.parent.mkdir(parents=True, exist_ok=True)
            build = replace(build, build_dir=folder)
        return self._options.request(selection, problems, build, stages)

    def _select(self, path: Path) -> Selection:
        query = replace(self._query, conf=(path,), directions=())
        conversions = read_lists(self._session, query, None)
        registry = self._session.registry
        catalogs = [catalog for conversion in conversions for catalog in conversion.catalogs]
        of_lists = {registry.variants.find(catalog.variant).direction for catalog in catalogs}
        if len(of_lists) != 1:
            what = f"instances of {' and '.join(sorted(of_lists))}" if of_lists else "no instance"
            raise InputError(f"the list holds {what}, expected those of one direction", path)
        (direction,) = of_lists
        if self._only is not None and direction != self._only.id:
            raise _Skipped(f"a list of {direction}")
        selection = choose_from_lists(self._session, query, conversions)
        if selection.candidates:
            return selection
        if selection.filtered:
            raise _Skipped(f"none of {selection.filtered} instances passes --filter, --exclude and --family")
        raise InputError("no instance is left; the dropped lines are counted above", path)

    def _fitting(self, selection: Selection, direction: Operation) -> list[ProblemCase]:
        """Return the problems that can be meant for a list, or the default ones if none was given."""
        if self._problems is None:
            return [as_case(problem) for problem in default_problems(direction, selection.candidates)]
        fitting = Fitting(selection.candidates, strict_layout=self._options.strict_layout)
        runs = [
            fitting.run_of(problem)
            for problem in self._problems[direction.id].all
            if not fitting.misfit_of(problem)
        ]
        if not runs:
            raise _Skipped("no problem of its direction, dimensions, type and layout was given")
        return runs

    def _problems_by_direction(self) -> dict[str, GivenProblems] | None:
        """Return direction id -> problems that can be meant for it; ``None`` when no problem was given.

        A MIOpenDriver line says which directions it is for, and so does ckProfiler's with an operation.

        :raises InputError: a line is wrong for every direction.
        """
        given = self._options
        if not (given.problems or given.files):
            return None
        problems: dict[str, GivenProblems] = {}
        errors: list[InputError] = []
        lenient, skipped = self._query.reading.lenient, Counter[str]()
        directions = (self._only,) if self._only else tuple(self._session.registry.operations)
        for direction in directions:
            try:
                problems[direction.id] = parse_problems(
                    self._session, direction, given.problems, given.files, lenient=lenient
                )
                skipped |= problems[direction.id].skipped
            except InputError as error:
                problems[direction.id] = GivenProblems()
                errors.append(error)
        if not any(problems.values()):
            raise errors[0]
        for wrong in errors:
            if not isinstance(wrong, OtherOperationError):
                self._session.emit(Message(str(wrong), Level.WARNING))
        if lenient:
            note_skipped(self._session, skipped)
        return problems


def _not_run(name: str, direction: str, why: Exception) -> ListResult:
    return ListResult(
        name=name,
        direction=direction,
        verdict=ListVerdict.SKIPPED if isinstance(why, _Skipped) else ListVerdict.BROKEN,
        reason=str(why),
        exit_code=why.exit_code if isinstance(why, CkprofError) else ExitCode.OK,
    )
