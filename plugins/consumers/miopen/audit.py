"""Judges MIOpen's databases row by row; of solvers that call Composable Kernel the kernels as well."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.consumers._old_ck.kernels import AUTOMATIC, SIZES, index_of
from ckprof_plugins.consumers._old_ck.support import support, why_none, wrong_elements
from ckprof_plugins.consumers.audit import CLEAN_SUFFIX, digest_of
from ckprof_plugins.consumers.lost_digits import lost_digits
from ckprof_plugins.consumers.miopen.databases import (
    SolverEntry,
    base_name,
    is_database,
    parse_version,
    read_database,
    read_name,
    text_rows,
    unpacked_file,
)
from ckprof_plugins.consumers.miopen.keys import (
    MiopenKey,
    WrongKeyError,
    parse_find_key,
    parse_perf_key,
    workspace_bytes,
)
from ckprof_plugins.consumers.miopen.refusals import (
    Refused,
    figures,
    problem_of,
    require_fitting,
    require_hit,
)
from ckprof_plugins.consumers.miopen.solvers import (
    GATE_BYTES,
    KERNELS_UNTIL,
    algorithm_of,
    grouped_solver,
    is_gated,
    is_of_2026,
    large_tensor,
    month_of,
    solver_fault,
)
from ckprof_plugins.consumers.miopen.tables import TableRows, snapshot
from ckprof_plugins.consumers.records import FileAudit, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckprof_plugins.consumers._old_ck.kernels import Family, OldKernel
    from ckprof_plugins.consumers.miopen.databases import DatabaseName, TextRow
    from ckprof_plugins.consumers.miopen.solvers import GroupedSolver
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
#: devices whose kernels use WMMA instructions, whatever the name of the solver says
_RDNA: Final = ("gfx11", "gfx12")
#: kernels that refuse splits there
_ONE_SPLIT: Final = re.compile(r"DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffleV3\b")
#: template parameters with the type of the result of gradients
_RESULT: Final = ("WeiDataType", "EDataType")
#: rows of several databases ask the same
_support: Final = lru_cache(maxsize=1 << 14)(support)
#: a finding without its place; without a reason, what could be judged
Remark = tuple[Reason | None, str]


def audit(request: AuditRequest) -> FileAudit:
    """Judge a database.

    :raises InputError: the file cannot be read, or the version of the library is no version and no month.
    """
    if request.version and not (month_of(request.version) or parse_version(request.version)):
        raise InputError(
            f"--program-version {request.version!r} is not a version of MIOpen, e.g. 3.2.0.5f2ae8c, and no "
            "month, e.g. 2026-09",
            request.path,
        )
    data = read_database(request.path)
    name = read_name(request.path.name.removesuffix(CLEAN_SUFFIX))
    is_table = is_database(data[:100])
    is_find = name.is_find
    if is_find is None:
        # the first line has keys of one kind or the other
        is_find = b"-" in data.lstrip(b"\n").partition(b"=")[0][:400]
    is_find = is_find and not is_table
    judge = _DatabaseJudge(request, name, is_find, is_new=is_of_2026(data))
    judge.audit.label += f"{_LABELS[is_find, name.is_user]}{' (SQLite)' if is_table else ''}"
    judge.judge_name()
    if is_table:
        with unpacked_file(request.path, data) as plain:
            judge.judge_table(plain)
    else:
        judge.audit.digest = digest_of(data)
        for row in text_rows(data):
            judge.judge_row(row)
    return judge.audit


class _DatabaseJudge:
    """Judges the rows of one file; each kernel on each problem once."""

    def __init__(self, request: AuditRequest, name: DatabaseName, is_find: bool, *, is_new: bool) -> None:
        self.audit = FileAudit(path=request.path, label="MIOpen ")
        self._request = request
        self._name = name
        self._is_find = is_find
        #: keys, of SQLite with the solver -> the row that counts
        self._keys: dict[str, int] = {}
        #: keys -> the row that counts in a library that has other solvers than those that are known
        self._doubtful: dict[str, int] = {}
        self._index = index_of(request.lists)
        #: of the device that uses the file; empty where it is not known
        self._arch = request.arch or name.arch
        #: latest month of the library; empty where it is not known
        self._month = month_of(request.version or name.version)
        #: true where the database has what no library before 2026 has
        self._is_new = is_new
        #: true where the library may have other kernels than the lists
        self._has_newer_kernels = not request.complete and (
            self._month > KERNELS_UNTIL if self._month else is_new
        )

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
        """Judge a line of a database in text form.

        Of lines with one key, and of entries of one solver in a line, the first counts that stays.
        """
        entries = [] if row.problem else list(row.entries())
        self.audit.entries += max(len(entries), 1)
        try:
            if row.problem:
                raise Refused(Reason.MALFORMED_ROW, row.problem)
            first = self._keys.get(row.key)
            if first is not None:
                raise Refused(Reason.DUPLICATE, f"line {first} has this key, and the first line counts")
            try:
                key = (parse_find_key if self._is_find else parse_perf_key)(row.key)
            except WrongKeyError as exc:
                raise Refused(Reason.MALFORMED_KEY, str(exc)) from None
            require_hit(key, row.key, self._is_find)
            problem = problem_of(key)
        except Refused as refused:
            self._find(*refused.remark, row.line, row.text)
            return
        if not entries:
            self._find(Reason.MALFORMED_ROW, "nothing after the key", row.line, row.text)
        if row.key in self._doubtful:
            message = (
                f"line {self._doubtful[row.key]} has this key, and counts if the library has its solvers"
            )
            self._find(Reason.OTHER_VERSION, message, row.line, row.text)
        kept: set[str] = set()
        for entry in entries:
            if entry.solver in kept:
                message = f"the solver {entry.solver} stands in this row already; the first entry counts"
                self._find(Reason.DUPLICATE, message, row.line, entry.text, entry.number)
            elif self._judge_entry(row.line, entry, entry.text, key, problem):
                kept.add(entry.solver)
        if any(algorithm_of(solver) is not None for solver in kept):
            self._keys[row.key] = row.line
        elif kept:
            self._doubtful.setdefault(row.key, row.line)

    def judge_table(self, path: Path) -> None:
        """Judge a database in SQLite's format.

        :param path: of its unpacked content.
        """
        audit, name = self.audit, self._request.path.name
        try:
            with snapshot(path) as copy:
                rows = TableRows(path, copy)
                audit.digest = rows.digest
                if rows.refused:
                    self._find(Reason.MALFORMED_ROW, rows.refused, 0, name)
                    return
                for number, trigger in enumerate(rows.triggers):
                    message = f"trigger {trigger}: the library makes none; a clean file is without it"
                    self._find(Reason.MALFORMED_ROW, message, 0, name, number)
                for number, odd, key, solver, values in rows:
                    entry = SolverEntry(0, f"{solver}:{values}", solver, values)
                    if odd:
                        self._find(Reason.UNUSABLE_ID, odd, number, entry.text)
                    self._judge_table_row(number, key, entry)
        except InputError as exc:
            # of a damaged database, what could be read of it has been judged
            self._find(Reason.MALFORMED_ROW, exc.message, 0, name)
        # the last rows were judged first
        audit.findings.sort(key=lambda finding: finding.line)

    def _judge_table_row(self, number: int, key: MiopenKey | str, entry: SolverEntry) -> None:
        self.audit.entries += 1
        if not isinstance(key, MiopenKey):
            if key:
                self._find(Reason.MALFORMED_KEY, key, number, entry.text)
            return
        spelled = key.perf_text()
        text = f"{spelled}={entry.text}"
        name = f"{spelled}={entry.solver}"
        try:
            later = self._keys.get(name)
            if later is not None:
                # of several rows the library keeps the last one that it is given
                message = f"row {later} is of this problem and solver as well, and the last row counts"
                raise Refused(Reason.DUPLICATE, message)
            problem = problem_of(key)
            require_hit(key, spelled, False)
        except Refused as refused:
            self._find(*refused.remark, number, text)
        else:
            if self._judge_entry(number, entry, text, key, problem):
                self._keys[name] = number

    def _judge_entry(
        self, line: int, entry: SolverEntry, text: str, key: MiopenKey, problem: ConvProblem
    ) -> bool:
        """Add what is found of an entry; say whether it stays in a clean file."""
        known = len(self.audit.findings)
        try:
            for reason, message in self._entry_remarks(entry, key, problem):
                self._find(reason, message, line, text, entry.number)
        except Refused as refused:
            self._find(*refused.remark, line, text, entry.number)
        return not any(finding.removable for finding in self.audit.findings[known:])

    def _entry_remarks(self, entry: SolverEntry, key: MiopenKey, problem: ConvProblem) -> Iterator[Remark]:
        if entry.problem:
            raise Refused(Reason.MALFORMED_VALUE, entry.problem)
        is_certain, fault = solver_fault(entry.solver, self._month, self._is_new)
        if is_certain:
            raise Refused(Reason.STALE_SOLVER, fault)
        if fault:
            yield Reason.OTHER_VERSION, fault
            if algorithm_of(entry.solver) is None:
                return
        solver = grouped_solver(entry.solver)
        if solver is not None:
            require_fitting(solver, key)
        gate = self._gate(entry, key, problem)
        if gate:
            yield Reason.OTHER_VERSION, gate
        if self._is_find:
            yield from self._find_remarks(entry, solver, key, problem)
        elif solver is None:
            if not entry.values:
                raise Refused(Reason.MALFORMED_VALUE, f"no parameters of {entry.solver}")
            yield None, "another solver's parameters, which are its own"
        else:
            yield from self._value_remarks(entry.values, solver, key, problem)

    def _gate(self, entry: SolverEntry, key: MiopenKey, problem: ConvProblem) -> str:
        """Return why versions of 2026 do not run a kernel on a problem, where the version is not known.

        :raises Refused: the version is known.
        """
        kernel = "Large_Tensor" if self._is_find and grouped_solver(entry.solver) else entry.values
        month = self._month or (GATE_BYTES if self._is_new else "")
        if not month or key.dtype not in SIZES or not is_gated(entry.solver, kernel):
            return ""
        why = large_tensor(problem, key.letter, SIZES[key.dtype], month)
        if why and self._month:
            raise Refused(Reason.UNSUPPORTED, f"{why}: the library of {month} runs kernels for large tensors")
        return why and f"{why}: versions from {month} on run kernels for large tensors"

    def _find_remarks(
        self, entry: SolverEntry, solver: GroupedSolver | None, key: MiopenKey, problem: ConvProblem
    ) -> Iterator[Remark]:
        """Yield what is wrong with time, workspace and algorithm."""
        time_ms, workspace = figures(entry, key)
        if time_ms == 0:
            yield Reason.DOUBTFUL_TIME, "a time of 0 ms is before all others"
        if solver is None:
            yield None, "another solver's time: key, solver and algorithm are in order"
            return
        unlisted = self._unlisted(solver.unit, key)
        if unlisted and self._arch.startswith(_RDNA):
            yield None, unlisted
            return
        expected = workspace_bytes(key, problem)
        if expected != workspace:
            message = f"the workspace is {workspace} bytes, the solver asks for {expected}"
            if not self._has_newer_kernels:
                raise Refused(Reason.WRONG_WORKSPACE, message)
            yield Reason.OTHER_VERSION, f"{message} in versions up to {KERNELS_UNTIL}"
        if unlisted:
            yield None, unlisted
            return
        is_large = bool(large_tensor(problem, key.letter, SIZES[key.dtype], self._month))
        unmet = why_none(self._index, (key.direction, key.ndim, key.dtype), problem, self._arch, is_large)
        if not unmet:
            yield None, "a kernel supports the problem"
        else:
            yield Reason.OTHER_VERSION if self._has_newer_kernels else Reason.UNSUPPORTED, unmet

    def _unlisted(self, kernel: str, key: MiopenKey) -> str:
        """Return why no list has kernels of a kind for a key; empty if one has."""
        if "Wmma" in kernel or self._arch.startswith(_RDNA):
            return "no list has kernels of WMMA instructions"
        if key.is_tf32:
            return "no list has kernels that compute FP32 as TF32"
        if (key.direction, key.ndim, key.dtype) not in self._index.families:
            return f"no list has {key.ndim}D {key.dtype} kernels for {key.direction}"
        return ""

    def _value_remarks(
        self, value: str, solver: GroupedSolver, key: MiopenKey, problem: ConvProblem
    ) -> Iterator[Remark]:
        """Yield what is wrong with parameters ``kernel[+splits]``, and what was judged."""
        name, plus, text = value.rpartition("+")
        if not plus:
            name = value
        if key.letter == "F" and plus:
            message = f"{text!r} after the kernel: forward kernels have no splits"
            raise Refused(Reason.MALFORMED_VALUE, message)
        if not plus and (key.letter == "W" or (key.letter == "B" and self._month > KERNELS_UNTIL)):
            message = f"no +SPLITS after the kernel, which {key.direction} has"
            raise Refused(Reason.MALFORMED_VALUE, message)
        if plus and not _SPLITS.fullmatch(text):
            raise Refused(Reason.MALFORMED_VALUE, f"the number of splits is {text[:40]!r}, expected a number")
        splits = int(text) if plus else 1
        if splits == 0 or splits < AUTOMATIC:
            message = f"{splits} splits: expected at least 1, or -1 for an automatic number"
            raise Refused(Reason.WRONG_SPLIT, message)
        unlisted = self._unlisted(f"{solver.unit} {name}", key)
        if unlisted:
            if splits > 1 and _ONE_SPLIT.match(name) and self._arch.startswith(_RDNA):
                message = f"versions of 2026 refuse {splits} splits of this kernel on {self._arch}"
                yield Reason.OTHER_VERSION, f"{message} (rocm-libraries PR 12088)"
            yield None, unlisted
            return
        family: Family = (key.direction, key.ndim, key.dtype)
        kernels = self._index.find(family, name)
        if not kernels:
            is_newer = self._has_newer_kernels or (
                not self._request.complete
                and not self._month
                and self._index.has_other_form(name)
                and not self._index.elsewhere(name)
            )
            unknown = self._unknown(name, family)
            if not is_newer:
                raise Refused(Reason.UNKNOWN_KERNEL, unknown)
            yield Reason.OTHER_VERSION, f"{unknown}: the lists have the kernels of {KERNELS_UNTIL}"
            return
        kernel = kernels[0]
        case = _support(kernel, problem, key.dtype, splits, self._arch)
        if case.unmet:
            reason = Reason.WRONG_SPLIT if "split" in case.unmet else Reason.UNSUPPORTED
            raise Refused(reason, f"{case.unmet} ({kernel.source})")
        if wrong := wrong_elements(case):
            raise Refused(Reason.KNOWN_FAULT, f"{wrong} ({kernel.source})")
        if len(kernels) > 1:
            others = ", ".join(other.source for other in kernels[1:3])
            message = f"{len(kernels)} kernels have this name; {kernel.source} runs, not {others}"
            yield Reason.AMBIGUOUS_KERNEL, message
        if lost := _lost_digits(kernel, key, problem, splits):
            yield Reason.LOSES_DIGITS, lost
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
            return f"{shown} is written differently: {spaced}"
        difference = self._index.difference(family, name)
        return f"no list has {shown}" + (f"; {difference}" if difference else "")


def _lost_digits(kernel: OldKernel, key: MiopenKey, problem: ConvProblem, splits: int) -> str:
    """Return what splits cost that meet in the type of the result; those of two stages meet in fp32."""
    if "TwoStage" in kernel.kind:
        return ""
    dtype = next((kernel.values[name] for name in _RESULT if name in kernel.values), key.dtype)
    taps = problem.out_channels * prod(problem.filter)
    return lost_digits(dtype, splits, problem.batch * prod(problem.output) if key.letter == "W" else taps)
