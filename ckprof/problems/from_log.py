"""Problems out of what users have: logs, driver scripts, CSV tables.

Commands are looked for anywhere in a line: behind a log's prefix, behind the path of the program, in front of
redirections. Lines without a command are passed over and counted; a command that cannot be understood is
reported with its place, and the others are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.plugin.operations import directions_among
from ckprof.plugin.protocols import OwnProblems
from ckprof.problems.counted import CountedProblem, merged
from ckprof.problems.csv_problems import looks_like_csv, read_csv
from ckprof.problems.miopen_flags import BASES
from ckprof.problems.parse_line import parse_problem, words_of
from ckprof.problems.tokens import ProblemLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.plugin.protocols import Direction, Operation

#: a program call, with or without a path in front of it
_CALL: Final = re.compile(
    r"(?:^|[\s\"'(/=\]}])(?P<program>MIOpenDriver|ckProfiler)(?:\.exe)?[\"']?\s+(?P<rest>\S.*)"
)

#: what ends a command in a shell script: redirections, comments, pipes, further commands
_END: Final = re.compile(r"\s\d?[<>#].*|[;&|].*")

#: shell quoting that stays around flags such as ``-!``
_QUOTING: Final = re.compile(r"[\\\"']")

_FORW: Final = re.compile(r"(?:^|\s)(?:-F|--forw)[=\s]+(\d+)(?=\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogProblems:
    """What a log holds."""

    #: without duplicates, in the order of their first occurrence
    problems: tuple[CountedProblem, ...]
    #: lines that hold a command of a known program
    commands: int
    #: commands for something that no operation computes, by name
    other_commands: Mapping[str, int] = field(default_factory=dict)
    #: lines without any command
    other_lines: int = 0
    #: commands that cannot be understood
    errors: tuple[InputError, ...] = ()

    def directions(self) -> list[str | None]:
        """Return the ids of all directions that occur, in the order of their first occurrence."""
        return list(dict.fromkeys(one.direction for one in self.problems))


@dataclass(slots=True)
class _Reading:
    """A log while it is read."""

    directions: tuple[Direction, ...]
    #: all operations
    known: tuple[Operation, ...]
    #: first words of ckProfiler's arguments -> the operation with problems of its own that they ask for
    own: Mapping[str, Operation]
    #: such words of all operations
    words: frozenset[str]
    #: logs repeat their commands: command -> its problems
    parsed: dict[str, list[CountedProblem]] = field(default_factory=dict)
    found: list[CountedProblem] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    errors: list[InputError] = field(default_factory=list)
    commands: int = 0
    other_lines: int = 0


def problems_from_log(path: Path, operations: Iterable[Operation]) -> LogProblems:
    """Read the problems of a log, a script or a CSV table.

    :param operations: all known ones.
    :raises InputError: the file cannot be read. Wrong lines are returned, not raised.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    return problems_from_text(text, path, operations)


def problems_from_text(
    text: str, path: Path | str, operations: Iterable[Operation], *, bare: bool = False
) -> LogProblems:
    """Do the same for text that was read before.

    :param path: for messages.
    :param bare: every line is a problem, also one with the convolution parameters alone.
    """
    known = tuple(operations)
    reading = _Reading(
        directions=directions_among(known),
        known=known,
        own={word: one for one in known if isinstance(one, OwnProblems) for word in words_of(one)},
        words=frozenset(word for one in known for word in words_of(one)),
    )
    lines = text.splitlines()
    if looks_like_csv(lines):
        found, errors = read_csv(lines, path, reading.directions)
        return LogProblems(
            problems=tuple(merged(found)), commands=len(found) + len(errors), errors=tuple(errors)
        )
    for number, line in _joined(lines):
        if bare and line.strip()[:1].isdigit():
            line = f"ckProfiler {line}"
        before = reading.other_lines
        _read_line(line, number, path, reading)
        if bare and reading.other_lines > before and not line.lstrip().startswith("#"):
            reading.errors.append(InputError("this is no problem line", path, number))
    return LogProblems(
        problems=tuple(merged(reading.found)),
        commands=reading.commands,
        other_commands=dict(sorted(reading.others.items())),
        other_lines=reading.other_lines,
        errors=tuple(reading.errors),
    )


def _joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield (number of the first line, line) with lines that end in a backslash joined to the next."""
    start, parts = 0, ""
    for number, line in enumerate(lines, start=1):
        if not parts:
            start = number
        if line.endswith("\\"):
            parts += f"{line[:-1]} "
            continue
        yield start, parts + line
        parts = ""
    if parts:
        yield start, parts


def _read_line(line: str, number: int, path: Path | str, reading: _Reading) -> None:
    bare = line.strip()
    call = None if bare.startswith("#") else _CALL.search(line)
    operations = reading.words
    if call is None:
        first = bare.split(maxsplit=1)[0] if bare else ""
        if first not in operations and first not in BASES:
            reading.other_lines += bool(bare)
            return
        program, rest = ("MIOpenDriver" if first in BASES else "ckProfiler"), bare
    else:
        program, rest = call["program"], call["rest"]
    rest = _QUOTING.sub("", _END.sub("", rest))
    reading.commands += 1
    operation = rest.split(maxsplit=1)[0] if rest.split() else ""
    known = BASES if program == "MIOpenDriver" else operations
    if operation not in known and not operation.startswith(("conv", "grouped_conv", "$", *"123")):
        reading.others[f"{program} {operation}".strip()] += 1
        return
    command = ProblemLine(text=f"{program} {rest}", path=path, line=number)
    try:
        if command.text not in reading.parsed:
            reading.parsed[command.text] = list(_problems_of(command, rest, reading))
        reading.found += reading.parsed[command.text]
    except InputError as exc:
        # a column would count in the command, not in the line of the log
        reading.errors.append(InputError(exc.message, exc.path, exc.line))


def _problems_of(command: ProblemLine, rest: str, reading: _Reading) -> Iterator[CountedProblem]:
    if "$" in rest.replace("-$", ""):
        raise command.error(
            "the command has shell variables: run the script with echo in front of its commands"
        )
    own = reading.own.get(rest.split(maxsplit=1)[0])
    asked: list[Operation] = (
        [own] if own is not None else [*_directions_of(command, rest, reading.directions)]
    )
    for direction in asked or reading.directions[:1]:
        parsed = parse_problem(command, direction, reading.known)
        yield CountedProblem(
            problem=parsed.problem,
            name=f"line {command.line}",
            direction=direction.id if asked else None,
            dtype=parsed.dtype,
            layout=parsed.layout,
            splits=parsed.splits,
        )


def _directions_of(command: ProblemLine, rest: str, directions: tuple[Direction, ...]) -> list[Direction]:
    """Return the directions that a command asks for; none if it means all of them alike."""
    operation = rest.split(maxsplit=1)[0]
    named = [one for one in directions if operation in one.positional_form.operations]
    if named:
        return named
    forw = _FORW.search(rest)
    flags = int(forw[1]) if forw else 0
    asked = [one for one in directions if flags & one.miopen_flag]
    if flags and not asked:
        raise command.error(f"-F {flags} asks for none of {', '.join(one.id for one in directions)}")
    return asked
