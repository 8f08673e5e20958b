"""Names of MIOpen's databases: device, kind, and for those of users the version of the library.

A name begins with the architecture and the number of compute units: decimal after ``_`` up to 64, hexadecimal
without it above. The library looks for databases of users by the exact name; of its own it takes the one with
the nearest number of compute units if there is none of that name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: largest number of compute units that is written in decimal
_DECIMAL_UP_TO: Final = 64
#: version of the tables in the names of SQLite databases
TABLES_VERSION: Final = "1.1.0"
_ARCH: Final = r"gfx(?:1[0-2][0-9a-f]{2}|[0-9][0-9a-f]{2})"
_BASE: Final = re.compile(rf"(?P<arch>{_ARCH})(?:_(?P<decimal>\d+)|(?P<hex>[0-9a-f]+))?")
_VERSION: Final = r"\d+_\d+_\d+_[0-9A-Za-z\-]+"
#: what follows after device and dot -> (is it a find-db, is it of a user, has it SQLite's format)
_ENDINGS: Final = (
    (re.compile(r"\.(?:HIP|OpenCL)\.fdb\.txt"), True, False, False),
    (re.compile(rf"\.(?:HIP|OpenCL)\.{_VERSION}\.ufdb\.txt"), True, True, False),
    (re.compile(r"\.db\.txt"), False, False, False),
    (re.compile(rf"\.(?:HIP|OpenCL)\.{_VERSION}\.udb\.txt"), False, True, False),
    (re.compile(r"\.db"), False, False, True),
    (re.compile(rf"_{re.escape(TABLES_VERSION)}\.udb"), False, True, True),
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
    #: why the library does not open a file of this name
    problem: str = ""


def base_name(arch: str, compute_units: int) -> str:
    """Return the beginning of the names of a device's databases."""
    units = f"_{compute_units}" if compute_units <= _DECIMAL_UP_TO else f"{compute_units:x}"
    return f"{arch}{units}"


def user_find_name(arch: str, compute_units: int, version: str) -> str:
    """Return the name of a user's find-db."""
    return f"{base_name(arch, compute_units)}.HIP.{version}.ufdb.txt"


def user_perf_name(arch: str, compute_units: int, version: str) -> str:
    """Return the name of a user's performance database in text form."""
    return f"{base_name(arch, compute_units)}.HIP.{version}.udb.txt"


def user_sqlite_name(arch: str, compute_units: int) -> str:
    """Return the name of a user's performance database in SQLite's format."""
    return f"{base_name(arch, compute_units)}_{TABLES_VERSION}.udb"


def parse_version(text: str) -> str:
    """Return a version as names have it: ``3.2.0.5f2ae8c`` or ``3_2_0_5f2ae8c``; empty if it is none."""
    joined = text.replace(".", "_")
    return joined if re.fullmatch(_VERSION, joined) else ""


def read_name(name: str) -> DatabaseName:
    """Say what the name of a file means to the library."""
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
    if found.group() != base_name(arch, units):
        problem = f"of {units} compute units, the name begins with {base_name(arch, units)}"
        if found["hex"] and found["hex"].isdigit() and units <= _DECIMAL_UP_TO:
            problem += f"; of {int(found['hex'])}, with {base_name(arch, int(found['hex']))}"
    elif not any(ending.fullmatch(name, found.end()) for ending, *_ in _ENDINGS):
        problem = (
            f"expected one of {', '.join(SUFFIXES)} after the device, those of users with the version: "
            f"{user_find_name(arch, units, '3_2_0_COMMIT')}, {user_sqlite_name(arch, units)}"
        )
    return DatabaseName(arch=arch, compute_units=units, is_find=is_find, is_user=is_user, problem=problem)
