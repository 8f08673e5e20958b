"""What an archive was compiled with: its functions, their objects, and the instances in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof_converters.extract.objects import FUNCTION_PREFIX, read_symbols

if TYPE_CHECKING:
    from ckprof_converters.extract.ar import Member

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


def collect(found: Iterable[Member], path: str) -> ArchiveSymbols:
    """Read the symbols of all members.

    :raises InputError: a damaged or foreign member; two members of one name.
    """
    functions: dict[str, tuple[str, ...]] = {}
    needed: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[str, ...]] = {}
    for member in found:
        symbols = read_symbols(member.data, f"{path}({member.name})")
        if not symbols.functions:
            continue
        if member.name in functions:
            raise InputError(f"two members are called {member.name}", path)
        functions[member.name] = symbols.functions
        needed[member.name] = symbols.needed
        tables[member.name] = tuple(name for name in symbols.tables if name.endswith(_OF_TEMPLATE))
    return ArchiveSymbols(functions=functions, needed=needed, tables=tables)


@dataclass(frozen=True, slots=True)
class FunctionSymbol:
    """What the mangled name of a function says."""

    name: str
    #: number of spatial dimensions of the operation
    dimensions: int
    #: (number of shards, this one) for a shard
    shard: tuple[int, int] | None = None


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
    return FunctionSymbol(
        name, int(dimensions[1]), (int(shard[1]), int(shard[2])) if shard is not None else None
    )


class CompiledFunctions:
    """Functions that an archive defines, with the virtual tables of their instances."""

    def __init__(self, symbols: ArchiveSymbols, path: str) -> None:
        self.path = path
        self._symbols = symbols
        self._members: dict[tuple[str, int], tuple[str, str]] = {}
        self._shards: dict[str, str] = {}
        for member, names in symbols.functions.items():
            for mangled in names:
                found = parse_function(mangled)
                if found is None:
                    continue
                if found.shard is not None:
                    self._shards[mangled] = member
                else:
                    self._members[found.name, found.dimensions] = (member, mangled)

    def names(self) -> Iterable[tuple[str, int]]:
        """Return the functions with their numbers of spatial dimensions."""
        return self._members.keys()

    def member_of(self, function: str, dimensions: int) -> str | None:
        """Return the object that defines a function; ``None`` if it is not compiled."""
        found = self._members.get((function, dimensions))
        return found[0] if found else None

    def tables(self, function: str, dimensions: int) -> tuple[str, ...]:
        """Return the virtual tables of the instances that a compiled function adds, of its shards too.

        :raises InputError: a shard that the function calls is missing.
        """
        member, _ = self._members[function, dimensions]
        found = list(self._symbols.tables[member])
        for mangled in self._symbols.needed[member]:
            needed = parse_function(mangled)
            if needed is None or needed.shard is None or needed.name != f"{function}_shard":
                continue
            if mangled not in self._shards:
                count, index = needed.shard
                raise InputError(
                    f"{function}: shard {index} of {count} is missing from the archive", self.path
                )
            found.extend(self._symbols.tables[self._shards[mangled]])
        return tuple(dict.fromkeys(found))
