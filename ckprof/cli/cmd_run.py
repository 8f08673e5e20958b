"""``ckprof run``: from an instance list to a ranked table."""

from __future__ import annotations

import time
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.catalog.writer import write_atomically
from ckprof.cli import options
from ckprof.cli.building import build_candidates
from ckprof.cli.instances import add_instance_options, chosen_instances, require_instances
from ckprof.cli.run_options import add_run_options, chosen_run_options
from ckprof.errors import ExitCode, InputError
from ckprof.model.outcome import Status
from ckprof.problems.read import parse_problem, read_problem_file
from ckprof.problems.tokens import ProblemLine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.flow.library import BuiltLibrary
    from ckprof.flow.selection import Candidate
    from ckprof.model.conversion import Conversion
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import ConvProblem
    from ckprof.model.results import RunResults
    from ckprof.plugin.protocols import Direction
    from ckprof.problems.tokens import ParsedProblem
    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions

_EPILOG = """\
examples:
  ckprof run fwd --conf legacy.conf
  ckprof run fwd --conf legacy.conf --problem "conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
  ckprof run fwd --conf legacy.conf --problem "2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"
  ckprof run fwd --conf legacy.conf --list-instances
  ckprof run fwd --conf legacy.conf --filter compv4 --json results.json
  ckprof run fwd --rule-set tiny --arch gfx942

problem lines:
  MIOpenDriver:  conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1 -F 1
                 (-c and -k count all groups; convfp16 and convbfp16 name the type of the list)
  ckProfiler:    grouped_conv_fwd 1 1 0 1 2 0 1 2  G N K C  Y X  H W  strides dilations left_pads right_pads
                 (K and C per group; or just NDIM G N K C ...)

Only verified results are ranked. Exit code 1 when an instance failed or none supports a problem.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof run``."""
    parser.epilog = _EPILOG
    options.add_direction(parser, session)
    add_instance_options(parser, session)
    group = parser.add_argument_group("problems")
    group.add_argument(
        "--problem",
        action="append",
        default=[],
        metavar="LINE",
        help="a MIOpenDriver conv line or ckProfiler's arguments (repeatable; default: a modest 3x3)",
    )
    group.add_argument(
        "--problems",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a file with one problem a line",
    )
    options.add_build_options(parser, session)
    add_run_options(parser, session)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--list-instances", action="store_true", help="print the instances with their numbers, and stop"
    )
    group.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
    group.add_argument(
        "--format",
        default="table",
        choices=session.registry.formats.ids,
        help="format of the result on standard output (default: table)",
    )
    group.add_argument("--json", type=Path, metavar="PATH", help="write the JSON report to this file as well")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option or the toolchain is wrong.
    """
    started = time.monotonic()
    stages: dict[str, float] = {}

    def stage_done(name: str) -> None:
        stages[name] = time.monotonic() - started - sum(stages.values())

    direction = options.chosen_direction(arguments, session)
    chosen = chosen_instances(arguments, session, [direction])
    require_instances(chosen)
    conversions, candidates = chosen.conversions, chosen.candidates
    if arguments.list_instances:
        for candidate in candidates:
            session.console.result(f"[{candidate.index}] {candidate.instance_string}")
        session.console.result(f"Total: {len(candidates)} instances")
        return ExitCode.OK
    parsed = _parsed_problems(arguments, session, direction)
    problems = _problems(parsed, session, direction, candidates)
    run_options = chosen_run_options(
        arguments, session, [one.split_k for one in parsed if one.split_k is not None]
    )
    target = options.chosen_target(arguments, session)
    stage_done("convert")
    if arguments.dry_run:
        _report_plan(candidates, problems, direction, target.id, session)
        return ExitCode.OK
    instances = [candidate.instance for candidate in candidates]
    session.call("ckprof_modify_instances", direction=direction.id, instances=instances)
    kept = {instance.key for instance in instances}
    candidates = [candidate for candidate in candidates if candidate.instance.key in kept]
    library = build_candidates(
        arguments, session, candidates, direction, target, keep_refused=chosen.keep_refused
    )
    stage_done("build")
    results = _profile(
        arguments, session, library, candidates, conversions, problems, direction, run_options, stages
    )
    if arguments.json:
        _write_json(results, arguments.json)
    session.console.result(session.registry.formats.find(arguments.format).render(results))
    return _exit_code(results)


def _parsed_problems(
    arguments: argparse.Namespace, session: Session, direction: Direction
) -> list[ParsedProblem]:
    """Return the problems of ``--problem`` and ``--problems``."""
    directions = tuple(session.registry.directions)
    parsed = [
        parse_problem(ProblemLine(text=text, path="--problem"), direction, directions)
        for text in arguments.problem
    ]
    for path in arguments.problems:
        parsed += read_problem_file(path, direction, directions)
    return parsed


def _problems(
    parsed: Sequence[ParsedProblem], session: Session, direction: Direction, candidates: Sequence[Candidate]
) -> list[ConvProblem]:
    """Return the problems asked for, or the direction's default for the dimensions of the list."""
    if not parsed:
        ndims = sorted({candidate.instance.ndim for candidate in candidates})
        problems = [direction.default_problem[ndim] for ndim in ndims]
        for problem in problems:
            session.console.info(f"no --problem given: using {problem.describe()}")
        return problems
    for one in parsed:
        _check_against_list(one, candidates)
        if one.ignored:
            session.console.info(f"not used of the problem line: {', '.join(one.ignored)}")
    return [one.problem for one in parsed]


