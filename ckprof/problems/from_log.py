"""Problems out of what users have: logs, driver scripts, CSV tables.

Commands are looked for anywhere in a line: after a log's prefix, after the path of the program, in front of
redirections. Lines without a command are passed over and counted; a command that cannot be understood is
reported with its place, and the others are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, ListError
from ckprof.files import content_of
from ckprof.model.problem_case import OtherOperationError, ProblemCase, ProblemLine, merged
from ckprof.problems.problem_file import first_word, parse_problem, parse_problem_list, programs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ckprof.plugin.protocols import Operation

#: what ends a command in a shell script: redirections, comments, pipes, further commands
_END: Final = re.compile(r"\s\d?[<>#].*|[;&|].*")

#: shell quoting that stays around flags such as ``-!``
_QUOTING: Final = re.compile(r"[\\\"']")


class LogProblems:
    """What a log, a script or a CSV table holds. Wrong lines are kept, not raised.

    :param path: for messages.
    :param operations: all known ones.
    :param bare: every line is a problem, also one that names no program and no operation.
    :param asked: what reads such lines; ``None``: the first operation that can.
    :param first: one problem of a command is enough.
    """

    def __init__(
        self,
        text: str,
        path: Path | str,
        operations: Iterable[Operation],
        *,
        bare: bool = False,
        asked: Operation | None = None,
        first: bool = False,
    ) -> None:
        self._operations = tuple(operations)
        self._path = path
        self._bare = bare
        self._asked, self._first = asked, first
        self._programs = programs_of(self._operations)
        programs = "|".join(map(re.escape, sorted(self._programs))) or "(?!)"
        #: finds a program call, with or without a path in front of it
        self._call = re.compile(
            rf"(?:^|[\s\"'(/=\]}}])(?P<program>{programs})(?:\.exe)?[\"']?:?\s+(?P<rest>\S.*)"
        )
        #: first arguments that ask for an operation
        self._words = frozenset(word for operation in self._operations for word in operation.line_words)
        #: logs repeat their commands: command -> its problems
        self._parsed: dict[str, list[ProblemCase]] = {}
        self._cases: list[ProblemCase] = []
        #: lines that hold a command of a known program
        self.commands = 0
        #: commands for something that no operation computes, by name
        self.other_commands: Counter[str] = Counter()
        #: commands that cannot be understood
        self.errors: list[InputError] = []
        self._read(text.splitlines())
        #: without duplicates, in the order of their first occurrence
        self.problems = merged(self._cases)

    def _read(self, lines: Sequence[str]) -> None:
        for operation in self._operations:
            if operation.is_table(lines):
                cases, errors = operation.read_table(lines, self._path, self._operations)
                self._cases, self.errors = list(cases), list(errors)
                self.commands = len(cases) + len(errors)
                return
        for number, line in _joined(lines):
            try:
                self._cases += self.cases_in(line, number)
            except InputError as exc:
                # a column would count in the command, not in the line of the log
                self.errors.append(InputError(exc.message, exc.path, exc.line))

    def cases_in(self, line: str, number: int = 1) -> Sequence[ProblemCase]:
        """Return the problems of the command that a line of a log holds, if it holds one.

        :raises InputError: the command cannot be understood.
        """
        bare = line.strip()
        call = None if bare.startswith("#") else self._call.search(line)
        if call is None:
            word = bare.split(maxsplit=1)[0] if bare else ""
            if word in self._words or (self._bare and word and not word.startswith("#")):
                return self._cases_of_command(_argument_text(bare), number)
            return ()
        program = call["program"]
        text = f"{program} {_argument_text(call['rest'])}"
        first = first_word(ProblemLine(text=text, path=self._path).tokens(), self._programs)
        if first and any(operation.is_command(program, first.text) for operation in self._operations):
            return self._cases_of_command(text, number)
        self.commands += 1
        self.other_commands[f"{program} {first.text if first else ''}".strip()] += 1
        return ()

    def _cases_of_command(self, text: str, number: int) -> Sequence[ProblemCase]:
        self.commands += 1
        if text not in self._parsed:
            self._parsed[text] = self._cases_of(ProblemLine(text=text, path=self._path, line=number))
        return self._parsed[text]

    def _cases_of(self, command: ProblemLine) -> list[ProblemCase]:
        """Return the problems of a command: one for each operation that it asks for.

        :raises InputError: it cannot be understood.
        """
        if "$" in command.text.replace("-$", ""):
            raise command.error(
                "the command has shell variables: run the script with echo in front of its commands"
            )
        operations = self._operations
        word = first_word(command.tokens(), self._programs)
        named = word.text if word is not None else ""
        owners = [one for one in operations if named in one.line_words]
        if not owners:
            # the first operation that takes a line that begins with the word for its own
            reader = self._asked or next(
                (one for one in operations if any(one.is_command(name, named) for name in one.programs)), None
            )
            if reader is None:
                programs = ", ".join(sorted(self._programs))
                raise command.error(f"expected a command of {programs}, or its arguments, got {named!r}")
            return [parse_problem(command, reader, operations)]
        cases: list[ProblemCase] = []
        refusals: list[OtherOperationError] = []
        for operation in owners:
            try:
                case = operation.parse_problem(command)
            except OtherOperationError as exc:
                # its traceback would hold this frame, and the frame the list that it is in
                refusals.append(exc.with_traceback(None))
                continue
            cases.append(replace(case, name=f"line {command.line}"))
            if self._first or case.direction is None:
                break  # the latter means all operations alike
        if not cases:
            raise refusals[0]
        return cases


def _argument_text(text: str) -> str:
    """Return arguments without quotes and what follows them in a script."""
    return _QUOTING.sub("", _END.sub("", text)).strip()


def problems_from_log(path: Path, operations: Iterable[Operation]) -> LogProblems:
    """Read the problems of a log, a script or a CSV table.

    :raises InputError: the file cannot be read.
    """
    return LogProblems(content_of(path).decode("utf-8-sig", errors="replace"), path, operations)


def _joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield (number of the first line, line) with lines that end in a backslash joined to the next."""
    start, parts = 1, ""
    # the last line may end so as well
    for number, line in enumerate((*lines, ""), start=1):
        if line.endswith("\\"):
            parts += f"{line[:-1]} "
            continue
        yield start, parts + line
        start, parts = number + 1, ""


def read_any(
    path: Path, operations: Sequence[Operation], asked: Operation | None = None, *, lenient: bool = False
) -> tuple[list[ProblemCase], list[InputError]]:
    """Read a problem file of any form: a JSON list, problem lines, a script, a table.

    :param asked: what lines that name no operation are for; ``None``: the first operation that reads them.
    :param lenient: wrong lines are returned as well, with what is wrong.
    :raises InputError: the file cannot be read, or has no problem.
    :raises ListError: lines are wrong, and either not excluded or all that there are.
    """
    data = content_of(path)
    text = data.decode("utf-8-sig", errors="replace")
    if not text.lstrip().startswith("{"):
        log = LogProblems(text, path, operations, bare=True, asked=asked)
        cases, errors = log.problems, log.errors
    else:
        cases, errors = parse_problem_list(data.removeprefix(b"\xef\xbb\xbf"), path), []
    if errors and not (lenient and cases):
        wrong = [one for error in errors for one in error.diagnostics]
        raise ListError(wrong, "no line is left" if lenient else "")
    if not cases:
        raise InputError("no problem in this file; expected one a line", path)
    return cases, errors
