"""MIOpen as a consumer of tuned results, and what lines of its logs say about kernels."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ckprof.model.types import DataType
from ckprof_plugins.consumers._old_ck.kernels import index_of
from ckprof_plugins.consumers._old_ck.support import support
from ckprof_plugins.consumers._old_ck.trace_reader import operations_in
from ckprof_plugins.consumers.miopen.databases import (
    TEXT_SUFFIXES,
    grouped_solver,
    has_tables,
    is_database,
    looks_like_text,
)
from ckprof_plugins.consumers.miopen.keys import (
    DIRECTIONS,
    MiopenKey,
    WrongKeyError,
    parse_find_key,
    parse_perf_key,
)
from ckprof_plugins.consumers.records import Sighting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from ckprof.plugin.protocols.formats import ImportHints
    from ckprof_plugins.consumers._old_ck.kernels import Family
    from ckprof_plugins.consumers.records import (
        AuditRequest,
        ConsumerFiles,
        ExportRequest,
        FileAudit,
        KernelList,
    )
    from ckprof_plugins.directions._convolution.problem import ConvProblem


#: words of a log line that may be keys
_KEY: Final = re.compile(r"\d+[-x]\d[\w-]{10,}")
_SOLVER: Final = re.compile(r"\bConvHipImplicitGemm(?:3D)?Group\w+")
_SPLITS: Final = re.compile(r"\+(-?\d+)")
_TYPES: Final = {item.value: item for item in DataType}


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
            # others, such as caches of compiled kernels, lie beside them
            return has_tables(head)
        return looks_like_text(head) or path.name.endswith(TEXT_SUFFIXES)

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
        from ckprof_plugins.consumers.miopen.databases import cleaned

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
        index = index_of(tuple(lists))
        operations = operations_in(text)
        family: Family = (key.direction, key.ndim, key.dtype)
        lines = [kernel.source for name in operations for kernel in index.find(family, name)[:1]]
        if lines:
            splits = _SPLITS.search(text, text.index(operations[0]) + len(operations[0]))
            note = f"split-K {splits[1]}" if splits else ""
        elif operations:
            note = "no list has the kernel"
        elif solver is None:
            note = "the line names no kernel"
        else:
            cases = (support(kernel, problem, key.dtype, 1, "") for kernel in index.all_of(family))
            able = sum(not case.unmet for case in cases)
            note = f"{_ALONE}; {able} kernels of the lists support the problem"
        return [
            Sighting(
                what=f"MIOpen key of {key.direction}" + (f", solver {solver.name}" if solver else ""),
                direction=key.direction,
                problem=problem,
                dtype=_TYPES.get(key.dtype),
                layout={2: "nhwgc", 3: "ndhwgc"}[key.ndim],
                lines=tuple(lines),
                note=note,
            )
        ]

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return a user's find-db and performance databases.

        :raises UsageError: the version, which the names of the files hold, is missing.
        """
        from ckprof_plugins.consumers.miopen.exchange import export

        return export(request)

    def measurements(self, path: Path, hints: ImportHints) -> Iterator[Any]:
        """Yield the times of a find-db.

        :raises InputError: the file cannot be read, or has no times.
        :raises UsageError: neither its name nor the hints say the device.
        """
        from ckprof_plugins.consumers.miopen.exchange import measurements

        return measurements(path, hints)
