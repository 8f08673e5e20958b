"""MIOpen's databases of users for verified winners.

An entry names the old library's kernel of the winner's list line, as ``GetTypeString`` prints it. Nothing is
written for a winner whose line the library would not find by that name, or whose kernel rejects the problem.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.plugin.protocols import ConsumerFiles
from ckprof.private_folders import temporary_folder
from ckprof_plugins.consumers._old_ck.kernels import index_of, kernels_of
from ckprof_plugins.consumers._old_ck.support import support
from ckprof_plugins.consumers.miopen.file_names import (
    parse_version,
    user_find_name,
    user_perf_name,
    user_sqlite_name,
)
from ckprof_plugins.consumers.miopen.keys import (
    CHANNELS_LAST,
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    TYPES,
    MiopenKey,
    of_problem,
)
from ckprof_plugins.consumers.miopen.solvers import algorithm_text, solver_name
from ckprof_plugins.consumers.miopen.workspace import workspace_bytes
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.plugin.protocols import ExportRequest, TunedKernel
    from ckprof_plugins.consumers._old_ck.kernels import KernelIndex

#: our name of a type -> that of keys
_SPELLED: Final = {ours: spelled for spelled, ours in TYPES.items()}
#: layouts that the library runs without transposing
_LAYOUTS: Final = {"nhwgc": 2, "ndhwgc": 3}


class _UnnamedError(Exception):
    """Why nothing is written for a winner."""


def export(request: ExportRequest) -> ConsumerFiles:
    """Return find-db, performance database as text, and the same in SQLite's format.

    :raises UsageError: the version is missing or none.
    """
    version = parse_version(request.version)
    if not version:
        raise UsageError(
            "the names of MIOpen's databases hold its version: add --version MAJOR.MINOR.PATCH.TWEAK, as the "
            f"files that it has written show it{f', not {request.version!r}' if request.version else ''}"
        )
    left_out: Counter[str] = Counter()
    rows: dict[str, tuple[MiopenKey, str, str, str]] = {}
    times: dict[str, float] = {}
    index = index_of(request.lists)
    for winner in request.winners:
        try:
            key, parameters, entry = _row(winner, request.arch, index)
        except _UnnamedError as exc:
            left_out[str(exc)] += 1
            continue
        text = key.find_text()
        if text not in times or winner.time_ms < times[text]:
            times[text] = winner.time_ms
            rows[text] = (key, solver_name(key.letter, key.ndim), parameters, entry)
    find = "".join(f"{text}={solver}:{entry}\n" for text, (_, solver, _, entry) in sorted(rows.items()))
    perf = {key.perf_text(): (key, solver, parameters) for key, solver, parameters, _ in rows.values()}
    texts = "".join(f"{text}={solver}:{value}\n" for text, (_, solver, value) in sorted(perf.items()))
    files: dict[str, bytes] = {}
    if rows:
        device = (request.arch, request.compute_units)
        files[user_find_name(*device, version)] = find.encode()
        files[user_perf_name(*device, version)] = texts.encode()
        files[user_sqlite_name(*device)] = _table(list(perf.values()))
    return ConsumerFiles(files=files, entries=len(rows), left_out=left_out)


def _row(winner: TunedKernel, arch: str, index: KernelIndex) -> tuple[MiopenKey, str, str]:
    """Return key, parameters and find-db entry of a winner.

    :raises _UnnamedError: there is none.
    """
    problem = winner.problem
    if not isinstance(problem, ConvProblem) or winner.direction not in ("fwd", "bwd_data", "bwd_weight"):
        raise _UnnamedError(f"{winner.direction} is no convolution")
    ndim, dtype = _LAYOUTS.get(winner.layout), _SPELLED.get(winner.dtype.value)
    if ndim != problem.ndim or dtype is None:
        raise _UnnamedError(f"no solver has kernels of {problem.ndim}D {winner.layout} {winner.dtype.value}")
    if problem.left_pads != problem.right_pads:
        raise _UnnamedError("pads differ left and right, and keys have one of them")
    if not winner.line:
        raise _UnnamedError("no list that was given has the kernel: add --conf with the list of the sweep")
    family = (winner.direction, problem.ndim, winner.dtype.value)
    kernel = next((one for other, one in kernels_of(winner.line, winner.source, 0) if other == family), None)
    if kernel is None or kernel.kind.startswith("DeviceGroupedConvBwdWeight_Explicit"):
        raise _UnnamedError("its list line is no operation of the old library that solvers look up")
    name = kernel.names[0]
    first = next(iter(index.find(family, name)), None)
    if first is not None and first.line != kernel.line and first.complete:
        raise _UnnamedError("another kernel of the lists has the same name, and would run in its place")
    splits = winner.splits
    if splits < 1 or (winner.direction == "fwd" and splits != 1):
        raise _UnnamedError(f"solvers of {winner.direction} have no {splits} splits")
    if winner.direction == "bwd_data" and splits != 1:
        raise _UnnamedError("the solver of backward data has splits in newer versions alone")
    unmet = support(kernel, problem, winner.dtype.value, splits, arch).unmet
    if unmet:
        raise _UnnamedError(f"the old library's kernel does not support the problem: {unmet}")
    key = of_problem(problem, winner.direction, dtype, CHANNELS_LAST[problem.ndim - 2])
    parameters = f"{name}+{splits}" if winner.direction == "bwd_weight" else name
    entry = f"{winner.time_ms:.6g},{workspace_bytes(key, problem)},{algorithm_text(key.letter)}"
    return key, parameters, entry


def _table(rows: Sequence[tuple[MiopenKey, str, str]]) -> bytes:
    """Return a database with the tables as the library makes them."""
    columns = (*TEXT_COLUMNS, *NUMBER_COLUMNS)
    texts = ",".join(f"`{name}` TEXT NOT NULL" for name in TEXT_COLUMNS)
    numbers = ",".join(f"`{name}` INT NOT NULL" for name in NUMBER_COLUMNS)
    names = ",".join(columns)
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        path = Path(folder, "database")
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(
                f"CREATE TABLE `config` (`id` INTEGER PRIMARY KEY ASC,{texts},{numbers});"
                f"CREATE UNIQUE INDEX `idx_config` ON config({names});"
                "CREATE TABLE `perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,"
                "`config` INTEGER NOT NULL,`params` TEXT NOT NULL);"
                "CREATE UNIQUE INDEX `idx_perf_db` ON perf_db(solver, config);"
            )
            for number, (key, solver, value) in enumerate(rows, 1):
                cells: Mapping[str, int | str] = key.columns()
                connection.execute(
                    f"INSERT INTO config (id,{names}) VALUES ({','.join('?' * (len(columns) + 1))})",  # noqa: S608
                    (number, *(cells[name] for name in columns)),
                )
                connection.execute(
                    "INSERT INTO perf_db (solver, config, params) VALUES (?, ?, ?)", (solver, number, value)
                )
            connection.commit()
        return path.read_bytes()
