"""MIOpen as a consumer of tuned results: its databases, and what lines of its logs say about kernels.

An entry that is written names the old library's kernel of the winner's list line, as ``GetTypeString``
prints it. Nothing is written for a winner whose line the library would not find by that name, or whose kernel
rejects the problem. What ran of a find-db is known by its solver alone. Nothing says that its result was
verified, so the attempts are not.
"""

from __future__ import annotations

import math
import re
import sqlite3
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.types import DataType
from ckprof.store.attempt import Session
from ckprof.store.key import DeviceKey
from ckprof_plugins.consumers._old_ck.kernels import KernelIndex, index_of, kernels_of
from ckprof_plugins.consumers._old_ck.support import support, why_none
from ckprof_plugins.consumers._old_ck.trace_reader import operations_in
from ckprof_plugins.consumers.miopen.databases import (
    PACKED,
    TEXT_HEAD,
    TEXT_SUFFIXES,
    cleaned,
    is_database,
    parse_version,
    read_database,
    read_name,
    text_rows,
    user_names,
)
from ckprof_plugins.consumers.miopen.keys import (
    CHANNELS_LAST,
    COLUMNS,
    DIRECTIONS,
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    TYPES,
    MiopenKey,
    WrongKeyError,
    of_problem,
    parse_find_key,
    parse_perf_key,
    workspace_bytes,
)
from ckprof_plugins.consumers.miopen.solvers import algorithm_text, grouped_solver, solver_name
from ckprof_plugins.consumers.miopen.tables import new_table
from ckprof_plugins.consumers.records import ConsumerFiles, LeftOutError, Sighting, imported_attempt
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ckprof.plugin.protocols.converters import ImportHints
    from ckprof_plugins.consumers._old_ck.kernels import Family
    from ckprof_plugins.consumers.records import (
        AuditRequest,
        ExportRequest,
        FileAudit,
        KernelList,
        TunedKernel,
    )


#: words of a log line that may be keys
_KEY: Final = re.compile(r"(?<!\d)\d+[-x]\d[\w-]{10,}")
_SOLVER: Final = re.compile(r"\bConvHipImplicitGemm(?:3D)?Group\w+")
_SPLITS: Final = re.compile(r"\+(-?\d+)")
_TYPES: Final = {item.value: item for item in DataType}


#: number of dimensions, whether channels are last -> name of the layout
_LAYOUTS_READ: Final = {(2, True): "nhwgc", (3, True): "ndhwgc", (2, False): "ngchw", (3, False): "ngcdhw"}
#: our name of a type -> that of keys
_SPELLED: Final = {ours: spelled for spelled, ours in TYPES.items()}
#: layouts that the library runs without transposing
_LAYOUTS: Final = {"nhwgc": 2, "ndhwgc": 3}
_ALONE: Final = (
    "the line names the solver alone: the kernel stands in the performance database, under the problem's key"
)


def _key_in(text: str) -> tuple[MiopenKey, ConvProblem] | None:
    """Return the first key in a text, with its problem."""
    for word in _KEY.findall(text):
        for parse in (parse_find_key, parse_perf_key):
            with suppress(WrongKeyError):
                key = parse(word)
                return key, key.problem()
    return None


