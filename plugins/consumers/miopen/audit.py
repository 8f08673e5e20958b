"""Judges MIOpen's databases row by row; of solvers that call Composable Kernel the kernels as well."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.consumers._old_ck.kernels import AUTOMATIC, SIZES, TOO_LARGE, index_of
from ckprof_plugins.consumers._old_ck.support import demands_of, support
from ckprof_plugins.consumers.audit import read_file
from ckprof_plugins.consumers.miopen.databases import (
    algorithm_of,
    algorithm_parts,
    base_name,
    grouped_solver,
    is_database,
    read_name,
    solvers,
    table_rows,
    text_rows,
)
from ckprof_plugins.consumers.miopen.keys import (
    MiopenKey,
    WrongKeyError,
    parse_find_key,
    parse_perf_key,
    workspace_bytes,
)
from ckprof_plugins.consumers.records import FileAudit, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof_plugins.consumers._old_ck.kernels import Family, KernelIndex, OldKernel
    from ckprof_plugins.consumers.miopen.databases import DatabaseName, GroupedSolver, SolverEntry, TextRow
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
_SPLITS: Final = re.compile(r"-?\d{1,9}")
#: rows of several databases ask the same
_support: Final = lru_cache(maxsize=1 << 14)(support)
#: a finding without its place; without a reason, what could be judged
Remark = tuple[Reason | None, str]


class _Refused(Exception):
    """A finding that ends what is judged of a row or an entry."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.remark = reason, message


def audit(request: AuditRequest) -> FileAudit:
    """Judge a database.

    :raises InputError: the file cannot be read.
    """
    data = read_file(request.path)
    name = read_name(request.path.name)
    is_table = is_database(data[:100])
    is_find = name.is_find
    if is_find is None:
        # the first line has keys of one kind or the other
        is_find = b"-" in data.lstrip(b"\n").partition(b"=")[0][:400]
    is_find = is_find and not is_table
    judge = _DatabaseJudge(request, name, is_find)
    judge.audit.label += f"{_LABELS[is_find, name.is_user]}{' (SQLite)' if is_table else ''}"
    judge.judge_name()
    if is_table:
        judge.judge_table()
    else:
        for row in text_rows(data):
            judge.judge_row(row)
    return judge.audit


