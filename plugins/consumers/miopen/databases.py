"""MIOpen's databases: the names of files, the rows, and what is left without wrong rows.

A name begins with the architecture and the number of compute units: decimal after ``_`` up to 64, hexadecimal
without it above, and in packages for gfx11 and gfx12 always. The library looks for databases of users by the
exact name; of its own it takes the one with the nearest number of compute units if none has that name. Its
sources have its own databases packed by bzip2.
"""

from __future__ import annotations

import bz2
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, input_errors
from ckprof.private_folders import temporary_folder
from ckprof.store.schema import APPLICATION_ID
from ckprof_plugins.consumers.audit import read_file, unchanged
from ckprof_plugins.consumers.miopen.solvers import algorithm_parts
from ckprof_plugins.consumers.miopen.tables import cleaned_table

if TYPE_CHECKING:
    from ckprof_plugins.consumers.records import FileAudit


SQLITE_MAGIC: Final = b"SQLite format 3\0"
#: how keys of both kinds begin
TEXT_HEAD: Final = re.compile(rb"\d+[-x]\d+[-x]\d+[-x]\d+[^=\n]*=[\w<>,-]+:")


@dataclass(frozen=True, slots=True)
class SolverEntry:
    """What a row says of one solver."""

    #: position in its row, from 0
    number: int
    #: as it stands in the file
    text: str
    solver: str
    values: str
    #: why the library skips it
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TextRow:
    """One line of a database in text form."""

    line: int
    text: str
    key: str
    contents: str
    #: why the library skips it
    problem: str = ""

    def entries(self) -> Iterator[SolverEntry]:
        """Yield the entries, those that the library skips included."""
        pieces = self.contents.split(";")
        if pieces and not pieces[-1]:
            pieces.pop()
        for number, text in enumerate(pieces):
            solver, colon, values = text.partition(":")
            problem = "" if colon else "no solver in front of ':'"
            if colon and algorithm_parts(solver)[0]:
                # of the first version: the algorithm in front, and two texts behind
                parts = values.split(",")
                if len(parts) < 4:
                    problem = "an entry of the old form lacks values: solver, time, workspace"
                else:
                    solver, values = parts[0], f"{parts[1]},{parts[2]},{solver}"
            yield SolverEntry(number, text, solver, values, problem)


def is_database(head: bytes) -> bool:
    """Say whether a file begins like a SQLite database that is no store of ours."""
    return head.startswith(SQLITE_MAGIC) and head[68:72] != APPLICATION_ID.to_bytes(4, "big")


#: end of the names of packed databases
PACKED: Final = ".bz2"
#: largest content of a packed database, bytes
_UNPACKED_MOST: Final = 1 << 30


def read_database(path: Path) -> bytes:
    """Return the content of a database, unpacked.

    :raises InputError: it cannot be read or unpacked.
    """
    data = read_file(path)
    if not path.name.endswith(PACKED):
        return data
    content = b""
    while not content or data.startswith(b"BZh"):
        unpacker = bz2.BZ2Decompressor()
        with input_errors(OSError, "cannot be unpacked by bzip2", path):
            content += unpacker.decompress(data, _UNPACKED_MOST - len(content))
        if not unpacker.eof:
            why = "is cut off" if unpacker.needs_input else f"holds more than {_UNPACKED_MOST} bytes"
            raise InputError(f"{why}: expected a database packed by bzip2", path)
        data = unpacker.unused_data
        if not content and not data:
            break
    return content


@contextmanager
def unpacked_file(path: Path, content: bytes) -> Iterator[Path]:
    """Give a file with a database's content: its own one, or a temporary one of a packed database."""
    if not path.name.endswith(PACKED):
        yield path
        return
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        plain = Path(folder, path.name.removesuffix(PACKED))
        plain.write_bytes(content)
        yield plain


