"""``ckprof problems``: problem sets, conversions between forms, logs, synthetic problems."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.cli.run_options import add_problem_set_options, problems_of_sets
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.files import write_output
from ckprof.formatting import counted
from ckprof.model.conversion import ListReading
from ckprof.model.types import SHARED_TYPES, DataType, spellings
from ckprof.option import positive
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation
from ckprof.problems.problem_file import line_forms, render_problems
from ckprof.report.document import Document
from ckprof.report.figures import sizes_column
from ckprof.report.table import Column, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ckprof.cli.session import Session
    from ckprof.model.problem_case import ProblemCase
    from ckprof.problems.from_log import LogProblems
    from ckprof.problems.problem_set import Layer, ProblemSet


def add_output_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the form, what the lines say besides the sizes, and the file."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--to",
        choices=line_forms(session.registry.operations.registered),
        help="form that is written (default: miopen for convolutions, ckProfiler's or a similar one for "
        "other operations)",
    )
    group.add_argument(
        "--direction",
        metavar="ID",
        help="write lines for this direction; problems of other directions are excluded and counted",
    )
    group.add_argument(
        "--dtype", metavar="TYPE", help=f"element type of lines that name none: {spellings(SHARED_TYPES)}"
    )
    group.add_argument("--layout", metavar="NAME", help="layout of lines that name none, e.g. nhwgc")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write to this file; in a line form, problems of several directions go to one file each, "
        "FILE with the direction in front of its suffix",
    )


def write_problems(
    problems: Sequence[ProblemCase], arguments: argparse.Namespace, session: Session, origin: str
) -> ExitCode:
    """Write the problems in the form asked for.

    :returns: FAILED if a problem cannot be expressed in that form.
    :raises CkprofError: an option is wrong, no problem is left, or a file cannot be written.
    """
    chosen = _completed(problems, arguments, session)
    split = arguments.output is not None and arguments.to != "json"
    groups: dict[str | None, list[ProblemCase]] = {}
    for case in chosen:
        groups.setdefault(case.direction if split else None, []).append(case)
    code = ExitCode.OK
    for note in dict.fromkeys(note for case in chosen for note in case.notes):
        session.console.info(f"note: {note}")
    for direction, some in groups.items():
        text, inexpressible = render_problems(some, arguments.to, tuple(session.registry.operations), origin)
        for _, why in inexpressible:
            session.console.warning(why)
            code = ExitCode.FAILED
        if arguments.output is None:
            session.console.exact(text)
            continue
        named = f".{direction}" if direction is not None and len(groups) > 1 else ""
        path = arguments.output.with_stem(f"{arguments.output.stem}{named}")
        write_output(path, text)
        written = len(some) - len(inexpressible)
        session.console.info(
            f"{path}: {counted(written, 'problem')}" + (f" of {direction}" if direction else "")
        )
    return code


def _completed(
    problems: Sequence[ProblemCase], arguments: argparse.Namespace, session: Session
) -> list[ProblemCase]:
    direction = session.registry.operation(arguments.direction).id if arguments.direction else None
    dtype = DataType.parse(arguments.dtype) if arguments.dtype else None
    completed = [
        replace(
            case,
            direction=case.direction or direction,
            dtype=case.dtype or dtype,
            layout=case.layout or arguments.layout,
        )
        for case in problems
        if direction is None or case.direction in (None, direction)
    ]
    if not completed:
        raise InputError(f"all {counted(len(problems), 'problem')} are of other directions than {direction}")
    if len(completed) < len(problems):
        session.console.info(
            f"{counted(len(problems) - len(completed), 'problem')} of other directions are excluded"
        )
    return completed


_EPILOG = """\
examples:
  ckprof problems list
  ckprof problems show resnet50 --batch 4
  ckprof problems convert --problem-set vgg16 --direction fwd --to ckprofiler --dtype fp16 --layout nhwgc
  ckprof problems convert profile.sh --to json -o problems.json
  ckprof problems sample 50 --seed 1 --max-gflop 20 -o sample.txt
  ckprof problems from-log miopen.log -o problems.txt

