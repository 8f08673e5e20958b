"""Writing problems: the output options of ``ckprof problems``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import ExitCode, InputError
from ckprof.files import write_output
from ckprof.model.types import SHARED_TYPES, DataType, spellings
from ckprof.problems.problem_file import line_forms, render_problems
from ckprof.wording import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.model.problem_case import ProblemCase


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
        help="write lines for this direction; problems of other directions are left out and counted",
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
    groups = _by_direction(chosen) if split else {None: chosen}
    code = ExitCode.OK
    for direction, some in groups.items():
        rendered = render_problems(some, arguments.to, tuple(session.registry.operations), origin)
        for _, why in rendered.inexpressible:
            session.console.warning(why)
            code = ExitCode.FAILED
        if arguments.output is None:
            session.console.exact(rendered.text)
            continue
        path = _path(arguments.output, direction, alone=len(groups) == 1)
        try:
            write_output(path, rendered.text)
        except OSError as exc:
            raise InputError(f"cannot write: {exc.strerror}", path) from None
        written = len(some) - len(rendered.inexpressible)
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
            f"{counted(len(problems) - len(completed), 'problem')} of other directions are left out"
        )
    return completed


def _by_direction(problems: Sequence[ProblemCase]) -> dict[str | None, list[ProblemCase]]:
    groups: dict[str | None, list[ProblemCase]] = {}
    for case in problems:
        groups.setdefault(case.direction, []).append(case)
    return groups


def _path(path: Path, direction: str | None, *, alone: bool) -> Path:
    if alone or direction is None:
        return path
    return path.with_name(f"{path.stem}.{direction}{path.suffix}")
