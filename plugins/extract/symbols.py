"""What an archive was compiled with: its functions, their objects, and the instances in them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError, ToolchainError
from ckprof_plugins.extract.mangling import decode, take_apart

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


def read_symbols(data: IO[bytes], path: str) -> tuple[list[str], list[str], list[str]]:
    """Return what one object defines, needs from others, and its tables of instances, as mangled names.

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
    return functions, needed, tables


def _sort(symbols: bytes, strings: bytes, functions: list[str], needed: list[str], tables: list[str]) -> None:
    for start, info, _, section, _, _ in _SYMBOL.iter_unpack(symbols):
        if strings.startswith(FUNCTION_PREFIX, start):
            target = needed if section == _UNDEFINED else functions
        elif info == (_WEAK << 4 | _OBJECT) and section and strings.startswith(TABLE_PREFIX, start):
            target = tables
        else:
            continue
        target.append(strings[start : strings.index(b"\0", start)].decode("ascii"))


def _read(data: IO[bytes], offset: int, size: int, path: str) -> bytes:
    data.seek(offset)
    content = data.read(size)
    if len(content) < size:
        raise InputError("damaged object: it ends in a table", path)
    return content


_LENGTH: Final = re.compile(r"(\d+)")
_DIMENSIONS: Final = re.compile(r"ILi(\d+)E")
_SHARD: Final = re.compile(r"ILi(\d+)ELi(\d+)EE")
#: how the table of a template's instance ends; those of classes inside one end in that class's name
_OF_TEMPLATE: Final = "EE"


class ArchiveSymbols(msgspec.Struct, frozen=True):
    """The symbols of one archive that matter, as mangled names by object."""

    #: object -> functions that it defines
    functions: dict[str, tuple[str, ...]]
    #: object -> functions that it needs from others
    needed: dict[str, tuple[str, ...]]
    #: object -> virtual tables of instances
    tables: dict[str, tuple[str, ...]]


def collect(archive: Iterable[tuple[str, IO[bytes]]], path: str) -> ArchiveSymbols:
    """Read the symbols of all members, of each its name and its bytes.

    :raises InputError: a damaged or foreign member; two members of one name.
    """
    functions: dict[str, tuple[str, ...]] = {}
    needed: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[str, ...]] = {}
    for member, data in archive:
        defined, wanted, found = read_symbols(data, f"{path}({member})")
        if not defined:
            continue
        if member in functions:
            raise InputError(f"two members are called {member}", path)
        functions[member] = tuple(defined)
        needed[member] = tuple(wanted)
        tables[member] = tuple(name for name in found if name.endswith(_OF_TEMPLATE))
    return ArchiveSymbols(functions=functions, needed=needed, tables=tables)


#: name of a function, number of its spatial dimensions, and (number of shards, this one) for a shard
FunctionSymbol = tuple[str, int, tuple[int, int] | None]


def parse_function(mangled: str) -> FunctionSymbol | None:
    """Return what a mangled name says; ``None`` for a function that adds no instances."""
    begin = len(FUNCTION_PREFIX)
    length = _LENGTH.match(mangled, begin)
    if length is None:
        return None
    end = length.end() + int(length[1])
    name = mangled[length.end() : end]
    if not name.startswith("add_"):
        return None
    shard = _SHARD.match(mangled, end)
    dimensions = _DIMENSIONS.search(mangled, shard.end() if shard else end)
    if dimensions is None:
        return None
    return name, int(dimensions[1]), (int(shard[1]), int(shard[2])) if shard is not None else None


class CompiledFunctions:
    """Functions that an archive defines, with the virtual tables of their instances.

    :param readable: mangled name -> class and arguments, of the names that were made readable so far.
    """

    def __init__(
        self, symbols: ArchiveSymbols, path: str, readable: dict[str, list[str]] | None = None
    ) -> None:
        self.path = path
        self.symbols = symbols
        self._readable = readable if readable is not None else {}
        self._members: dict[tuple[str, int], str] = {}
        self._shards: dict[str, str] = {}
        for member, names in symbols.functions.items():
            for mangled in names:
                symbol = parse_function(mangled)
                if symbol is None:
                    continue
                name, dimensions, shard = symbol
                if shard is not None:
                    self._shards[mangled] = member
                else:
                    self._members[name, dimensions] = member

    def parts(self, mangled: str) -> list[str]:
        """Return class and arguments of a name; empty for what is no instance of its own."""
        if mangled not in self._readable:
            self._readable[mangled] = take_apart(decode(mangled))
        return self._readable[mangled]

    def member_of(self, function: str, dimensions: int) -> str | None:
        """Return the object that defines a function; ``None`` if it is not compiled."""
        return self._members.get((function, dimensions))

    def tables(self, function: str, dimensions: int) -> tuple[str, ...]:
        """Return the virtual tables of the instances that a compiled function adds, of its shards too.

        :raises InputError: a shard that the function calls is missing.
        """
        member = self._members[function, dimensions]
        tables = list(self.symbols.tables[member])
        for mangled in self.symbols.needed[member]:
            name, _, shard = parse_function(mangled) or ("", 0, None)
            if shard is None or name != f"{function}_shard":
                continue
            if mangled not in self._shards:
                count, index = shard
                raise InputError(
                    f"{function}: shard {index} of {count} is missing from the archive", self.path
                )
            tables.extend(self.symbols.tables[self._shards[mangled]])
        return tuple(dict.fromkeys(tables))