Every file that these commands write is one that --problems takes.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof problems``."""
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="what to do")
    for name, (summary, add, _) in _ACTIONS.items():
        sub = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        add(sub, session)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: an input or an option is wrong.
    """
    _, _, act = _ACTIONS[arguments.action]
    return act(arguments, session)


def _add_list(parser: argparse.ArgumentParser, _: Session) -> None:
    add_format(parser)


def _list(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.problems.problem_set import find_set, set_names

    columns: list[Column[ProblemSet]] = [
        Column("set", lambda listed: listed.id),
        Column("dimensions", lambda listed: f"{listed.ndim}D"),
        Column("layers", lambda listed: sum(layer.count for layer in listed.layers), align="right"),
        Column("shapes", lambda listed: len(listed.layers), align="right"),
        Column("GFLOP per image", _gflop_per_image, align="decimal"),
        Column("what", lambda listed: listed.label, whole_below=True),
    ]
    session.console.table(
        Table(columns, [find_set(name, session.registry) for name in set_names(session.registry)]),
        arguments.format,
    )
    return ExitCode.OK


def _gflop(number: float) -> float:
    """Return a number with the digits that are read; small layers are not nothing."""
    return round(number, 3 if number >= 0.01 else 6)


def _gflop_per_image(listed: ProblemSet) -> float:
    return round(sum(layer.count * layer.problem.flop for layer in listed.layers) / 1e9, 2)


def _add_show(parser: argparse.ArgumentParser, session: Session) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="a set of 'ckprof problems list', or a file of that form"
    )
    parser.add_argument("--batch", type=positive, default=1, metavar="N", help="batch size (default: 1)")
    add_format(parser)


def _show(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.problems.problem_set import find_set

    shown = find_set(arguments.name, session.registry)
    problems = shown.problems(arguments.batch)
    if arguments.format == "json":
        session.console.exact(render_problems(problems, "json", (), shown.origin)[0])
        return ExitCode.OK
    columns: list[Column[tuple[Layer, ProblemCase]]] = [
        Column("layer", lambda row: row[0].name + (" (transposed)" if row[0].transposed else "")),
        Column("count", lambda row: row[1].count, align="right"),
        sizes_column(lambda row: row[1].problem),
        Column("GFLOP", lambda row: _gflop(row[1].problem.flop / 1e9), align="decimal"),
    ]
    table = Table(columns, [*zip(shown.layers, problems, strict=True)])
    session.console.result(Document(["\n".join([shown.label, shown.origin, *shown.notes]), table]))
    return ExitCode.OK


def _add_convert(parser: argparse.ArgumentParser, session: Session) -> None:
    group = parser.add_argument_group("problems")
    group.add_argument("files", nargs="*", type=Path, metavar="FILE", help="problem files of any form")
    group.add_argument(
        "--problem",
        action="append",
        default=[],
        metavar="LINE",
        help="a MIOpenDriver conv line or ckProfiler's arguments (repeatable)",
    )
    add_problem_set_options(group)
    add_fields(group, ListReading, "lenient")
    add_output_options(parser, session)


def _convert(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.problems.from_log import LogProblems, read_any

    operations = tuple(session.registry.operations)
    asked = session.registry.operation(arguments.direction) if arguments.direction else None
    cases: list[ProblemCase] = problems_of_sets(arguments, session)
    for text in arguments.problem:
        log = LogProblems(text, "--problem", operations, bare=True, asked=asked)
        if log.errors:
            raise log.errors[0]
        cases += log.problems
    for path in arguments.files:
        read, wrong = read_any(path, operations, asked, lenient=bool(arguments.lenient))
        cases += read
        for error in wrong:
            session.console.warning(str(error))
    if not cases:
        raise UsageError("no problems given: name a FILE, --problem or --problem-set")
    return write_problems(cases, arguments, session, "converted by ckprof problems convert")


def _add_sample(parser: argparse.ArgumentParser, session: Session) -> None:
    parser.add_argument("count", type=int, metavar="COUNT", help="how many problems")
    group = parser.add_argument_group("shapes; ranges are LEAST:LARGEST, both included")
    for operation in _inventing(session)[:1]:
        add_fields(group, operation.sample_options)
    parser.set_defaults(shape_options=[action.dest for action in group._group_actions])
    group.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of what is drawn at random (default: 0)"
    )
    add_output_options(parser, session)


def _inventing(session: Session) -> list[Operation]:
    """Return the operations that invent problems after options of their own."""
    operations = session.registry.operations.registered
    return [operation for operation in operations if offers(operation, Operation.sample)]


def _sample(arguments: argparse.Namespace, session: Session) -> ExitCode:
    asked = session.registry.operation(arguments.direction) if arguments.direction else None
    inventing = [one for one in _inventing(session) if asked is None or one.id == asked.id]
    if inventing:
        options = inventing[0].sample_options
        cases = inventing[0].sample(chosen(arguments, options, count=arguments.count, seed=arguments.seed))
    elif asked is not None:
        cases = [*_drawn(asked, arguments)]
    else:
        raise UsageError("no loaded plugin has synthetic problems")
    return write_problems(cases, arguments, session, f"sample of {len(cases)}, seed {arguments.seed}")


def _drawn(operation: Operation, arguments: argparse.Namespace) -> Iterator[ProblemCase]:
    """Yield problems that an operation invents."""
    import random
    from itertools import islice

    from ckprof.model.problem_case import ProblemCase
    from ckprof.problems.choose import random_problems

    if not offers(operation, Operation.random_problem):
        raise UsageError(f"{operation.id} has no synthetic problems")
    for name in arguments.shape_options:
        if vars(arguments)[name] is not None:
            raise UsageError(f"--{name.replace('_', '-')} does not apply to problems of {operation.id}")
    draw = random.Random(arguments.seed)  # noqa: S311  # no secret
    problems = random_problems(operation, draw, min(operation.default_problem))
    for number, problem in enumerate(islice(problems, arguments.count), 1):
        yield ProblemCase(problem=problem, name=f"sample {number}", direction=operation.id)


def _add_from_log(parser: argparse.ArgumentParser, session: Session) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a log, a script or a CSV table (repeatable)"
    )
    add_output_options(parser, session)


