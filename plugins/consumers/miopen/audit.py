"""Judges MIOpen's databases row by row."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.consumers._old_ck.kernels import index_of
from ckprof_plugins.consumers.miopen.databases import (
    SolverEntry,
    algorithm_of,
    algorithm_parts,
    base_name,
    grouped_solver,
    is_database,
    read_bytes,
    read_name,
    table,
    table_rows,
    text_rows,
)
from ckprof_plugins.consumers.miopen.kernel_check import KernelCheck, workspace_bytes
from ckprof_plugins.consumers.miopen.keys import WrongKeyError, parse_find_key, parse_perf_key
from ckprof_plugins.consumers.records import AuditFinding, FileAudit, Reason

if TYPE_CHECKING:
    from ckprof_plugins.consumers.miopen.databases import DatabaseName, GroupedSolver, TextRow
    from ckprof_plugins.consumers.miopen.keys import MiopenKey
    from ckprof_plugins.consumers.records import AuditRequest
    from ckprof_plugins.directions._convolution.problem import ConvProblem

#: characters of a row that reports show
_SHOWN: Final = 160
_LABELS: Final = {
    (True, False): "find-db of the system",
    (True, True): "find-db of a user",
    (False, False): "performance database of the system",
    (False, True): "performance database of a user",
}


@dataclass(slots=True)
class _DatabaseAudit:
    """A file while it is judged."""

    request: AuditRequest
    name: DatabaseName
    check: KernelCheck
    is_find: bool
    findings: list[AuditFinding] = field(default_factory=list)
    judged: Counter[str] = field(default_factory=Counter)
    entries: int = 0
    keys: dict[str, int] = field(default_factory=dict)

    def find(self, reason: Reason, message: str, line: int, entry: int | None, text: str) -> None:
        """Note a finding."""
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        self.findings.append(AuditFinding(reason=reason, message=message, line=line, entry=entry, text=shown))


def audit(request: AuditRequest) -> FileAudit:
    """Judge a database.

    :raises InputError: the file cannot be read.
    """
    data = read_bytes(request.path)
    name = read_name(request.path.name)
    is_table = is_database(data[:100])
    is_find = not is_table and (name.is_find if name.is_find is not None else _has_find_keys(data))
    check = KernelCheck.of(index_of(request.lists), request.arch or name.arch)
    judging = _DatabaseAudit(request, name, check, is_find)
    _judge_name(judging)
    if is_table:
        _judge_table(judging)
    else:
        for row in text_rows(data):
            _judge_row(judging, row)
    label = _LABELS[is_find, name.is_user]
    return FileAudit(
        path=request.path,
        label=f"MIOpen {label}" + (" (SQLite)" if is_table else ""),
        entries=judging.entries,
        judged=dict(judging.judged.most_common()),
        findings=tuple(judging.findings),
    )


def _has_find_keys(data: bytes) -> bool:
    """Say which kind of keys the first line has, where the name of the file does not say it."""
    return b"-" in data.lstrip(b"\n").partition(b"=")[0][:400]


def _judge_name(judging: _DatabaseAudit) -> None:
    name, request = judging.name, judging.request
    if name.problem:
        judging.find(Reason.WRONG_FILE_NAME, name.problem, 0, None, request.path.name)
    if request.arch and name.arch and request.arch != name.arch:
        judging.find(
            Reason.WRONG_DEVICE, f"the file is of {name.arch}, not {request.arch}", 0, None, request.path.name
        )
    elif request.compute_units and name.compute_units not in (0, request.compute_units):
        expected = base_name(name.arch, request.compute_units)
        judging.find(
            Reason.WRONG_DEVICE,
            f"the file is of {name.compute_units} compute units; the library opens {expected}..."
            + ("" if name.is_user else " if there is one"),
            0,
            None,
            request.path.name,
        )


def _judge_row(judging: _DatabaseAudit, row: TextRow) -> None:
    if row.problem:
        judging.entries += 1
        judging.find(Reason.MALFORMED_ROW, row.problem, row.line, None, row.text)
        return
    first = judging.keys.setdefault(row.key, row.line)
    entries = list(row.entries())
    judging.entries += max(len(entries), 1)
    if first != row.line:
        message = f"line {first} has this key, and the first line counts"
        judging.find(Reason.DUPLICATE, message, row.line, None, row.text)
        return
    parse = parse_find_key if judging.is_find else parse_perf_key
    try:
        key = parse(row.key)
    except WrongKeyError as exc:
        judging.find(Reason.MALFORMED_KEY, str(exc), row.line, None, row.text)
        return
    never = _never_hit(key, row.key, judging.is_find)
    if never:
        judging.find(Reason.NEVER_HIT, never, row.line, None, row.text)
        return
    try:
        problem = key.problem()
    except WrongKeyError as exc:
        judging.find(Reason.WRONG_PROBLEM, str(exc), row.line, None, row.text)
        return
    if not entries:
        judging.find(Reason.MALFORMED_ROW, "nothing after the key", row.line, None, row.text)
    for entry in entries:
        _judge_entry(judging, row.line, entry, key, problem)


def _never_hit(key: MiopenKey, text: str, is_find: bool) -> str:
    """Return why no lookup forms a key; empty if one does."""
    usual = key.find_text() if is_find else key.perf_text()
    if usual != text:
        return f"the library spells this key {usual}"
    if key.types and not key.dtype:
        pieces = [key.types[: len(key.types) // 3]] * 3
        if len(key.types) % 3 == 0 and "".join(pieces) == key.types:
            return f"equal types are written once: {pieces[0]}"
    if key.bias:
        return f"bias is {key.bias}; lookups of convolutions have 0"
    if 0 in (*key.strides, *key.dilations):
        return "a stride or dilation is 0"
    if not all(len(layout.rstrip("c")) == key.ndim + 2 for layout in key.layouts):
        return f"{'-'.join(key.layouts)} is no layout of {key.ndim}D tensors"
    return ""


def _judge_entry(
    judging: _DatabaseAudit, line: int, entry: SolverEntry, key: MiopenKey, problem: ConvProblem
) -> None:
    if entry.problem:
        reason = Reason.DUPLICATE if "already" in entry.problem else Reason.MALFORMED_VALUE
        judging.find(reason, entry.problem, line, entry.number, entry.text)
        return
    solver = grouped_solver(entry.solver)
    if solver is None and algorithm_of(entry.solver) is None:
        gone = entry.solver in table().removed
        message = (
            f"{entry.solver} was removed from the library" if gone else f"no solver is called {entry.solver}"
        )
        judging.find(Reason.STALE_SOLVER, message, line, entry.number, entry.text)
        return
    remarks = list(judging.check.solver_remarks(solver, key)) if solver is not None else []
    if not remarks:
        remarks = (
            _find_remarks(judging, entry, solver, key, problem)
            if judging.is_find
            else _perf_remarks(judging, entry, solver, key, problem)
        )
    for reason, message in remarks:
        judging.find(reason, message, line, entry.number, entry.text)


def _find_remarks(
    judging: _DatabaseAudit,
    entry: SolverEntry,
    solver: GroupedSolver | None,
    key: MiopenKey,
    problem: ConvProblem,
) -> list[tuple[Reason, str]]:
    """Return what is wrong with time, workspace and algorithm."""
    values = entry.values.split(",")
    if len(values) != 3:
        return [
            (Reason.MALFORMED_VALUE, f"expected time, workspace and algorithm, got {entry.values[:80]!r}")
        ]
    time, workspace, algorithm = values
    letter, kind = algorithm_parts(algorithm)
    if not letter:
        return [(Reason.MALFORMED_VALUE, f"{algorithm[:60]!r} is no algorithm")]
    if letter != key.letter:
        return [(Reason.WRONG_SOLVER, f"{algorithm} is not of direction {key.letter}")]
    if kind != algorithm_of(entry.solver):
        return [
            (Reason.WRONG_SOLVER, f"{entry.solver} is an algorithm {algorithm_of(entry.solver)}, not {kind}")
        ]
    try:
        time_ms = float(time)
    except ValueError:
        return [(Reason.MALFORMED_VALUE, f"the time is {time[:40]!r}, expected milliseconds")]
    if not (workspace.isascii() and workspace.isdigit()):
        return [(Reason.MALFORMED_VALUE, f"the workspace is {workspace[:40]!r}, expected bytes")]
    if not math.isfinite(time_ms) or time_ms < 0:
        return [(Reason.WRONG_TIME, f"the time is {time} ms")]
    remarks: list[tuple[Reason, str]] = []
    if time_ms == 0:
        remarks.append((Reason.DOUBTFUL_TIME, "a time of 0 ms is before all others"))
    if solver is None:
        judging.judged["another solver's time: key, solver and algorithm are in order"] += 1
        return remarks
    return remarks + _grouped_remarks(judging, solver, key, problem, int(workspace))


def _grouped_remarks(
    judging: _DatabaseAudit, solver: GroupedSolver, key: MiopenKey, problem: ConvProblem, workspace: int
) -> list[tuple[Reason, str]]:
    expected = workspace_bytes(key, problem)
    if expected != workspace:
        return [
            (Reason.WRONG_WORKSPACE, f"the workspace is {workspace} bytes, the solver asks for {expected}")
        ]
    family = (key.direction, key.ndim, key.dtype)
    if solver.unit != "Xdlops" or not judging.check.index.has(family):
        judging.judged[f"no list has {key.ndim}D {key.dtype} kernels for {key.direction}"] += 1
        return []
    unmet = judging.check.any_kernel(family, problem)
    if unmet:
        return [(Reason.UNSUPPORTED, unmet)]
    judging.judged["a kernel supports the problem"] += 1
    return []


def _perf_remarks(
    judging: _DatabaseAudit,
    entry: SolverEntry,
    solver: GroupedSolver | None,
    key: MiopenKey,
    problem: ConvProblem,
) -> list[tuple[Reason, str]]:
    if solver is None:
        if not entry.values:
            return [(Reason.MALFORMED_VALUE, f"no parameters of {entry.solver}")]
        judging.judged["another solver's parameters, which are its own"] += 1
        return []
    if solver.unit != "Xdlops":
        judging.judged[f"no list has kernels of {solver.unit}"] += 1
        return []
    remarks: list[tuple[Reason, str]] = []
    for reason, message in judging.check.value_remarks(entry.values, key, problem):
        if reason is None:
            judging.judged[message] += 1
        else:
            remarks.append((reason, message))
    return remarks


def _judge_table(judging: _DatabaseAudit) -> None:
    try:
        _judge_table_rows(judging)
    except InputError as exc:
        # of a damaged database, what could be read of it has been judged
        judging.find(Reason.MALFORMED_ROW, exc.message, 0, None, judging.request.path.name)


def _judge_table_rows(judging: _DatabaseAudit) -> None:
    seen: dict[tuple[str, str], int] = {}
    for row in table_rows(judging.request.path):
        judging.entries += 1
        text = f"{row.solver}:{row.values}"
        if row.key is None:
            judging.find(Reason.MALFORMED_KEY, row.problem, row.number, None, text)
            continue
        key = row.key.perf_text()
        first = seen.setdefault((key, row.solver), row.number)
        if first != row.number:
            # of several rows the library keeps the last one that it is given
            message = f"row {first} is of this problem and solver as well"
            judging.find(Reason.DUPLICATE, message, row.number, None, f"{key}={text}")
            continue
        try:
            never = _never_hit(row.key, key, False)
            problem = row.key.problem()
        except WrongKeyError as exc:
            judging.find(Reason.WRONG_PROBLEM, str(exc), row.number, None, f"{key}={text}")
            continue
        if never:
            judging.find(Reason.NEVER_HIT, never, row.number, None, f"{key}={text}")
            continue
        entry = SolverEntry(0, f"{key}={text}", row.solver, row.values)
        _judge_entry(judging, row.number, entry, row.key, problem)
