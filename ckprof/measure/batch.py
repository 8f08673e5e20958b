"""A batch: every list of a tree, one after the other, with one result per list."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.errors import CkprofError, ExitCode, InputError, PluginError, UsageError
from ckprof.events import Level, Message
from ckprof.kernels.choose import choose_from_lists, read_lists
from ckprof.kernels.fitting import Fitting, default_problems
from ckprof.lists.list_files import find_lists, find_tree
from ckprof.measure.requests import Stages
from ckprof.measure.run import run_to_its_end
from ckprof.model.problem_case import ProblemCase
from ckprof.model.results import ListResult, ListVerdict, status_counts
from ckprof.problems.choose import GivenProblems, parse_problems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckprof.kernels.choose import Selection
    from ckprof.kernels.requests import BuildOptions, InstanceQuery
    from ckprof.measure.requests import RunPlanOptions, RunRequest
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session


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
            if result.verdict.is_broken:
                self._session.tell(Message(result.reason, Level.WARNING))
            text = result.reason or status_counts(result.counts)
            self._session.tell(Message(f"{place}: {result.verdict.value}: {text}"))
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
            self._session.tell(Message(place))
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
        of_lists = {
            registry.variants.find(catalog.variant).direction
            for conversion in conversions
            for catalog in conversion.catalogs
        }
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
            return [
                ProblemCase(problem=problem) for problem in default_problems(direction, selection.candidates)
            ]
        fitting = Fitting(selection.candidates, strict_layout=self._options.strict_layout)
        ndims = {candidate.instance.ndim for candidate in selection.candidates}
        runs = [
            fitting.run_of(problem)
            for problem in self._problems[direction.id].all
            if problem.problem.ndim in ndims and not fitting.misfit_of(problem)
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
        directions = (self._only,) if self._only else tuple(self._session.registry.operations)
        for direction in directions:
            try:
                problems[direction.id] = parse_problems(self._session, direction, given.problems, given.files)
            except InputError as error:
                problems[direction.id] = GivenProblems()
                errors.append(error)
        if not any(problems.values()):
            raise errors[0]
        return problems


def _not_run(name: str, direction: str, why: Exception) -> ListResult:
    return ListResult(
        name=name,
        direction=direction,
        verdict=ListVerdict.SKIPPED if isinstance(why, _Skipped) else ListVerdict.BROKEN,
        reason=str(why),
        exit_code=why.exit_code if isinstance(why, CkprofError) else ExitCode.OK,
    )