def _from_log(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.model.problem_case import merged
    from ckprof.problems.from_log import problems_from_log

    operations = tuple(session.registry.operations)
    cases: list[ProblemCase] = []
    errors: list[InputError] = []
    for path in arguments.files:
        log = problems_from_log(path, operations)
        cases += log.problems
        errors += log.errors
        session.console.info(_log_summary(path, log))
    for error in errors:
        session.console.warning(str(error))
    if not cases:
        raise InputError("no problem was found", ", ".join(map(str, arguments.files)))
    origin = f"problems of {', '.join(path.name for path in arguments.files)}"
    code = write_problems(merged(cases), arguments, session, origin)
    return ExitCode.FAILED if errors else code


def _log_summary(path: Path, log: LogProblems) -> str:
    parts = [
        f"{path}: {counted(log.commands, 'command')}, "
        f"{counted(sum(case.count for case in log.problems), 'problem')}, "
        f"{len(log.problems)} distinct"
    ]
    if log.other_commands:
        others = ", ".join(f"{count} {name}" for name, count in sorted(log.other_commands.items()))
        parts.append(f"of no known operation: {others}")
    if log.errors:
        parts.append(f"{counted(len(log.errors), 'command')} could not be read")
    return "; ".join(parts)


#: action -> what it does, what adds its options, and what runs it
_ACTIONS: Final = {
    "list": ("list the problem sets that ship with ckprof", _add_list, _list),
    "show": ("show the layers of a problem set", _add_show, _show),
    "convert": ("write problems in another form: MIOpenDriver, ckProfiler, JSON", _add_convert, _convert),
    "sample": (
        "draw synthetic problems: log-uniform sizes, divisibility classes, edge cases",
        _add_sample,
        _sample,
    ),
    "from-log": (
        "collect the problems of MIOpen logs, driver scripts, ckProfiler scripts and CSV tables",
        _add_from_log,
        _from_log,
    ),
}
