"""``ckprof run --tree``: every list of a tree, with one summary per list and a grand total."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.list_run import Stages, build_and_run, exit_code_of, list_instances, report_plan
from ckprof.cli.problem_options import default_problems, misfit_of, parsed_problems
from ckprof.cli.run_options import chosen_run_options
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.flow.candidates import list_candidates, select
from ckprof.flow.list_files import read_list
from ckprof.flow.list_folders import find_lists, find_tree
from ckprof.model.batch_results import BatchResults, ListResult, Verdict
from ckprof.report.run_table import status_counts

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.cli.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.model.conversion import Conversion
    from ckprof.model.results import RunResults
    from ckprof.plugin.protocols import Direction
    from ckprof.problems.tokens import ParsedProblem


class _Skipped(Exception):
    """Nothing of a list was asked for; the message says why."""


def run_batch(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run every list of the tree.

    What was found out before Ctrl-C, or before an error that no list is to blame for, is reported as well.

    :raises CkprofError: the tree, an option, a problem, a plugin or the toolchain is wrong.
    """
    batch = _Batch(arguments, session)
    try:
        batch.run()
    finally:
        if batch.lists and not (arguments.list_instances or arguments.dry_run):
            batch.report()
    return batch.exit_code()


class _Batch:
    def __init__(self, arguments: argparse.Namespace, session: Session) -> None:
        _check_usage(arguments, session)
        self._arguments = arguments
        self._session = session
        self._only = shared_options.chosen_direction(arguments, session) if arguments.direction else None
        self._target = shared_options.chosen_target(arguments, session)
        self._root = find_tree(arguments.tree)
        self._paths = find_lists(self._root, arguments.set)
        self._problems = _problems_by_direction(arguments, session, self._only)
        self.lists: list[ListResult] = []
        # wrong options are found before the first list is built
        chosen_run_options(arguments, session, [])

    def run(self) -> None:
        """Go from list to list."""
        console = self._session.console
        for position, path in enumerate(self._paths, start=1):
            name = path.relative_to(self._root).as_posix()
            console.info(f"[{position}/{len(self._paths)}] {name}")
            started = time.monotonic()
            result = self._visit(path, name, started)
            self.lists.append(result)
            text = result.reason or status_counts(result.counts)
            console.info(f"[{position}/{len(self._paths)}] {name}: {result.verdict.value}: {text}")

    def report(self) -> None:
        """Print the summary and write the JSON report."""
        from ckprof.cli.cmd_run import write_report
        from ckprof.report.batch_report import render_batch_json

        arguments = self._arguments
        results = BatchResults(
            root=arguments.tree,
            set_name=arguments.set or "",
            found=len(self._paths),
            lists=tuple(self.lists),
            why=arguments.why,
        )
        if arguments.json:
            write_report(render_batch_json(results), arguments.json)
        render = self._session.registry.formats.find(arguments.format).render_batch
        if render is not None:
            self._session.console.result(render(results))

    def exit_code(self) -> ExitCode:
        """Broken lists weigh more than failed outcomes: nothing of them was run."""
        verdicts = {result.verdict for result in self.lists}
        if Verdict.BROKEN in verdicts:
            return ExitCode.INPUT
        if Verdict.FAILED in verdicts or verdicts == {Verdict.SKIPPED}:
            return ExitCode.FAILED
        return ExitCode.OK

    def _visit(self, path: Path, name: str, started: float) -> ListResult:
        direction = ""
        try:
            conversion = self._read(path)
            found = self._direction_of(conversion)
            direction = found.id
            results = self._run_list(path, conversion, found)
        except _Skipped as skipped:
            return ListResult(name=name, direction=direction, verdict=Verdict.SKIPPED, reason=str(skipped))
        except InputError as error:
            self._session.console.warning(f"{error}")
            return ListResult(name=name, direction=direction, verdict=Verdict.BROKEN, reason=str(error))
        fine = results is None or exit_code_of(results) is ExitCode.OK
        return ListResult(
            name=name,
            direction=direction,
            verdict=Verdict.FINE if fine else Verdict.FAILED,
            results=results,
            seconds=time.monotonic() - started,
        )

    def _read(self, path: Path) -> Conversion:
        arguments = self._arguments
        conversion = read_list(
            path,
            self._session.registry,
            layout=shared_options.chosen_layout(arguments),
            dtype=shared_options.chosen_dtype(arguments),
            lenient=arguments.lenient,
        )
        shared_options.report_conversion(conversion, self._session)
        return conversion

    def _direction_of(self, conversion: Conversion) -> Direction:
        registry = self._session.registry
        found = {registry.variants.find(catalog.variant).direction for catalog in conversion.catalogs}
        if len(found) != 1:
            what = f"instances of {' and '.join(sorted(found))}" if found else "no instance"
            raise InputError(f"the list holds {what}, expected those of one direction", conversion.path)
        (direction,) = found
        if self._only is not None and direction != self._only.id:
            raise _Skipped(f"a list of {direction}")
        return registry.direction(direction)

    def _run_list(self, path: Path, conversion: Conversion, direction: Direction) -> RunResults | None:
        session = self._session
        stages = Stages()
        arguments = self._arguments_for(path)
        candidates = self._selected(conversion)
        if arguments.list_instances:
            list_instances(candidates, session)
            return None
        parsed = self._fitting(candidates, direction)
        problems = [one.problem for one in parsed] or default_problems(direction, candidates)
        run_options = chosen_run_options(
            arguments, session, [one.split_k for one in parsed if one.split_k is not None]
        )
        stages.done("convert")
        if arguments.dry_run:
            report_plan(candidates, problems, direction, self._target, session)
            return None
        return build_and_run(
            arguments,
            session,
            candidates=candidates,
            conversions=[conversion],
            problems=problems,
            direction=direction,
            target=self._target,
            options=run_options,
            stages=stages,
            keep_invalid=arguments.upstream_defects,
        )

    def _arguments_for(self, path: Path) -> argparse.Namespace:
        """Return the arguments of one list's run: a folder to keep holds one folder per list."""
        keep = self._arguments.keep
        if keep is not None:
            keep = keep / path.relative_to(self._root).with_suffix("")
        return argparse.Namespace(**{**vars(self._arguments), "keep": keep, "conf": [str(path)]})

    def _selected(self, conversion: Conversion) -> list[Candidate]:
        arguments = self._arguments
        candidates = list_candidates([conversion], self._session.registry)
        if not candidates:
            raise InputError("no instance is left; the dropped lines are counted above", conversion.path)
        chosen = select(
            candidates,
            filters=arguments.filter,
            excludes=arguments.exclude,
            pipelines=arguments.pipeline,
        )
        if not chosen:
            raise _Skipped(f"none of {len(candidates)} instances passes --filter, --exclude and --pipeline")
        return chosen

    def _fitting(self, candidates: list[Candidate], direction: Direction) -> list[ParsedProblem]:
        """Return the problems of the command line that can be meant for a list."""
        if self._problems is None:
            return []
        ndims = {candidate.instance.ndim for candidate in candidates}
        fitting = [
            one
            for one in self._problems[direction.id]
            if one.problem.ndim in ndims and not misfit_of(one, candidates)
        ]
        if not fitting:
            raise _Skipped("no problem of its direction, dimensions, type and layout was given")
        return fitting


