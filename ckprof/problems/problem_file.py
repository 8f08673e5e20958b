"""Problem lines and files of them: one line per problem, or JSON with everything."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import Diagnostic, InputError, ListError, UsageError, input_errors, system_errors
from ckprof.files import content_of, decoded
from ckprof.model.problem_case import OtherOperationError, ProblemCase, ProblemLine, Token
from ckprof.model.problem_types import exact_problem, sizes
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from ckprof.plugin.protocols import Operation


def parse_problem(line: ProblemLine, operation: Operation, operations: Iterable[Operation]) -> ProblemCase:
    """Parse one line in whatever form the operation reads.

    :param operation: the one that is run.
    :param operations: all of them, to recognise lines of the others.
    :raises InputError: with the position and the expected form.
    :raises OtherOperationError: the line is in order, but for another operation.
    """
    if "\ufffd" in line.text.partition("#")[0]:
        raise line.error("not UTF-8 text: save the file as UTF-8", line.text.index("\ufffd") + 1)
    all_operations = tuple(operations)
    word = first_word(line.tokens(), programs_of(all_operations))
    if word is not None and word.text not in operation.line_words:
        for other in all_operations:
            if word.text in other.line_words:
                raise line.other_operation(
                    f"{word.text} is an operation of {other.id}, not of {operation.id}; "
                    f"'ckprof run {other.id}' runs it",
                    word.column,
                )
    return operation.parse_problem(line)


def programs_of(operations: Iterable[Operation]) -> frozenset[str]:
    """Return the names of all programs whose command lines operations read."""
    return frozenset(program for operation in operations for program in operation.programs)


def first_word(tokens: Sequence[Token], programs: Collection[str]) -> Token | None:
    """Return the word that says what a line is for: the one after a program's name, else the first.

    Options with two dashes, and numbers after them, are passed over.
    """
    first = program = None
    for before, word in zip((Token("", 0), *tokens), tokens, strict=False):
        if word.text.startswith("--") or (before.text.startswith("--") and word.text.isdecimal()):
            continue
        if program and program.text.rpartition("/")[2].removesuffix(":").removesuffix(".exe") in programs:
            return word
        first, program = first or word, word
    return first


#: characters of a line that are read; no problem is longer
_LONGEST_LINE: Final = 1 << 16

#: characters that are read of a pipe, which may never end
_PIPE_LIMIT: Final = 1 << 26


def read_problem_file(
    path: Path, direction: Operation, directions: Iterable[Operation], *, lenient: bool = False
) -> tuple[list[ProblemCase], Counter[str]]:
    """Read a file with one problem a line, or a JSON list of ``ckprof problems``.

    Return its problems for one direction, and why other lines are not for it -> how many.

    Blank lines and what follows a ``#`` are skipped. The file is read line by line, whatever its size.
    Problems for other directions are counted.

    :param lenient: wrong lines are counted as well, with what is wrong.
    :raises InputError: the file cannot be read or has no problem at all.
    :raises ListError: lines are wrong, or not UTF-8; all of them are reported.
    """
    operations = tuple(directions)
    if holds_json(path):
        listed = parse_problem_list(content_of(path), path)
        if not listed:
            raise InputError("no problem in this list", path)
        meant = [case for case in listed if case.direction in (None, direction.id)]
        asked = [case.direction for case in listed if case.direction not in (None, direction.id)]
        runs = {one.id: f"'ckprof run {one.id}' runs it" for one in operations}
        return meant, Counter(f"not for {direction.id}; {runs.get(one, f'unknown {one}')}" for one in asked)
    problems: list[ProblemCase] = []
    skipped: Counter[str] = Counter()
    wrong: list[Diagnostic] = []
    others: list[InputError] = []
    for line in _lines(path):
        try:
            problems.append(parse_problem(line, direction, operations))
        except OtherOperationError as error:
            others.append(error)
        except InputError as error:
            wrong.append(
                Diagnostic(
                    path=error.path or path, message=error.message, line=error.line, column=error.column
                )
            )
    if wrong and not lenient:
        raise ListError(wrong, f"'ckprof problems from-log {path}' finds those of logs, scripts and tables")
    if others:
        skipped[f"not for {direction.id}, the first in {others[0]}"] = len(others)
    skipped.update(map(str, wrong))
    if not problems and not skipped:
        raise InputError("no problem in this file; expected one a line", path)
    return problems, skipped


def _lines(path: Path) -> Iterator[ProblemLine]:
    """Yield the lines that hold a problem, with U+FFFD for what is not UTF-8.

    :raises InputError: the file cannot be read, or does not end.
    """
    with system_errors(InputError, "cannot read", path):
        endless = not path.is_file()
        read = 0
        with path.open(encoding="utf-8", errors="replace") as stream:
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
                # joined files have a byte-order mark each
                text = text.removeprefix("\ufeff").rstrip("\n")
                if text.strip() and not text.lstrip().startswith("#"):
                    yield ProblemLine(text=text, path=path, line=number)


def holds_json(path: Path) -> bool:
    """Say whether a regular file begins like a JSON object; a pipe is not touched."""
    with suppress(OSError):  # to be reported where it is read
        if path.is_file():
            with path.open("rb") as stream:
                return stream.read(256).lstrip().startswith(b"{")
    return False


SCHEMA: Final = "ckprof.problems"

#: raised whenever a field changes its meaning or vanishes
VERSION: Final = 1

#: the form that holds every problem
JSON: Final = "json"


class Remarks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a record of a JSON list says of a problem beside its sizes."""

    name: str = ""
    network: str = ""
    count: int = 1
    direction: str | None = None
    dtype: str | None = None
    layout: str | None = None
    splits: tuple[int, ...] = ()
    unsupported: str = ""