def _check_against_list(parsed: ParsedProblem, candidates: Sequence[Candidate]) -> None:
    """Compare what a problem line says of type and layout with the list.

    :raises InputError: no instance of the list has that type or layout.
    """
    dtypes = {candidate.instance.dtype for candidate in candidates}
    if parsed.dtype is not None and parsed.dtype not in dtypes:
        have = ", ".join(sorted(dtype.value for dtype in dtypes))
        raise InputError(f"the problem line says {parsed.dtype.value}, the list has {have} instances")
    layouts = {candidate.instance.layout.name for candidate in candidates}
    if parsed.layout is not None and parsed.layout not in layouts:
        raise InputError(
            f"the problem line says {parsed.layout}, the list has {', '.join(sorted(layouts))} instances"
        )


def _report_plan(
    candidates: Sequence[Candidate],
    problems: Sequence[ConvProblem],
    direction: Direction,
    target: str,
    session: Session,
) -> None:
    session.console.result(f"would build {len(candidates)} {direction.id} kernels for target {target}:")
    for candidate in candidates:
        session.console.result(f"  [{candidate.index}] {candidate.name}")
    session.console.result(f"and run them on {len(problems)} problem{'s' if len(problems) != 1 else ''}:")
    for problem in problems:
        session.console.result(f"  {problem.describe()}")


def _profile(
    arguments: argparse.Namespace,
    session: Session,
    library: BuiltLibrary,
    candidates: Sequence[Candidate],
    conversions: Sequence[Conversion],
    problems: Sequence[ConvProblem],
    direction: Direction,
    run_options: RunOptions,
    stages: dict[str, float],
) -> RunResults:
    from ckprof.flow.environment import run_environment
    from ckprof.flow.profile import as_run_instance, profile
    from ckprof.model.results import RunResults

    started = time.monotonic()
    total = len(candidates) * len(problems) * len(run_options.splits)
    names = {candidate.instance.key: candidate.name for candidate in candidates}
    outcomes: list[Outcome] = []
    watch = _Watch(session)
    with session.console.progress("run") as progress:
        for outcome in profile(library, candidates, problems, direction, run_options, session.manager, watch):
            outcomes.append(outcome)
            progress.update(len(outcomes), total, names[outcome.key])
            session.console.detail(f"{outcome.status.value}: {names[outcome.key]} {outcome.reason}".rstrip())
    stages["run"] = time.monotonic() - started
    plain = {
        name: value.value if isinstance(value, Enum) else value for name, value in asdict(run_options).items()
    }
    return RunResults(
        direction=direction.id,
        target=library.recipe.target,
        arch=library.recipe.arch,
        environment=run_environment(library.recipe, watch.device, plain, Path.cwd()),
        conversions=tuple(conversions),
        instances=tuple(as_run_instance(candidate) for candidate in candidates),
        problems=tuple(problems),
        build=library.summary,
        outcomes=tuple(outcomes),
        stages_s=stages,
    )


class _Watch:
    """Says what a run is doing, and remembers the device."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.device = ""

    def __call__(self, event: RunEvent) -> None:
        from ckprof.run.events import OperandsReady, WaitingForDevice, WorkerLost, WorkerReady

        console = self._session.console
        if isinstance(event, WorkerReady):
            self.device = event.device
            console.detail(f"device: {event.device}")
        elif isinstance(event, WaitingForDevice):
            console.info(f"waiting for another run on {event.target} device {event.device}")
        elif isinstance(event, OperandsReady):
            console.detail(
                f"problem {event.problem_index}: {event.dtype.value} {event.layout.name} operands and "
                f"reference in {event.seconds:.2f} s"
            )
        elif isinstance(event, WorkerLost):
            console.detail(f"worker lost: {event.reason}")


def _write_json(results: RunResults, path: Path) -> None:
    from ckprof.report.json_report import render_json

    try:
        write_atomically(path, render_json(results))
    except OSError as exc:
        raise InputError(f"cannot write the report: {exc.strerror}", path) from None


def _exit_code(results: RunResults) -> ExitCode:
    """Failed outcomes fail the run, and so does a problem that no instance could serve."""
    if any(outcome.status.is_failure for outcome in results.outcomes):
        return ExitCode.FAILED
    served = {o.problem_index for o in results.outcomes if o.status is Status.OK}
    return ExitCode.OK if len(served) == len(results.problems) else ExitCode.FAILED
