"""Judges MIOpen's databases row by row; of solvers that call Composable Kernel the kernels as well."""

from __future__ import annotations

import math
import re
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

    from ckprof_plugins.consumers._old_ck.kernels import Case, Family, OldKernel
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
#: a finding without its place; without a reason, what could be judged
Remark = tuple[Reason | None, str]


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
        self._cases: dict[tuple[int, ConvProblem, str, int], Case] = {}
        self._any: dict[tuple[Family, ConvProblem], str] = {}
        self._ordered: dict[Family, list[OldKernel]] = {}

    def _find(self, reason: Reason, message: str, line: int, text: str, entry: int | None = None) -> None:
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
        key = self._key_of(row)
        if not isinstance(key, MiopenKey):
            self._find(*key, row.line, row.text)
            return
        if not entries:
            self._find(Reason.MALFORMED_ROW, "nothing after the key", row.line, row.text)
        problem = key.problem()
        for entry in entries:
            self._judge_entry(row.line, entry, entry.text, key, problem)

    def _key_of(self, row: TextRow) -> MiopenKey | tuple[Reason, str]:
        """Return the key of a row, or why its entries are not looked at."""
        if row.problem:
            return Reason.MALFORMED_ROW, row.problem
        first = self._keys.setdefault(row.key, row.line)
        if first != row.line:
            return Reason.DUPLICATE, f"line {first} has this key, and the first line counts"
        try:
            key = (parse_find_key if self._is_find else parse_perf_key)(row.key)
        except WrongKeyError as exc:
            return Reason.MALFORMED_KEY, str(exc)
        never = _never_hit(key, row.key, self._is_find)
        return (Reason.NEVER_HIT, never) if never else _problem_remark(key) or key

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
        first = self._keys.setdefault(f"{spelled}={entry.solver}", number)
        if first != number:
            # of several rows the library keeps the last one that it is given
            message = f"row {first} is of this problem and solver as well"
            self._find(Reason.DUPLICATE, message, number, text)
            return
        never = _never_hit(key, spelled, False)
        wrong = _problem_remark(key) or (never and (Reason.NEVER_HIT, never))
        if wrong:
            self._find(*wrong, number, text)
        else:
            self._judge_entry(number, entry, text, key, key.problem())

    def _judge_entry(
        self, line: int, entry: SolverEntry, text: str, key: MiopenKey, problem: ConvProblem
    ) -> None:
        for reason, message in self._entry_remarks(entry, key, problem):
            if reason is None:
                self.audit.judged[message] += 1
            else:
                self._find(reason, message, line, text, entry.number)

    def _entry_remarks(self, entry: SolverEntry, key: MiopenKey, problem: ConvProblem) -> Iterator[Remark]:
        if entry.problem:
            reason = Reason.DUPLICATE if "already" in entry.problem else Reason.MALFORMED_VALUE
            yield reason, entry.problem
            return
        solver = grouped_solver(entry.solver)
        if algorithm_of(entry.solver) is None:
            known = entry.solver in solvers()
            yield (
                Reason.STALE_SOLVER,
                f"{entry.solver} was removed from the library"
                if known
                else f"no solver is called {entry.solver}",
            )
            return
        wrong = solver and _solver_problem(solver, key)
        if wrong:
            yield wrong
        elif self._is_find:
            yield from self._find_remarks(entry, solver, key, problem)
        elif solver is None:
            if entry.values:
                yield None, "another solver's parameters, which are its own"
            else:
                yield Reason.MALFORMED_VALUE, f"no parameters of {entry.solver}"
        elif solver.unit != "Xdlops":
            yield None, f"no list has kernels of {solver.unit}"
        else:
            yield from self._value_remarks(entry.values, key, problem)

    def _find_remarks(
        self, entry: SolverEntry, solver: GroupedSolver | None, key: MiopenKey, problem: ConvProblem
    ) -> Iterator[Remark]:
        """Yield what is wrong with time, workspace and algorithm."""
        wrong = _figures_problem(entry, key)
        if wrong:
            yield wrong
            return
        time, workspace, _ = entry.values.split(",")
        if float(time) == 0:
            yield Reason.DOUBTFUL_TIME, "a time of 0 ms is before all others"
        if solver is None:
            yield None, "another solver's time: key, solver and algorithm are in order"
            return
        expected = workspace_bytes(key, problem)
        if expected != int(workspace):
            yield (
                Reason.WRONG_WORKSPACE,
                f"the workspace is {int(workspace)} bytes, the solver asks for {expected}",
            )
            return
        family = (key.direction, key.ndim, key.dtype)
        if solver.unit != "Xdlops" or family not in self._index.families:
            yield None, f"no list has {key.ndim}D {key.dtype} kernels for {key.direction}"
            return
        unmet = self._any_kernel(family, problem)
        yield (Reason.UNSUPPORTED, unmet) if unmet else (None, "a kernel supports the problem")

    def _any_kernel(self, family: Family, problem: ConvProblem) -> str:
        """Return why no kernel of a family supports a problem; empty if one does."""
        place = (family, problem)
        if place not in self._any:
            least = unmet = ""
            for kernel in self._by_demand(family):
                unmet = support(kernel, problem, family[2], 1, self._arch).unmet
                least = least or unmet
                if not unmet or TOO_LARGE in unmet:
                    break
            message = f"no kernel supports the problem; the one that demands least: {least}"
            self._any[place] = message if unmet else ""
        return self._any[place]

    def _by_demand(self, family: Family) -> list[OldKernel]:
        """Return a kernel of each kind of demands, those first that demand least: most problems have one."""
        if family not in self._ordered:
            alike = {demands_of(kernel): kernel for kernel in self._index.all_of(family)}
            self._ordered[family] = sorted(alike.values(), key=_demand)
        return self._ordered[family]

    def _value_remarks(self, value: str, key: MiopenKey, problem: ConvProblem) -> Iterator[Remark]:
        """Yield what is wrong with parameters ``kernel[+splits]``, and what was judged."""
        name, plus, text = value.rpartition("+")
        if not plus:
            name = value
        wrong = _split_problem(plus, text, key.letter)
        if wrong:
            yield Reason.MALFORMED_VALUE, wrong
            return
        splits = int(text) if plus else 1
        family: Family = (key.direction, key.ndim, key.dtype)
        if family not in self._index.families:
            yield None, f"no list has {key.ndim}D {key.dtype} kernels for {key.direction}"
            return
        kernels = self._index.find(family, name)
        if not kernels:
            yield Reason.UNKNOWN_KERNEL, self._unknown(name, family)
            return
        if splits == 0 or splits < AUTOMATIC:
            yield Reason.WRONG_SPLIT, f"{splits} splits: expected at least 1, or -1 for an automatic number"
            return
        kernel = kernels[0]
        place = (id(kernel), problem, key.dtype, splits)
        if place not in self._cases:
            self._cases[place] = support(kernel, problem, key.dtype, splits, self._arch)
        case = self._cases[place]
        if case.unmet:
            reason = Reason.WRONG_SPLIT if "split" in case.unmet else Reason.UNSUPPORTED
            yield reason, f"{case.unmet} ({kernel.source})"
            return
        if len(kernels) > 1:
            others = ", ".join(other.source for other in kernels[1:3])
            yield (
                Reason.AMBIGUOUS_KERNEL,
                f"{len(kernels)} kernels have this name; {kernel.source} runs, not {others}",
            )
        if splits == AUTOMATIC:
            yield (
                Reason.AUTOMATIC_SPLIT,
                "the number of splits follows from occupancy: another compiler or driver can change it",
            )
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