_REMARKS: Final = frozenset(Remarks.__struct_fields__)


class ListRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A whole JSON list."""

    schema: str
    version: int
    problems: tuple[dict[str, Any], ...]
    origin: str = ""


def line_forms(operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the forms in which problems can be written: lines of operations, and JSON."""
    forms = (form for operation in operations for form in operation.line_forms)
    return (*dict.fromkeys(forms), JSON)


def render_problems(
    cases: Sequence[ProblemCase],
    form: str | None,
    operations: Sequence[Operation],
    origin: str = "",
) -> tuple[str, list[tuple[ProblemCase, str]]]:
    """Write problems in one form; return the text, and what the form cannot express with the reasons.

    In the line forms, a comment line in front of each problem gives its name and its count.

    :param form: one of :func:`line_forms`; ``None`` for the usual lines of each operation.
    :param operations: all of them, to look up those of the problems.
    :param origin: where the problems come from; written into the file.
    :raises UsageError: there is no such form.
    """
    if form == JSON:
        return _render_json(cases, origin), []
    forms = line_forms(operations)
    if form is not None and form not in forms:
        raise UsageError(f"unknown form {form!r}: expected one of {', '.join(forms)}")
    lines = [f"# {origin}"] if origin else []
    inexpressible = []
    for case in cases:
        try:
            line = _line(case, form, operations)
        except InputError as exc:
            inexpressible.append((case, exc.message))
            continue
        comment = ", ".join(filter(None, (case.name, f"{case.count} times" if case.count > 1 else "")))
        lines += [f"# {comment}", line] if comment else [line]
    return "".join(f"{line}\n" for line in lines), inexpressible


def line_of(case: ProblemCase, operation: Operation) -> str:
    """Return a line of a problem, in the first form of its operation that can say it; empty if none can."""
    for form in operation.line_forms:
        with suppress(InputError):
            return operation.problem_line(case, form)
    return ""


def _line(case: ProblemCase, form: str | None, operations: Sequence[Operation]) -> str:
    """Return the line of a problem, as the first operation writes it that has such problems.

    :raises InputError: the form cannot say it.
    """
    if case.unsupported:
        raise InputError(f"{case.problem.describe()}: {case.unsupported}; only {JSON} holds it")
    for operation in operations:
        named = case.direction in (None, operation.id)
        if named and isinstance(case.problem, operation.problem_types) and operation.line_forms:
            if form is not None and form not in operation.line_forms:
                forms = ", ".join((*operation.line_forms, JSON))
                raise InputError(f"problems of {operation.id} cannot be written as {form}, only as {forms}")
            return operation.problem_line(case, form or operation.line_forms[0])
    raise InputError(f"{case.problem.describe()}: no loaded plugin writes lines of such problems")


def _render_json(problems: Sequence[ProblemCase], origin: str) -> str:
    rows = ",\n".join(f"    {json.dumps(_record(case))}" for case in problems)
    body = f"[\n{rows}\n  ]" if rows else "[]"
    head = f'  "schema": "{SCHEMA}",\n  "version": {VERSION},\n  "origin": {json.dumps(origin)},\n'
    return f'{{\n{head}  "problems": {body}\n}}\n'


def _record(case: ProblemCase) -> dict[str, object]:
    """Return a problem as plain JSON values; what its source does not say is omitted."""
    said = {name: getattr(case, name) for name in Remarks.__struct_fields__}
    remarks = Remarks(**{**said, "dtype": case.dtype and case.dtype.value})
    return {"count": case.count, **msgspec.to_builtins(remarks), **sizes(case.problem)}


def parse_problem_list(data: bytes, path: Path | str) -> list[ProblemCase]:
    """Read a JSON list of problems.

    :param path: for messages.
    :raises InputError: it is no such list, or a problem is wrong.
    """
    record = decoded(data, path, ListRecord, "a list of problems", SCHEMA, VERSION)
    return [_counted(record_of, index, path) for index, record_of in enumerate(record.problems)]


def _counted(values: dict[str, Any], index: int, path: Path | str) -> ProblemCase:
    with input_errors(msgspec.ValidationError, f"not a list of problems: problem {index}", path):
        remarks = msgspec.convert(values, Remarks)
    where = f"problem {index}" + (f" ({remarks.name})" if remarks.name else "")
    if remarks.count < 1:
        raise InputError(f"{where}: count is {remarks.count}, expected at least 1", path)
    with input_errors((InputError, UsageError), where, path):
        problem = exact_problem({name: value for name, value in values.items() if name not in _REMARKS})
        dtype = DataType.parse(remarks.dtype) if remarks.dtype is not None else None
    return ProblemCase(problem=problem, **(msgspec.structs.asdict(remarks) | {"dtype": dtype}))