def text_rows(data: bytes) -> Iterator[TextRow]:
    """Yield each line that is not empty. Any byte is a character."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line:
            continue
        text = line.decode("latin-1")
        key, equals, contents = text.partition("=")
        problem = ""
        if not equals or not key:
            problem = "no key in front of '='"
        elif not contents:
            problem = "nothing after the key"
        yield TextRow(number, text, key, contents, problem)


def cleaned(audit: FileAudit) -> bytes:
    """Return the content of a database without what can be removed from it.

    :raises InputError: the file cannot be read any more, or has changed since.
    """
    data = read_database(audit.path)
    wrong: dict[int, set[int | None]] = {}
    for finding in audit.findings:
        if finding.removable:
            wrong.setdefault(finding.line, set()).add(finding.entry)
    if is_database(data[:100]):
        with unpacked_file(audit.path, data) as plain:
            content = cleaned_table(plain, wrong, audit)
    else:
        content = _cleaned_text(unchanged(audit, data), wrong)
    return bz2.compress(content) if audit.path.name.endswith(PACKED) else content


def _cleaned_text(data: bytes, wrong: Mapping[int, set[int | None]]) -> bytes:
    lines: list[bytes] = []
    for row in text_rows(data):
        bad = wrong.get(row.line, set())
        if None in bad:
            continue
        if not bad:
            lines.append(row.text.encode("latin-1"))
            continue
        kept = [entry.text for entry in row.entries() if entry.number not in bad]
        if kept:
            lines.append(f"{row.key}={';'.join(kept)}".encode("latin-1"))
    return b"".join(line + b"\n" for line in lines)


#: largest number of compute units that is written in decimal
_DECIMAL_UP_TO: Final = 64
#: version of the tables in the names of SQLite databases
TABLES_VERSION: Final = "1.1.0"
_ARCH: Final = r"gfx(?:1[0-2][0-9a-f]{2}|[0-9][0-9a-f]{2})"
_BASE: Final = re.compile(rf"(?P<arch>{_ARCH})(?:_(?P<decimal>\d+)|(?P<hex>[0-9a-f]+))?")
_VERSION: Final = r"\d+_\d+_\d+_[0-9A-Za-z\-]+"
#: what follows after the device, those of users with the version
_ENDING: Final = re.compile(
    rf"\.(?:HIP|OpenCL)\.(?:fdb|{_VERSION}\.ufdb|{_VERSION}\.udb)\.txt|\.db(?:\.txt)?"
    rf"|_{re.escape(TABLES_VERSION)}\.udb"
)
#: ends of names that mean a database, whatever comes before
TEXT_SUFFIXES: Final = (".fdb.txt", ".ufdb.txt", ".db.txt", ".udb.txt")
SUFFIXES: Final = (*TEXT_SUFFIXES, ".udb", ".db")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseName:
    """What the name of a file says."""

    arch: str = ""
    #: 0: it says none
    compute_units: int = 0
    #: ``None``: it does not say it
    is_find: bool | None = None
    is_user: bool = False
    #: version of the library that wrote a file of a user
    version: str = ""
    #: why the library does not open a file of this name
    problem: str = ""


def base_name(arch: str, compute_units: int) -> str:
    """Return the beginning of the names of a device's databases."""
    units = f"_{compute_units}" if compute_units <= _DECIMAL_UP_TO else f"{compute_units:x}"
    return f"{arch}{units}"


def user_names(arch: str, compute_units: int, version: str) -> tuple[str, str, str]:
    """Return the names of a user's find-db, performance database as text, and the same in SQLite's format."""
    base = base_name(arch, compute_units)
    return (
        f"{base}.HIP.{version}.ufdb.txt",
        f"{base}.HIP.{version}.udb.txt",
        f"{base}_{TABLES_VERSION}.udb",
    )


def parse_version(text: str) -> str:
    """Return a version as names have it: ``3.2.0.5f2ae8c`` or ``3_2_0_5f2ae8c``; empty if it is none."""
    joined = text.replace(".", "_")
    return joined if re.fullmatch(_VERSION, joined) else ""


def read_name(name: str) -> DatabaseName:
    """Say what the name of a file means to the library."""
    name = name.removesuffix(PACKED)
    suffix = next((one for one in SUFFIXES if name.endswith(one)), "")
    is_find = suffix.endswith("fdb.txt") if suffix else None
    is_user = suffix in (".ufdb.txt", ".udb.txt", ".udb")
    found = _BASE.match(name)
    if found is None or not (found["decimal"] or found["hex"]):
        return DatabaseName(
            is_find=is_find,
            is_user=is_user,
            problem="expected the architecture and the number of compute units in front, e.g. "
            f"{base_name('gfx942', 304)}, {base_name('gfx942', 38)}",
        )
    arch = found["arch"]
    units = int(found["decimal"]) if found["decimal"] else int(found["hex"], 16)
    problem = ""
    # packages for these have hexadecimal numbers of any size
    always_hex = found["hex"] and arch.startswith(("gfx11", "gfx12")) and not is_user
    if found.group() != base_name(arch, units) and not always_hex:
        problem = f"of {units} compute units, the name begins with {base_name(arch, units)}"
        if found["hex"] and found["hex"].isdigit() and units <= _DECIMAL_UP_TO:
            problem += f"; of {int(found['hex'])}, with {base_name(arch, int(found['hex']))}"
    elif not _ENDING.fullmatch(name, found.end()):
        find, _, table = user_names(arch, units, "3_2_0_COMMIT")
        problem = (
            f"expected one of {', '.join(SUFFIXES)} after the device, those of users with the version: "
            f"{find}, {table}"
        )
    version = re.search(rf"\.({_VERSION})\.", name)
    return DatabaseName(
        arch=arch,
        compute_units=units,
        is_find=is_find,
        is_user=is_user,
        version=version[1] if version else "",
        problem=problem,
    )