def _never_hit(key: MiopenKey, text: str, is_find: bool) -> str:
    """Return why no lookup forms a key; empty if one does."""
    usual = key.find_text() if is_find else key.perf_text()
    if usual != text:
        return f"the library spells this key {usual}"
    if key.types and not key.dtype:
        pieces = [key.types[: len(key.types) // 3]] * 3
        if len(key.types) % 3 == 0 and "".join(pieces) == key.types:
            return f"equal types are written once: {pieces[0]}"
    if key.numbers["bias"]:
        return f"bias is {key.numbers['bias']}; lookups of convolutions have 0"
    if 0 in (*key.along("conv_stride"), *key.along("dilation")):
        return "a stride or dilation is 0"
    if not all(len(layout.rstrip("c")) == key.ndim + 2 for layout in key.layouts):
        return f"{'-'.join(key.layouts)} is no layout of {key.ndim}D tensors"
    return ""


def _problem_remark(key: MiopenKey) -> tuple[Reason, str] | None:
    try:
        key.problem()
    except WrongKeyError as exc:
        return Reason.WRONG_PROBLEM, str(exc)
    return None


def _solver_problem(solver: GroupedSolver, key: MiopenKey) -> Remark | None:
    """Return what the solver itself has against a key."""
    if solver.letter != key.letter:
        message = f"{solver.name} is for direction {solver.letter}, the key is of {key.letter}"
        return Reason.WRONG_SOLVER, message
    if solver.ndim != key.ndim:
        return Reason.WRONG_SOLVER, f"{solver.name} is for {solver.ndim}D, the key is of {key.ndim}D"
    if not (key.is_channels_first or key.is_channels_last):
        return Reason.UNSUPPORTED, f"{solver.name} knows no layout {'-'.join(key.layouts)}"
    if key.dtype not in SIZES or key.dtype == "fp64" or key.casts:
        return Reason.UNSUPPORTED, f"{solver.name} knows no type {key.types}{key.casts}"
    return None


def _figures_problem(entry: SolverEntry, key: MiopenKey) -> Remark | None:
    """Return why time, workspace or algorithm of an entry cannot be what they should."""
    values = entry.values.split(",")
    if len(values) != 3:
        message = f"expected time, workspace and algorithm, got {entry.values[:80]!r}"
        return Reason.MALFORMED_VALUE, message
    time, workspace, algorithm = values
    letter, kind = algorithm_parts(algorithm)
    expected = algorithm_of(entry.solver)
    if not letter:
        return Reason.MALFORMED_VALUE, f"{algorithm[:60]!r} is no algorithm"
    if letter != key.letter:
        return Reason.WRONG_SOLVER, f"{algorithm} is not of direction {key.letter}"
    if kind != expected:
        return Reason.WRONG_SOLVER, f"{entry.solver} is an algorithm {expected}, not {kind}"
    try:
        time_ms = float(time)
    except ValueError:
        return Reason.MALFORMED_VALUE, f"the time is {time[:40]!r}, expected milliseconds"
    if not (workspace.isascii() and workspace.isdigit()):
        return Reason.MALFORMED_VALUE, f"the workspace is {workspace[:40]!r}, expected bytes"
    if not math.isfinite(time_ms) or time_ms < 0:
        return Reason.WRONG_TIME, f"the time is {time} ms"
    return None


def _split_problem(plus: str, text: str, letter: str) -> str:
    """Return what is wrong with the splits after a kernel's name."""
    if letter == "F" and plus:
        return f"{text!r} after the kernel: forward kernels have no splits"
    if letter == "W" and not plus:
        return "no +SPLITS after the kernel, which weight gradients have"
    if plus and not _SPLITS.fullmatch(text):
        return f"the number of splits is {text[:40]!r}, expected a number"
    return ""


def _demand(kernel: OldKernel) -> tuple[bool, bool, int]:
    """Return by what kernels are ordered: specialization, pipeline, widths of all vectors."""
    widths = [
        int(text) for name, text in kernel.values.items() if "ScalarPerVector" in name and text.isdigit()
    ]
    late = kernel.values.get("BlkGemmPipelineVer", "v1") != "v1"
    return kernel.specialization not in ("Default", "OddC"), late, sum(widths)