class _DatabaseJudge:
    """Judges the rows of one file; each kernel on each problem once."""

    def __init__(self, request: AuditRequest, name: DatabaseName, is_find: bool) -> None:
        self.audit = FileAudit(path=request.path, label="MIOpen ")
        self._request = request
        self._name = name
        self._is_find = is_find
        self._keys: dict[str, int] = {}
        self._index = index_of(request.lists)
        #: of the device that uses the file; empty where it is not known
        self._arch = request.arch or name.arch

    def _find(
        self, reason: Reason | None, message: str, line: int, text: str, entry: int | None = None
    ) -> None:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        self.audit.find(reason, message, line, shown, entry)

    def judge_name(self) -> None:
        """Judge the name of the file."""
        name, request = self._name, self._request
        if name.problem:
            self._find(Reason.WRONG_FILE_NAME, name.problem, 0, request.path.name)
        message = ""
        if request.arch and name.arch and request.arch != name.arch:
            message = f"the file is of {name.arch}, not {request.arch}"
        elif request.compute_units and name.compute_units not in (0, request.compute_units):
            expected = base_name(name.arch, request.compute_units)
            message = f"the file is of {name.compute_units} compute units; the library opens {expected}..."
            message += "" if name.is_user else " if there is one"
        if message:
            self._find(Reason.WRONG_DEVICE, message, 0, request.path.name)

    def judge_row(self, row: TextRow) -> None:
        """Judge a line of a database in text form."""
        entries = [] if row.problem else list(row.entries())
        self.audit.entries += max(len(entries), 1)
        try:
            if row.problem:
                raise _Refused(Reason.MALFORMED_ROW, row.problem)
            first = self._keys.setdefault(row.key, row.line)
            if first != row.line:
                raise _Refused(Reason.DUPLICATE, f"line {first} has this key, and the first line counts")
            try:
                key = (parse_find_key if self._is_find else parse_perf_key)(row.key)
            except WrongKeyError as exc:
                raise _Refused(Reason.MALFORMED_KEY, str(exc)) from None
            _require_hit(key, row.key, self._is_find)
            problem = _problem_of(key)
        except _Refused as refused:
            self._find(*refused.remark, row.line, row.text)
            return
        if not entries:
            self._find(Reason.MALFORMED_ROW, "nothing after the key", row.line, row.text)
        for entry in entries:
            self._judge_entry(row.line, entry, entry.text, key, problem)

    def judge_table(self) -> None:
        """Judge a database in SQLite's format."""
        try:
            for number, key, entry in table_rows(self._request.path):
                self._judge_table_row(number, key, entry)
        except InputError as exc:
            # of a damaged database, what could be read of it has been judged
            self._find(Reason.MALFORMED_ROW, exc.message, 0, self._request.path.name)

    def _judge_table_row(self, number: int, key: MiopenKey | str, entry: SolverEntry) -> None:
        self.audit.entries += 1
        if isinstance(key, str):
            self._find(Reason.MALFORMED_KEY, key, number, entry.text)
            return
        spelled = key.perf_text()
        text = f"{spelled}={entry.text}"
        try:
            first = self._keys.setdefault(f"{spelled}={entry.solver}", number)
            if first != number:
                # of several rows the library keeps the last one that it is given
                raise _Refused(Reason.DUPLICATE, f"row {first} is of this problem and solver as well")
            problem = _problem_of(key)
            _require_hit(key, spelled, False)
        except _Refused as refused:
            self._find(*refused.remark, number, text)
        else:
            self._judge_entry(number, entry, text, key, problem)

    def _judge_entry(
        self, line: int, entry: SolverEntry, text: str, key: MiopenKey, problem: ConvProblem
    ) -> None:
        try:
            for reason, message in self._entry_remarks(entry, key, problem):
                self._find(reason, message, line, text, entry.number)
        except _Refused as refused:
            self._find(*refused.remark, line, text, entry.number)

    def _entry_remarks(self, entry: SolverEntry, key: MiopenKey, problem: ConvProblem) -> Iterator[Remark]:
        if entry.problem:
            reason = Reason.DUPLICATE if "already" in entry.problem else Reason.MALFORMED_VALUE
            raise _Refused(reason, entry.problem)
        solver = grouped_solver(entry.solver)
        if algorithm_of(entry.solver) is None:
            known = entry.solver in solvers()
            gone, none = f"{entry.solver} was removed from the library", f"no solver is called {entry.solver}"
            raise _Refused(Reason.STALE_SOLVER, gone if known else none)
        if solver is not None:
            _require_fitting(solver, key)
        if self._is_find:
            yield from self._find_remarks(entry, solver, key, problem)
        elif solver is None:
            if not entry.values:
                raise _Refused(Reason.MALFORMED_VALUE, f"no parameters of {entry.solver}")
            yield None, "another solver's parameters, which are its own"
        elif solver.unit != "Xdlops":
            yield None, f"no list has kernels of {solver.unit}"
        else:
            yield from self._value_remarks(entry.values, key, problem)

    def _find_remarks(
        self, entry: SolverEntry, solver: GroupedSolver | None, key: MiopenKey, problem: ConvProblem
    ) -> Iterator[Remark]:
        """Yield what is wrong with time, workspace and algorithm."""
        time_ms, workspace = _figures(entry, key)
        if time_ms == 0:
            yield Reason.DOUBTFUL_TIME, "a time of 0 ms is before all others"
        if solver is None:
            yield None, "another solver's time: key, solver and algorithm are in order"
            return
        expected = workspace_bytes(key, problem)
        if expected != workspace:
            message = f"the workspace is {workspace} bytes, the solver asks for {expected}"
            raise _Refused(Reason.WRONG_WORKSPACE, message)
        family = (key.direction, key.ndim, key.dtype)
        if solver.unit != "Xdlops" or family not in self._index.families:
            yield None, f"no list has {key.ndim}D {key.dtype} kernels for {key.direction}"
            return
        unmet = _any_kernel(self._index, family, problem, self._arch)
        yield (Reason.UNSUPPORTED, unmet) if unmet else (None, "a kernel supports the problem")

    def _value_remarks(self, value: str, key: MiopenKey, problem: ConvProblem) -> Iterator[Remark]:
        """Yield what is wrong with parameters ``kernel[+splits]``, and what was judged."""
        name, plus, text = value.rpartition("+")
        if not plus:
            name = value
        if key.letter == "F" and plus:
            message = f"{text!r} after the kernel: forward kernels have no splits"
            raise _Refused(Reason.MALFORMED_VALUE, message)
        if key.letter == "W" and not plus:
            message = "no +SPLITS after the kernel, which weight gradients have"
            raise _Refused(Reason.MALFORMED_VALUE, message)
        if plus and not _SPLITS.fullmatch(text):
            raise _Refused(
                Reason.MALFORMED_VALUE, f"the number of splits is {text[:40]!r}, expected a number"
            )
        splits = int(text) if plus else 1
        family: Family = (key.direction, key.ndim, key.dtype)
        if family not in self._index.families:
            yield None, f"no list has {key.ndim}D {key.dtype} kernels for {key.direction}"
            return
        kernels = self._index.find(family, name)
        if not kernels:
            raise _Refused(Reason.UNKNOWN_KERNEL, self._unknown(name, family))
        if splits == 0 or splits < AUTOMATIC:
            message = f"{splits} splits: expected at least 1, or -1 for an automatic number"
            raise _Refused(Reason.WRONG_SPLIT, message)
        kernel = kernels[0]
        case = _support(kernel, problem, key.dtype, splits, self._arch)
        if case.unmet:
            reason = Reason.WRONG_SPLIT if "split" in case.unmet else Reason.UNSUPPORTED
            raise _Refused(reason, f"{case.unmet} ({kernel.source})")
        if len(kernels) > 1:
            others = ", ".join(other.source for other in kernels[1:3])
            message = f"{len(kernels)} kernels have this name; {kernel.source} runs, not {others}"
            yield Reason.AMBIGUOUS_KERNEL, message
        if splits == AUTOMATIC:
            message = "the number of splits follows from occupancy: another compiler or driver can change it"
            yield Reason.AUTOMATIC_SPLIT, message
        yield None, "kernel supported, as far as its line says" if case.partial else "kernel supported"

    def _unknown(self, name: str, family: Family) -> str:
        shown = name if len(name) <= 100 else f"{name[:100]}..."
        for direction, ndim, dtype in self._index.elsewhere(name)[:1]:
            return f"{shown} is a kernel of {direction} {ndim}D {dtype}, the key is of " + (
                f"{family[0]} {family[1]}D {family[2]}"
            )
        stripped = name.strip()
        if stripped != name and self._index.find(family, stripped):
            return f"{shown!r} has blanks or a carriage return at an end; names are compared exactly"
        spaced = re.sub(r",\s*", ", ", stripped)
        if self._index.find(family, spaced):
            return f"{shown} is spelled otherwise: {spaced}"
        return f"no list has {shown}"


