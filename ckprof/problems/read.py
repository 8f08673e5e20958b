"""Reading problems from ``--problem`` and ``--problems``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.problems.miopen import looks_like_miopen, parse_miopen
from ckprof.problems.positional import parse_positional
from ckprof.problems.tokens import ParsedProblem, ProblemLine

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ckprof.plugin.protocols import Direction


def parse_problem(line: ProblemLine, direction: Direction, directions: Iterable[Direction]) -> ParsedProblem:
    """Parse one line in either form.

    :raises InputError: with the position and the expected form.
    """
    tokens = line.tokens()
    if not tokens:
        raise line.error("the problem is empty; expected a MIOpenDriver conv line or ckProfiler's arguments")
    if looks_like_miopen(tokens):
        return parse_miopen(line, direction)
    return parse_positional(line, direction, directions)


def read_problem_file(
    path: Path, direction: Direction, directions: Iterable[Direction]
) -> list[ParsedProblem]:
    """Read a file with one problem a line, or a JSON list of ``ckprof problems``.

    Blank lines and lines that start with ``#`` are skipped, so are problems of other directions in a list.

    :raises InputError: the file cannot be read, has no problem, or a line is wrong.
    """
    known = tuple(directions)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    except UnicodeDecodeError as exc:
        raise InputError(f"not a text file: byte {exc.start} is not valid UTF-8", path) from None
    if text.lstrip().startswith("{"):
        return _listed(text, path, direction)
    problems = [
        parse_problem(ProblemLine(text=line, path=path, line=number), direction, known)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not problems:
        raise InputError("no problem in this file; expected one a line", path)
    return problems


def _listed(text: str, path: Path, direction: Direction) -> list[ParsedProblem]:
    from ckprof.problems.list_file import parse_problem_list

    problems = [
        ParsedProblem(problem=one.problem, dtype=one.dtype, layout=one.layout, split_k=one.split_k)
        for one in parse_problem_list(text.encode(), path)
        if one.direction in (None, direction.id)
    ]
    if not problems:
        raise InputError(f"no problem for {direction.id} in this list", path)
    return problems
