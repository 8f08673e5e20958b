"""Lists of counted problems as files: JSON with everything, or one line per problem."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof.model.dtype import DataType
from ckprof.model.problem import ConvProblem, sizes_of
from ckprof.model.problem_types import has_other_type, problem_from
from ckprof.plugin.operations import as_direction
from ckprof.plugin.protocols import LineWriter, OwnProblems
from ckprof.problems.counted import CountedProblem
from ckprof.problems.line_forms import to_miopen, to_positional, to_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.plugin.protocols import Operation

SCHEMA: Final = "ckprof.problems"

#: raised whenever a field changes its meaning or vanishes
VERSION: Final = 1

#: forms in which problems can be written
LineForm = Literal["miopen", "ckprofiler", "json"]
FORMS: Final[tuple[LineForm, ...]] = ("miopen", "ckprofiler", "json")


class Remarks(msgspec.Struct, frozen=True, kw_only=True):
    """What a record of a JSON list says of a problem beside its sizes."""

    name: str = ""
    count: int = 1
    direction: str | None = None
    dtype: str | None = None
    layout: str | None = None
    splits: tuple[int, ...] = ()


class ProblemRecord(Remarks, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One convolution of a JSON list. Channels count those of one group."""

    groups: int
    batch: int
    out_channels: int
    in_channels: int
    filter: tuple[int, ...]
    input: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    left_pads: tuple[int, ...]
    right_pads: tuple[int, ...]


_REMARKS: Final = frozenset(Remarks.__struct_fields__)


class ListRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A whole JSON list."""

    schema: str
    version: int
    problems: tuple[dict[str, Any], ...]
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Problems as text, and those that the form cannot express."""

    text: str
    #: (problem, why)
    inexpressible: tuple[tuple[CountedProblem, str], ...] = ()


def render_problems(
    problems: Sequence[CountedProblem],
    form: str | None,
    operations: Sequence[Operation],
    origin: str = "",
) -> Rendered:
    """Write problems in one form.

    In the line forms, a comment line in front of each problem gives its name and its count.

    :param form: one of :data:`FORMS`; ``None`` for the usual lines of each operation.
    :param operations: all known ones, to look up those of the problems.
    :param origin: where the problems come from; written into the file.
    :raises UsageError: there is no such form.
    """
    if form == "json":
        return Rendered(text=_render_json(problems, origin))
    if form is not None and form not in FORMS:
        raise UsageError(f"unknown form {form!r}: expected one of {', '.join(FORMS)}")
    by_id = {operation.id: operation for operation in operations}
    lines = [f"# {origin}"] if origin else []
    inexpressible = []
    for one in problems:
        try:
            line = _line(one, form, by_id[one.direction] if one.direction else None)
        except InputError as exc:
            inexpressible.append((one, exc.message))
            continue
        comment = ", ".join(filter(None, (one.name, f"{one.count} times" if one.count > 1 else "")))
        lines += [f"# {comment}", line] if comment else [line]
    return Rendered(text="".join(f"{line}\n" for line in lines), inexpressible=tuple(inexpressible))


def _line(one: CountedProblem, form: str | None, operation: Operation | None) -> str:
    """Return the line of a problem.

    :raises InputError: the form cannot say it.
    """
    if form != "miopen" and isinstance(operation, LineWriter):
        return operation.problem_line(one)
    direction = None if operation is None or isinstance(operation, OwnProblems) else as_direction(operation)
    return to_positional(one, direction) if form == "ckprofiler" else to_miopen(one, direction)


def _render_json(problems: Sequence[CountedProblem], origin: str) -> str:
    rows = ",\n".join(f"    {json.dumps(to_record(one))}" for one in problems)
    body = f"[\n{rows}\n  ]" if rows else "[]"
    head = f'  "schema": "{SCHEMA}",\n  "version": {VERSION},\n  "origin": {json.dumps(origin)},\n'
    return f'{{\n{head}  "problems": {body}\n}}\n'


def parse_problem_list(data: bytes, path: Path | str) -> list[CountedProblem]:
    """Read a JSON list of problems.

    :param path: for messages.
    :raises InputError: it is no such list, or a problem is wrong.
    """
    try:
        record = msgspec.json.decode(data, type=ListRecord)
    except msgspec.MsgspecError as exc:
        raise InputError(f"not a list of problems: {exc}", path) from None
    if record.schema != SCHEMA:
        raise InputError(f"the schema is {record.schema!r}, expected {SCHEMA!r}", path)
    if record.version != VERSION:
        raise InputError(f"version {record.version} is not known, expected {VERSION}", path)
    return [_counted(one, index, path) for index, one in enumerate(record.problems)]


def read_any(path: Path, operations: Sequence[Operation]) -> list[CountedProblem]:
    """Read a problem file of any form: a JSON list, problem lines, a script, a table.

    :raises InputError: the file cannot be read, has no problem, or a line is wrong.
    """
    from ckprof.problems.from_log import problems_from_text

    try:
        data = path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    if data.lstrip().startswith(b"{"):
        found = parse_problem_list(data, path)
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            raise InputError(f"not a text file: byte {exc.start} is not valid UTF-8", path) from None
        log = problems_from_text(text, path, operations, bare=True)
        if log.errors:
            raise log.errors[0]
        found = list(log.problems)
    if not found:
        raise InputError("no problem in this file; expected one a line", path)
    return found


def _counted(values: dict[str, Any], index: int, path: Path | str) -> CountedProblem:
    own = has_other_type(values, _REMARKS)
    try:
        record = msgspec.convert(values, Remarks if own else ProblemRecord)
    except msgspec.ValidationError as exc:
        raise InputError(f"not a list of problems: problem {index}: {exc}", path) from None
    where = f"problem {index}" + (f" ({record.name})" if record.name else "")
    if record.count < 1:
        raise InputError(f"{where}: count is {record.count}, expected at least 1", path)
    try:
        problem = problem_from(values) if own else ConvProblem(**sizes_of(record))
        dtype = DataType.parse(record.dtype) if record.dtype is not None else None
    except InputError as exc:
        raise InputError(f"{where}: {exc.message}", path) from None
    except UsageError as exc:
        raise InputError(f"{where}: {exc}", path) from None
    return CountedProblem(
        problem=problem,
        count=record.count,
        name=record.name,
        direction=record.direction,
        dtype=dtype,
        layout=record.layout,
        splits=record.splits,
    )