def _require_hit(key: MiopenKey, text: str, is_find: bool) -> None:
    """Refuse a key that no lookup forms."""
    usual = key.find_text() if is_find else key.perf_text()
    type_, rest = divmod(len(key.types), 3)
    never = ""
    if usual != text:
        never = f"the library spells this key {usual}"
    elif key.types and not key.dtype and not rest and key.types[:type_] * 3 == key.types:
        never = f"equal types are written once: {key.types[:type_]}"
    elif key.numbers["bias"]:
        never = f"bias is {key.numbers['bias']}; lookups of convolutions have 0"
    elif 0 in (*key.along("conv_stride"), *key.along("dilation")):
        never = "a stride or dilation is 0"
    elif not all(len(layout.rstrip("c")) == key.ndim + 2 for layout in key.layouts):
        never = f"{'-'.join(key.layouts)} is no layout of {key.ndim}D tensors"
    if never:
        raise _Refused(Reason.NEVER_HIT, never)


def _problem_of(key: MiopenKey) -> ConvProblem:
    try:
        return key.problem()
    except WrongKeyError as exc:
        raise _Refused(Reason.WRONG_PROBLEM, str(exc)) from None


def _require_fitting(solver: GroupedSolver, key: MiopenKey) -> None:
    """Refuse a key that the solver itself has something against."""
    if solver.letter != key.letter:
        message = f"{solver.name} is for direction {solver.letter}, the key is of {key.letter}"
        raise _Refused(Reason.WRONG_SOLVER, message)
    if solver.ndim != key.ndim:
        message = f"{solver.name} is for {solver.ndim}D, the key is of {key.ndim}D"
        raise _Refused(Reason.WRONG_SOLVER, message)
    if not (key.is_channels_first or key.is_channels_last):
        raise _Refused(Reason.UNSUPPORTED, f"{solver.name} knows no layout {'-'.join(key.layouts)}")
    if key.dtype not in SIZES or key.dtype == "fp64" or key.casts:
        raise _Refused(Reason.UNSUPPORTED, f"{solver.name} knows no type {key.types}{key.casts}")