class Miopen:
    """Find-dbs and performance databases, of the system and of users, as text and in SQLite's format."""

    id = "miopen"
    label = "MIOpen: find-db and performance database, text or SQLite; log lines of solvers"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say whether a file is one of MIOpen's databases, by its name or its first row."""
        if is_database(head):
            # the first page names all tables; others, such as caches of compiled kernels, lie beside them
            return b"perf_db" in head
        name = path.name.removesuffix(PACKED)
        is_packed = name != path.name and name.endswith(".db")
        return TEXT_HEAD.match(head) is not None or name.endswith(TEXT_SUFFIXES) or is_packed

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each row as MIOpen reads it.

        :raises InputError: the file cannot be read.
        """
        from ckprof_plugins.consumers.miopen.audit import audit

        return audit(request)

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return a database without what is wrong.

        :raises InputError: the file cannot be read any more.
        """
        return cleaned(audit)

    def sightings(self, text: str, lists: Sequence[KernelList]) -> Sequence[Sighting]:
        """Return what a line of a log, or a row of a database, says about a kernel.

        Nothing for a line without a solver of Composable Kernel, or a key.
        """
        found = _key_in(text)
        named = _SOLVER.search(text)
        solver = grouped_solver(named[0]) if named else None
        if found is None:
            if solver is None:
                return []
            direction = DIRECTIONS[solver.letter]
            return [Sighting(what=f"solver {solver.name}", direction=direction, note=_ALONE)]
        key, problem = found
        operations = operations_in(text)
        family: Family = (key.direction, key.ndim, key.dtype)
        # made for lines that need it alone
        index = index_of(tuple(lists)) if operations or solver else KernelIndex(())
        lines = [kernel.source for name in operations for kernel in index.find(family, name)[:1]]
        if lines:
            splits = _SPLITS.search(text, text.index(operations[0]) + len(operations[0]))
            note = f"split-K {splits[1]}" if splits else ""
        elif operations:
            note = "no list has the kernel"
        elif solver is None:
            note = "the line names no kernel"
        else:
            unmet = why_none(index, family, problem, "")
            note = f"{_ALONE}; {unmet or 'lists have kernels that support the problem'}"
        return [
            Sighting(
                what=f"MIOpen key of {key.direction}" + (f", solver {solver.name}" if solver else ""),
                direction=key.direction,
                problem=problem,
                dtype=_TYPES.get(key.dtype),
                layout=_LAYOUTS_READ[key.ndim, True],
                lines=tuple(lines),
                note=note,
            )
        ]

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return find-db, performance database as text, and the same in SQLite's format.

        :raises UsageError: the version is missing or none.
        """
        version = parse_version(request.version)
        if not version:
            given = f", not {request.version!r}" if request.version else ""
            raise UsageError(
                "the names of MIOpen's databases hold its version: add --program-version "
                f"MAJOR.MINOR.PATCH.TWEAK, as the files that it has written show it{given}"
            )
        index = index_of(request.lists)
        found, left_out = request.fastest(lambda winner: _row(winner, request.arch, index))
        # rows are written in the order of their keys, of each kind once
        rows = [row for _, row in sorted(found.items())]
        find = "".join(f"{key.find_text()}={solver_name(key)}:{entry}\n" for key, _, entry in rows)
        perf = {key.perf_text(): (key, parameters) for key, parameters, _ in found.values()}
        texts = "".join(f"{text}={solver_name(key)}:{value}\n" for text, (key, value) in sorted(perf.items()))
        files: dict[str, bytes] = {}
        if rows:
            contents = find.encode(), texts.encode(), _table(perf.values())
            names = user_names(request.arch, request.compute_units, version)
            files = dict(zip(names, contents, strict=True))
        return ConsumerFiles(files=files, entries=len(rows), left_out=left_out)

    def measurements(self, path: Path, hints: ImportHints) -> Iterator[Any]:
        """Yield an attempt for each entry in order; what is not is left to the audit.

        :raises InputError: the file cannot be read, or has no times.
        :raises UsageError: its name does not say the device, and neither do the hints.
        """
        data = read_database(path)
        name = read_name(path.name)
        if is_database(data[:100]) or name.is_find is False:
            raise InputError("is a performance database, which has no times; those are in the find-db", path)
        arch = hints.arch or name.arch
        if not arch:
            raise UsageError(f"{path}: the name does not say the device: add --arch")
        session = Session.of_file(path, data, "MIOpen find-db", hints.tags)
        device = DeviceKey(
            target=hints.target, model=hints.device, arch=arch, compute_units=name.compute_units
        )
        sequence = count()
        seen: set[str] = set()
        for row in text_rows(data):
            if row.problem or row.key in seen:
                continue
            seen.add(row.key)
            try:
                key = parse_find_key(row.key)
                problem = key.problem()
            except WrongKeyError:
                continue
            solvers: set[str] = set()
            for entry in row.entries():
                time_ms, workspace = _figures(entry.values)
                # of several entries of a solver the first counts
                if entry.problem or time_ms is None or entry.solver in solvers:
                    continue
                solvers.add(entry.solver)
                yield imported_attempt(
                    session,
                    next(sequence),
                    device,
                    key.direction,
                    problem,
                    entry.solver,
                    dtype=_TYPES.get(key.dtype),
                    spelled_type=f"{key.types} {_layout(key)}{' TF32' if key.is_tf32 else ''}",
                    layout=_layout(key),
                    time_ms=time_ms,
                    workspace_bytes=workspace,
                )


def _figures(values: str) -> tuple[float | None, int | None]:
    """Return milliseconds and bytes of workspace of an entry; ``None`` for what cannot be that."""
    time, workspace = [*values.split(","), ""][:2]
    try:
        time_ms = float(time)
    except ValueError:
        time_ms = 0.0
    is_size = workspace.isascii() and workspace.isdigit() and len(workspace) < 16
    return time_ms if math.isfinite(time_ms) and time_ms > 0 else None, int(workspace) if is_size else None


def _layout(key: MiopenKey) -> str:
    if key.is_channels_last or key.is_channels_first:
        return _LAYOUTS_READ[key.ndim, key.is_channels_last]
    return "-".join(key.layouts).lower()


def _row(winner: TunedKernel, arch: str, index: KernelIndex) -> tuple[str, tuple[MiopenKey, str, str]]:
    """Return the key of a winner as text, and key, parameters and find-db entry."""
    problem = winner.problem
    if not isinstance(problem, ConvProblem) or winner.direction not in ("fwd", "bwd_data", "bwd_weight"):
        raise LeftOutError(f"{winner.direction} is not a convolution")
    ndim, dtype = _LAYOUTS.get(winner.layout), _SPELLED.get(winner.dtype.value)
    if ndim != problem.ndim or dtype is None:
        raise LeftOutError(f"no solver has kernels of {problem.ndim}D {winner.layout} {winner.dtype.value}")
    if problem.left_pads != problem.right_pads:
        raise LeftOutError("pads differ left and right, and keys have one of them")
    if not winner.line:
        raise LeftOutError("no list that was given has the kernel: add --conf with the list of the sweep")
    family = (winner.direction, problem.ndim, winner.dtype.value)
    kernel = next((one for other, one in kernels_of(winner.line, winner.source, 0) if other == family), None)
    if kernel is None or kernel.kind.startswith("DeviceGroupedConvBwdWeight_Explicit"):
        raise LeftOutError("its list line is not an operation of the old library that solvers look up")
    name = kernel.names[0]
    first = next(iter(index.find(family, name)), None)
    if first is not None and first.line != kernel.line and first.complete:
        raise LeftOutError("another kernel of the lists has the same name, and would run in its place")
    splits = winner.splits
    if splits < 1 or (winner.direction == "fwd" and splits != 1):
        raise LeftOutError(f"solvers of {winner.direction} have no {splits} splits")
    if winner.direction == "bwd_data" and splits != 1:
        raise LeftOutError("the solver of backward data has splits in newer versions alone")
    unmet = support(kernel, problem, winner.dtype.value, splits, arch).unmet
    if unmet:
        raise LeftOutError(f"the old library's kernel does not support the problem: {unmet}")
    key = of_problem(problem, winner.direction, dtype, CHANNELS_LAST[problem.ndim - 2])
    parameters = f"{name}+{splits}" if winner.direction == "bwd_weight" else name
    entry = f"{winner.time_ms:.6g},{workspace_bytes(key, problem)},{algorithm_text(key.letter)}"
    return key.find_text(), (key, parameters, entry)


def _table(rows: Iterable[tuple[MiopenKey, str]]) -> bytes:
    """Return a database with the tables as the library makes them."""
    texts = ",".join(f"`{name}` TEXT NOT NULL" for name in TEXT_COLUMNS)
    numbers = ",".join(f"`{name}` INT NOT NULL" for name in NUMBER_COLUMNS)
    names = ",".join(COLUMNS)

    def fill(connection: sqlite3.Connection) -> None:
        connection.executescript(
            f"CREATE TABLE `config` (`id` INTEGER PRIMARY KEY ASC,{texts},{numbers});"
            f"CREATE UNIQUE INDEX `idx_config` ON config({names});"
            "CREATE TABLE `perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,"
            "`config` INTEGER NOT NULL,`params` TEXT NOT NULL);"
            "CREATE UNIQUE INDEX `idx_perf_db` ON perf_db(solver, config);"
        )
        marks = ",".join("?" * (len(COLUMNS) + 1))
        for number, (key, value) in enumerate(rows, 1):
            connection.execute(
                f"INSERT INTO config (id,{names}) VALUES ({marks})",  # noqa: S608
                (number, *key.columns().values()),
            )
            connection.execute(
                "INSERT INTO perf_db (solver, config, params) VALUES (?, ?, ?)",
                (solver_name(key), number, value),
            )

    return new_table(fill)