def _check_usage(arguments: argparse.Namespace, session: Session) -> None:
    """Reject what has no meaning for many lists.

    :raises UsageError: there is something of that kind.
    """
    for option, given in (("--conf", arguments.conf), ("--rule-set", arguments.rule_set)):
        if given:
            raise UsageError(f"{option} and --tree contradict each other: name the instances once")
    if arguments.instance:
        raise UsageError("--instance counts within one list: use --filter with --tree")
    for name in arguments.pipeline:
        session.registry.pipelines.find(name)
    formats = session.registry.formats
    if formats.find(arguments.format).render_batch is None:
        known = ", ".join(one.id for one in formats if one.render_batch is not None)
        raise UsageError(f"--format {arguments.format} cannot show a tree of lists (can: {known})")


def _problems_by_direction(
    arguments: argparse.Namespace, session: Session, only: Direction | None
) -> dict[str, list[ParsedProblem]] | None:
    """Return direction id -> problems that can be meant for it; ``None`` when no problem was given.

    A MIOpenDriver line says which directions it is for, and so does ckProfiler's with an operation.

    :raises InputError: a line is wrong for every direction.
    """
    if not (arguments.problem or arguments.problems):
        return None
    found: dict[str, list[ParsedProblem]] = {}
    errors: list[InputError] = []
    for direction in (only,) if only else tuple(session.registry.directions):
        try:
            found[direction.id] = parsed_problems(arguments, session, direction)
        except InputError as error:
            found[direction.id] = []
            errors.append(error)
    if not any(found.values()):
        raise errors[0]
    return found