def _figures(entry: SolverEntry, key: MiopenKey) -> tuple[float, int]:
    """Return time and workspace of an entry whose algorithm is what it should be."""
    values = entry.values.split(",")
    if len(values) != 3:
        message = f"expected time, workspace and algorithm, got {entry.values[:80]!r}"
        raise _Refused(Reason.MALFORMED_VALUE, message)
    time, workspace, algorithm = values
    letter, kind = algorithm_parts(algorithm)
    expected = algorithm_of(entry.solver)
    if not letter:
        raise _Refused(Reason.MALFORMED_VALUE, f"{algorithm[:60]!r} is no algorithm")
    if letter != key.letter:
        raise _Refused(Reason.WRONG_SOLVER, f"{algorithm} is not of direction {key.letter}")
    if kind != expected:
        raise _Refused(Reason.WRONG_SOLVER, f"{entry.solver} is an algorithm {expected}, not {kind}")
    try:
        time_ms = float(time)
    except ValueError:
        message = f"the time is {time[:40]!r}, expected milliseconds"
        raise _Refused(Reason.MALFORMED_VALUE, message) from None
    if not (workspace.isascii() and workspace.isdigit()):
        raise _Refused(Reason.MALFORMED_VALUE, f"the workspace is {workspace[:40]!r}, expected bytes")
    if not math.isfinite(time_ms) or time_ms < 0:
        raise _Refused(Reason.WRONG_TIME, f"the time is {time} ms")
    return time_ms, int(workspace)


@lru_cache(maxsize=1 << 14)
def _any_kernel(index: KernelIndex, family: Family, problem: ConvProblem, arch: str) -> str:
    """Return why no kernel of a family supports a problem; empty if one does."""
    least = ""
    for kernel in _by_demand(index, family):
        unmet = support(kernel, problem, family[2], 1, arch).unmet
        if not unmet:
            return ""
        least = least or unmet
        if TOO_LARGE in unmet:
            break
    return f"no kernel supports the problem; the one that demands least: {least}" if least else ""


@lru_cache(maxsize=64)
def _by_demand(index: KernelIndex, family: Family) -> list[OldKernel]:
    """Return a kernel of each kind of demands, those first that demand least: most problems have one."""
    alike = {demands_of(kernel): kernel for kernel in index.all_of(family)}
    return sorted(alike.values(), key=_demand)


def _demand(kernel: OldKernel) -> tuple[bool, bool, int]:
    """Return by what kernels are ordered: specialization, pipeline, widths of all vectors."""
    widths = [
        int(text) for name, text in kernel.values.items() if "ScalarPerVector" in name and text.isdigit()
    ]
    late = kernel.values.get("BlkGemmPipelineVer", "v1") != "v1"
    return kernel.specialization not in ("Default", "OddC"), late, sum(widths)
