"""The words of the library's headers and symbols, and what the instance strings call them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof_plugins.extract.preprocess import preprocess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_plugins.extract.headers import HeaderTree
    from ckprof_plugins.extract.tokens import Expr

_ENUMERATION: Final = r"enum\s+(?:struct|class)?\s*{}\b[^{{;]*\{{([^}}]*)\}}"


class EnumerationRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An enumeration whose values occur as template arguments."""

    #: where releases declare it, the newest place first
    headers: tuple[str, ...]
    #: the enumerators that instance strings are known to print
    names: tuple[str, ...]


class CombinedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operation whose name in instance strings does not say what it is."""

    #: how instance strings print it
    printed: str
    #: the operation that it is the same as
    operation: str


class _NamesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    types: dict[str, tuple[str, ...]]
    #: arguments that strings print a name alone of
    combined: dict[str, CombinedRecord]
    values: dict[str, tuple[str, ...]]
    enumerations: dict[str, EnumerationRecord]


@cache
def _names_file() -> _NamesFile:
    return msgspec.json.decode((files(__package__) / "names.json").read_bytes(), type=_NamesFile)


@cache
def words() -> Mapping[str, str]:
    """Return what each word of the library is called in an instance string, where it differs."""
    data = _names_file()
    return {
        word: printed
        for table in (data.types, data.values)
        for printed, spellings in table.items()
        for word in spellings
    }


@cache
def words_digest() -> str:
    """Return what changes when a word is called otherwise."""
    table = "\n".join(f"{word} {printed}" for word, printed in sorted(words().items()))
    return hashlib.blake2b(table.encode(), digest_size=16).hexdigest()


def combined() -> Mapping[str, CombinedRecord]:
    """Return the operations whose names in instance strings do not say what they are, by their arguments."""
    return _names_file().combined


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one installed library."""

    #: enumeration -> enumerators in the order of their values
    enumerations: Mapping[str, tuple[str, ...]]

    def print_argument(self, argument: Expr, *, is_bool: bool = False) -> str:
        """Return a template argument as instance strings print it.

        :param is_bool: the parameter is a ``bool``, which headers write as a number too.
        """
        name, args = argument
        if args is None:
            if is_bool:
                return {"0": "false", "1": "true"}.get(name, name)
            return words().get(name, name)
        inner = ",".join(self.print_argument(item) for item in args)
        if name == "Sequence":
            return f"Seq({inner})"
        if name == "Tuple":
            return f"Tuple({inner})" if args else "EmptyTuple"
        return f"{name}<{inner}>"

    def enumerator(self, enumeration: str, value: str) -> str:
        """Return the name of an enumerator by its value.

        :raises InputError: an enumeration, or a value of it, that no instance string is known for.
        """
        names = self.enumerations.get(enumeration)
        if names is None:
            raise InputError(f"unknown enumeration {enumeration} among the template arguments")
        index = int(value)
        printed = _names_file().enumerations[enumeration].names
        if not 0 <= index < len(names) or names[index] not in printed:
            raise InputError(
                f"value {value} of {enumeration} has no known name; known are {', '.join(printed)}"
            )
        return names[index]


def read_vocabulary(headers: HeaderTree) -> Vocabulary:
    """Read the enumerators of an installed library.

    An enumeration that is not declared is of a later release; what is known of it is never asked for.

    :raises InputError: an enumeration is no plain list of names.
    """
    return Vocabulary(
        {name: _read(headers, name, record) for name, record in _names_file().enumerations.items()}
    )


def _read(headers: HeaderTree, name: str, record: EnumerationRecord) -> tuple[str, ...]:
    for path in record.headers:
        text = headers.find(path)
        if text is None:
            continue
        plain, _ = preprocess(text, {}, path)
        match = re.search(_ENUMERATION.format(name), plain)
        if match is not None:
            return _enumerators(match[1], name, path)
    return record.names


def _enumerators(body: str, name: str, path: str) -> tuple[str, ...]:
    names = []
    for index, value in enumerate(item.strip() for item in body.split(",") if item.strip()):
        word, _, number = (part.strip() for part in value.partition("="))
        if number and number != str(index):
            raise InputError(f"enumerator {value} of {name} is not numbered by its place", path)
        names.append(word)
    return tuple(names)
