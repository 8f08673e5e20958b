"""The few symbols of an object file that say which instances it holds."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from ckprof.errors import InputError, ToolchainError

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_SYMTAB: Final = 2
_UNDEFINED: Final = 0
_WEAK: Final = 2
_OBJECT: Final = 1

#: functions that add instances to a list, complete ones and their shards
FUNCTION_PREFIX: Final = b"_ZN2ck16tensor_operation6device8instance"
#: virtual tables of device classes: one for each instance that was compiled
TABLE_PREFIX: Final = b"_ZTVN2ck16tensor_operation6device"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSymbols:
    """What one object defines and needs, as mangled names."""

    functions: tuple[str, ...]
    #: functions that it calls and another object defines
    needed: tuple[str, ...]
    tables: tuple[str, ...]


def elf_file(data: IO[bytes], path: str) -> ELFFile:
    """Open an object file.

    :raises InputError: it is no ELF file.
    :raises ToolchainError: pyelftools is not installed.
    """
    try:
        from elftools.common.exceptions import ELFError
        from elftools.construct import ConstructError
        from elftools.elf.elffile import ELFFile
    except ImportError as exc:
        raise ToolchainError(
            "reading an archive requires pyelftools: pip install 'ckprof[extract]', "
            "or use --no-archive to read the headers alone"
        ) from exc
    try:
        return ELFFile(data)
    except (ELFError, ConstructError) as exc:
        raise InputError(f"not an object file: {exc}", path) from exc


def read_symbols(data: IO[bytes], path: str) -> ObjectSymbols:
    """Read the symbols of one object.

    The tables are read in one piece each: these objects have thousands of sections, and a Python object for
    each of them would take a minute for the whole archive.

    :raises InputError: no 64-bit little-endian ELF file, or a damaged one.
    """
    elf = elf_file(data, path)
    if elf.elfclass != 64 or not elf.little_endian:
        order = "little" if elf.little_endian else "big"
        raise InputError(
            f"a {elf.elfclass}-bit {order}-endian object; expected 64-bit little-endian ones", path
        )
    count = elf.num_sections()
    headers = _read(data, elf["e_shoff"], count * _SECTION.size, path)
    sections = list(_SECTION.iter_unpack(headers))
    functions: list[str] = []
    needed: list[str] = []
    tables: list[str] = []
    for section in sections:
        if section[1] != _SYMTAB:
            continue
        if section[6] >= count:
            raise InputError("damaged object: its symbol table names no string table", path)
        names = sections[section[6]]
        strings = _read(data, names[4], names[5], path)
        first = min(section[7] * _SYMBOL.size, section[5])  # local symbols stand first
        size = (section[5] - first) // _SYMBOL.size * _SYMBOL.size
        _sort(_read(data, section[4] + first, size, path), strings, functions, needed, tables)
    return ObjectSymbols(functions=tuple(functions), needed=tuple(needed), tables=tuple(tables))


def _sort(symbols: bytes, strings: bytes, functions: list[str], needed: list[str], tables: list[str]) -> None:
    for place, info, _, section, _, _ in _SYMBOL.iter_unpack(symbols):
        if strings.startswith(FUNCTION_PREFIX, place):
            target = needed if section == _UNDEFINED else functions
        elif info == (_WEAK << 4 | _OBJECT) and section and strings.startswith(TABLE_PREFIX, place):
            target = tables
        else:
            continue
        target.append(strings[place : strings.index(b"\0", place)].decode("ascii"))


def _read(data: IO[bytes], place: int, size: int, path: str) -> bytes:
    data.seek(place)
    found = data.read(size)
    if len(found) < size:
        raise InputError("damaged object: it ends in a table", path)
    return found
