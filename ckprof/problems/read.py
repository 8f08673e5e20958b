"""Reading problems from ``--problem`` and ``--problems``."""

from __future__ import annotations

import stat
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ckprof.errors import Diagnostic, InputError, ListError
from ckprof.model.problem_case import ProblemCase
from ckprof.model.problem_line import OtherOperationError, ProblemLine
from ckprof.problems.parse_line import parse_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ckprof.plugin.protocols import Operation

#: characters of a line that are read; no problem is longer
_LONGEST_LINE: Final = 1 << 16

#: characters that are read of a pipe, which may never end
_PIPE_LIMIT: Final = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFile:
    """What a file of problem lines holds for one direction."""

    problems: tuple[ProblemCase, ...]
    #: why other lines are not for it -> how many
    skipped: Counter[str] = field(default_factory=Counter)


def read_problem_file(path: Path, direction: Operation, directions: Iterable[Operation]) -> ProblemFile:
    """Read a file with one problem a line, or a JSON list of ``ckprof problems``.

    Blank lines and lines that start with ``#`` are skipped. The file is read line by line, whatever its size.
    Problems for other directions are counted.

    :raises InputError: the file cannot be read or has no problem at all.
    :raises ListError: lines are wrong; all of them are reported.
    """
    if holds_json(path):
        return _listed(path, direction)
    operations = tuple(directions)
    problems: list[ProblemCase] = []
    skipped: Counter[str] = Counter()
    wrong: list[Diagnostic] = []
    for line in _lines(path):
        try:
            problems.append(parse_problem(line, direction, operations))
        except OtherOperationError:
            skipped[f"not for {direction.id}"] += 1
        except InputError as error:
            wrong.append(
                Diagnostic(
                    path=error.path or path, message=error.message, line=error.line, column=error.column
                )
            )
    if wrong:
        raise ListError(wrong)
    if not problems and not skipped:
        raise InputError("no problem in this file; expected one a line", path)
    return ProblemFile(problems=tuple(problems), skipped=skipped)


def _lines(path: Path) -> Iterator[ProblemLine]:
    """Yield the lines that hold a problem.

    :raises InputError: the file cannot be read, is not text, or does not end.
    """
    try:
        endless = not stat.S_ISREG(path.stat().st_mode)
        read = 0
        with path.open(encoding="utf-8-sig") as stream:
            number = 0
            while text := stream.readline(_LONGEST_LINE):
                number += 1
                read += len(text)
                if len(text) == _LONGEST_LINE:
                    raise InputError(f"a line of more than {_LONGEST_LINE} characters", path, number)
                if endless and read > _PIPE_LIMIT:
                    raise InputError(
                        f"more than {_PIPE_LIMIT >> 20} MiB that come from no regular file", path
                    )
                if text.strip() and not text.lstrip().startswith("#"):
                    yield ProblemLine(text=text.rstrip("\n"), path=path, line=number)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    except UnicodeDecodeError as exc:
        raise InputError(f"not a text file: byte {exc.start} is not valid UTF-8", path) from None


def holds_json(path: Path) -> bool:
    """Say whether a regular file begins like a JSON object; a pipe is not touched."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as stream:
            return stream.read(256).lstrip().startswith(b"{")
    except OSError:
        return False  # to be reported by whoever reads it


def _listed(path: Path, direction: Operation) -> ProblemFile:
    """Read a JSON list.

    :raises InputError: it is no such list, or a problem is wrong.
    """
    from ckprof.problems.list_file import parse_problem_list

    try:
        data = path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    listed = parse_problem_list(data, path)
    if not listed:
        raise InputError("no problem in this list", path)
    problems = tuple(case for case in listed if case.direction in (None, direction.id))
    skipped = Counter({f"not for {direction.id}": len(listed) - len(problems)})
    return ProblemFile(problems=problems, skipped=+skipped)
