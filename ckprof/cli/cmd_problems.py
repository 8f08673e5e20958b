"""``ckprof problems``: problem sets, conversions between forms, logs, synthetic problems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.cli.problem_output import add_output_options, write_problems
from ckprof.cli.problem_set_options import add_problem_set_options, problems_of_sets
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.plugin.protocols import OwnProblems, ProblemSampler

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ckprof.cli.session import Session
    from ckprof.plugin.protocols import Operation
    from ckprof.problems.counted import CountedProblem
    from ckprof.problems.from_log import LogProblems
    from ckprof.problems.problem_set import ProblemSet

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

#: options of synthetic convolutions -> default
_SHAPE_OPTIONS: Final[dict[str, Any]] = {
    "ndim": 2,
    **{"batch": "1:128", "channels": "1:2048", "size": "1:224", "groups": "1:1"},
    **{"multiples": "1,2,4,8,16,32,64", "edges": 0.1, "max_gflop": None},
}

_ACTIONS: Final = {
    "list": "list the problem sets that ship with ckprof",
    "show": "show the layers of a problem set",
    "convert": "write problems in another form: MIOpenDriver, ckProfiler, JSON",
    "sample": "draw synthetic problems: log-uniform sizes, divisibility classes, edge cases",
    "from-log": "collect the problems of MIOpen logs, driver scripts, ckProfiler scripts and CSV tables",
}


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof problems``."""
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="what to do")
    for name, summary in _ACTIONS.items():
        sub = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        _ADDERS[name](sub, session)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: an input or an option is wrong.
    """
    return _RUNNERS[arguments.action](arguments, session)


def _add_list(parser: argparse.ArgumentParser, session: Session) -> None:
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def _list(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.problems.problem_set import find_set, set_names

    headers = ("set", "dimensions", "layers", "shapes", "GFLOP per image", "what")
    rows = [_summary(find_set(name)) for name in set_names()]
    if arguments.format == "json":
        session.console.result(json.dumps([dict(zip(headers, row, strict=True)) for row in rows], indent=2))
    else:
        session.console.result(_table(headers, rows))
    return ExitCode.OK


def _summary(one: ProblemSet) -> tuple[object, ...]:
    gflop = sum(layer.count * layer.problem.flop for layer in one.layers) / 1e9
    layers = sum(layer.count for layer in one.layers)
    return one.id, f"{one.ndim}D", layers, len(one.layers), round(gflop, 2), one.label


def _table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    from tabulate import tabulate

    return tabulate(rows, headers=headers, colalign=None)


def _add_show(parser: argparse.ArgumentParser, session: Session) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="a set of 'ckprof problems list', or a file of that form"
    )
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="batch size (default: 1)")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def _show(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.problems.list_file import render_problems
    from ckprof.problems.problem_set import find_set

    found = find_set(arguments.name)
    problems = found.problems(arguments.batch)
    if arguments.format == "json":
        session.console.exact(render_problems(problems, "json", (), found.origin).text)
        return ExitCode.OK
    rows = [
        (
            layer.name + (" (transposed)" if layer.transposed else ""),
            one.count,
            one.problem.describe(),
            round(one.problem.flop / 1e9, 3),
        )
        for layer, one in zip(found.layers, problems, strict=True)
    ]
    text = f"{found.label}\n{found.origin}\n" + "".join(f"{note}\n" for note in found.notes)
    session.console.result(f"{text}\n{_table(('layer', 'count', 'problem', 'GFLOP'), rows)}")
    return ExitCode.OK


def _add_convert(parser: argparse.ArgumentParser, session: Session) -> None:
    group = parser.add_argument_group("problems")
    group.add_argument("files", nargs="*", type=Path, metavar="FILE", help="problem files of any form")
    group.add_argument(
        "--problem", action="append", default=[], metavar="LINE", help="one problem line (repeatable)"
    )
    add_problem_set_options(group)
    add_output_options(parser)


def _convert(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.problems.from_log import problems_from_text
    from ckprof.problems.list_file import read_any

    operations = tuple(session.registry.operations)
    asked = session.registry.operation(arguments.direction) if arguments.direction else None
    found: list[CountedProblem] = problems_of_sets(arguments)
    if isinstance(asked, OwnProblems):
        found += _read_for(asked, arguments, session)
        arguments.problem, arguments.files = [], []
    for text in arguments.problem:
        log = problems_from_text(text, "--problem", operations, bare=True)
        _raise_first(log)
        found += log.problems
    for path in arguments.files:
        found += read_any(path, operations)
    if not found:
        raise UsageError("no problems given: name a FILE, --problem or --problem-set")
    return write_problems(found, arguments, session, "converted by ckprof problems convert")


def _read_for(
    operation: Operation, arguments: argparse.Namespace, session: Session
) -> Iterator[CountedProblem]:
    """Yield the problems of lines that need not say which operation they are for."""
    from ckprof.problems.counted import CountedProblem

    for one in session.profiler.problems(operation.id, arguments.problem, files=arguments.files):
        yield CountedProblem(
            problem=one.problem,
            count=one.count,
            direction=operation.id,
            dtype=one.dtype,
            layout=one.layout,
            splits=one.splits,
        )


def _raise_first(log: LogProblems) -> None:
    if log.errors:
        raise log.errors[0]


def _add_sample(parser: argparse.ArgumentParser, session: Session) -> None:
    parser.add_argument("count", type=int, metavar="COUNT", help="how many problems")
    group = parser.add_argument_group("shapes; ranges are LEAST:LARGEST, both included")
    group.add_argument("--seed", type=int, default=0, help="(default: 0)")
    group.add_argument(
        "--ndim",
        type=int,
        default=_SHAPE_OPTIONS["ndim"],
        metavar="N",
        help="spatial dimensions (default: 2)",
    )
    for name, what in (
        ("batch", "batch size"),
        ("channels", "channels of one group"),
        ("size", "lengths of the image"),
        ("groups", "groups"),
    ):
        default = _SHAPE_OPTIONS[name]
        group.add_argument(f"--{name}", default=default, metavar="RANGE", help=f"{what} (default: {default})")
    group.add_argument(
        "--multiples",
        default=_SHAPE_OPTIONS["multiples"],
        metavar="LIST",
        help="channels are multiples of one of these, each as often as the others (default: %(default)s)",
    )
    group.add_argument(
        "--edges",
        type=float,
        default=_SHAPE_OPTIONS["edges"],
        metavar="SHARE",
        help="share of edge cases (default: 0.1)",
    )
    group.add_argument("--max-gflop", type=float, metavar="N", help="no problem has more operations")
    add_output_options(parser)


def _sample(arguments: argparse.Namespace, session: Session) -> ExitCode:
    import math

    from ckprof.problems.sample import SampleSpec, sample

    asked = session.registry.operation(arguments.direction) if arguments.direction else None
    if isinstance(asked, OwnProblems):
        drawn = [*_drawn(asked, arguments)]
        return write_problems(drawn, arguments, session, f"sample of {len(drawn)}, seed {arguments.seed}")
    spec = SampleSpec(
        count=arguments.count,
        seed=arguments.seed,
        ndim=arguments.ndim,
        batch=_range(arguments.batch, "--batch"),
        channels=_range(arguments.channels, "--channels"),
        size=_range(arguments.size, "--size"),
        groups=_range(arguments.groups, "--groups"),
        multiples=_integers(arguments.multiples, "--multiples"),
        edges=arguments.edges,
        max_flop=arguments.max_gflop * 1e9 if arguments.max_gflop is not None else math.inf,
    )
    return write_problems(sample(spec), arguments, session, f"sample of {spec.count}, seed {spec.seed}")


def _drawn(operation: Operation, arguments: argparse.Namespace) -> Iterator[CountedProblem]:
    """Yield problems that an operation invents.

    :raises UsageError: it invents none, or an option is about convolutions.
    """
    import random

    from ckprof.problems.counted import CountedProblem

    if not isinstance(operation, ProblemSampler):
        raise UsageError(f"{operation.id} has no synthetic problems")
    for name, usual in _SHAPE_OPTIONS.items():
        if getattr(arguments, name) != usual:
            raise UsageError(
                f"--{name.replace('_', '-')} is about convolutions, --direction is {operation.id}"
            )
    draw = random.Random(arguments.seed)  # noqa: S311  # no secret
    number = 0
    while number < arguments.count:
        try:
            problem = operation.random_problem(draw)
        except InputError:
            continue  # sizes that do not fit together
        number += 1
        yield CountedProblem(problem=problem, name=f"sample {number}", direction=operation.id)


def _range(text: str, option: str) -> tuple[int, int]:
    least, separator, largest = text.partition(":")
    try:
        return int(least), int(largest if separator else least)
    except ValueError:
        raise UsageError(f"{option} {text!r} is not LEAST:LARGEST, e.g. 1:64") from None


def _integers(text: str, option: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a list of integers, e.g. 1,8,64") from None


def _add_from_log(parser: argparse.ArgumentParser, session: Session) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a log, a script or a CSV table (repeatable)"
    )
    add_output_options(parser)


def _from_log(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.problems.counted import merged
    from ckprof.problems.from_log import problems_from_log

    operations = tuple(session.registry.operations)
    found: list[CountedProblem] = []
    errors: list[InputError] = []
    for path in arguments.files:
        log = problems_from_log(path, operations)
        found += log.problems
        errors += log.errors
        session.console.info(_log_summary(path, log))
    for error in errors:
        session.console.warning(str(error))
    if not found:
        raise InputError("no problem was found", ", ".join(map(str, arguments.files)))
    origin = f"problems of {', '.join(path.name for path in arguments.files)}"
    code = write_problems(merged(found), arguments, session, origin)
    return ExitCode.FAILED if errors else code


def _log_summary(path: Path, log: LogProblems) -> str:
    parts = [
        f"{path}: {log.commands} commands, {sum(one.count for one in log.problems)} problems, "
        f"{len(log.problems)} distinct ones"
    ]
    if log.other_commands:
        others = ", ".join(f"{count} {name}" for name, count in log.other_commands.items())
        parts.append(f"of no known operation: {others}")
    if log.errors:
        parts.append(f"{len(log.errors)} commands could not be read")
    return "; ".join(parts)


_ADDERS: Final = {
    "list": _add_list,
    "show": _add_show,
    "convert": _add_convert,
    "sample": _add_sample,
    "from-log": _add_from_log,
}
_RUNNERS: Final = {
    "list": _list,
    "show": _show,
    "convert": _convert,
    "sample": _sample,
    "from-log": _from_log,
}
