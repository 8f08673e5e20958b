"""The headers of an installed library, wherever they are, their configuration, and their words.

What instance strings call the words is data (``names.json``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof_plugins.extract.cpp_text import preprocess

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof_plugins.extract.cpp_text import Expr


#: folder of the factories below an include root
INSTANCES: Final = "ck/library/tensor_operation_instance/gpu"
#: folder of the device classes below an include root
DEVICES: Final = "ck/tensor_operation/gpu/device/impl"
FORWARD_FACTORY: Final = f"{INSTANCES}/grouped_convolution_forward.hpp"

#: what a source tree that was never configured is read with: every type and every kind of instruction
_UNCONFIGURED: Final = (
    *(f"CK_ENABLE_{name}" for name in ("INT8", "FP8", "BF8", "FP16", "BF16", "FP32", "FP64")),
    "CK_USE_XDL",
    "CK_USE_WMMA",
)


class HeaderTree:
    """Headers by their path below the include root; remembers which of them were used.

    :param roots: include roots, where the headers are files; the first that has one wins.
    :param texts: headers that were taken out of a package.
    """

    def __init__(self, roots: Sequence[Path], texts: Mapping[str, str] | None = None) -> None:
        self.roots = roots
        self._texts = texts or {}
        self._used: dict[str, str] = {}

    def read(self, path: str) -> str | None:
        """Return the text of a header; ``None`` if there is none."""
        for root in self.roots:
            try:
                return (root / path).read_text(encoding="utf-8", errors="replace")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as exc:
                raise InputError(f"cannot be read: {exc.strerror}", root / path) from exc
        return self._texts.get(path)

    def names(self, folder: str) -> Sequence[str]:
        """Return the names of the headers in a folder, sorted."""
        entries = (entry for root in self.roots for entry in (root / folder).glob("*"))
        paths = map(PurePosixPath, self._texts)
        return sorted(
            {entry.name for entry in entries if entry.is_file()}
            | {path.name for path in paths if str(path.parent) == folder}
        )

    def find(self, path: str) -> str | None:
        """Return what :meth:`read` does, of a header that is used."""
        if path not in self._used:
            text = self.read(path)
            if text is None:
                return None
            self._used[path] = text
        return self._used[path]

    def digest(self) -> str:
        """Return what identifies the contents of the headers that were used."""
        digest = hashlib.blake2b(digest_size=16)
        for path, text in sorted(self._used.items()):
            digest.update(f"{path}\0{len(text)}\0{text}".encode())
        return digest.hexdigest()


def read_required(headers: HeaderTree, path: str) -> str:
    """Return the text of a header.

    :raises InputError: there is none.
    """
    text = headers.find(path)
    if text is None:
        raise InputError("this header is missing from the installed library", path)
    return text


def configuration(headers: HeaderTree) -> dict[str, str]:
    """Return the macros of the library's configuration.

    A source tree has only a template of it; there, everything is switched on.
    """
    text = headers.find("ck/config.h")
    if text is None:
        return dict.fromkeys(_UNCONFIGURED, "1")
    return preprocess(text, {}, "ck/config.h")[1]


def version(headers: HeaderTree) -> tuple[str, str]:
    """Return version and commit of the library; empty where the headers do not say them."""
    text = headers.read("ck/version.h")
    macros = preprocess(text, {}, "ck/version.h")[1] if text else {}
    return macros.get("CK_VERSION", ""), macros.get("CK_COMMIT_ID", "")


_ENUMERATION: Final = r"enum\s+(?:struct|class)?\s*{}\b[^{{;]*\{{([^}}]*)\}}"


class _NamesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    types: dict[str, tuple[str, ...]]
    #: arguments that strings print a name alone of -> this name, and the operation that they are the same as
    combined: dict[str, tuple[str, str]]
    values: dict[str, tuple[str, ...]]
    #: enumerations whose values occur as template arguments -> enumerators that strings are known to print
    enumerations: dict[str, tuple[str, ...]]
    #: where releases declare each of them, the newest place first
    headers: dict[str, tuple[str, ...]]


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


def combined() -> Mapping[str, tuple[str, str]]:
    """Return how strings print operations whose names do not say what they are, and what these are."""
    return _names_file().combined


def print_argument(argument: Expr, *, is_bool: bool = False) -> str:
    """Return a template argument as instance strings print it.

    :param is_bool: the parameter is a ``bool``, which headers write as a number too.
    """
    name, args = argument
    if args is None:
        if is_bool:
            return {"0": "false", "1": "true"}.get(name, name)
        return words().get(name, name)
    inner = ",".join(map(print_argument, args))
    if name == "Sequence":
        return f"Seq({inner})"
    if name == "Tuple":
        return f"Tuple({inner})" if args else "EmptyTuple"
    return f"{name}<{inner}>"


#: enumeration of an installed library -> enumerators in the order of their values
Enumerations = Mapping[str, tuple[str, ...]]


def enumerator(enumerations: Enumerations, enumeration: str, value: str) -> str:
    """Return the name of an enumerator by its value.

    :raises InputError: an enumeration, or a value of it, that no instance string is known for.
    """
    names = enumerations.get(enumeration)
    if names is None:
        raise InputError(f"unknown enumeration {enumeration} among the template arguments")
    index = int(value)
    printed = _names_file().enumerations[enumeration]
    if not 0 <= index < len(names) or names[index] not in printed:
        raise InputError(f"value {value} of {enumeration} has no known name; known are {', '.join(printed)}")
    return names[index]


def read_enumerations(headers: HeaderTree) -> Enumerations:
    """Read the enumerators of an installed library.

    An enumeration that is not declared is of a later release; what is known of it is never asked for.

    :raises InputError: an enumeration is no plain list of names.
    """
    return {name: _read_enumeration(headers, name) for name in _names_file().enumerations}


def _read_enumeration(headers: HeaderTree, name: str) -> tuple[str, ...]:
    for path in _names_file().headers[name]:
        plain, _ = preprocess(headers.find(path) or "", {}, path)
        match = re.search(_ENUMERATION.format(name), plain)
        if match is not None:
            return _enumerators(match[1], name, path)
    return _names_file().enumerations[name]


def _enumerators(body: str, name: str, path: str) -> tuple[str, ...]:
    names = []
    for index, value in enumerate(item.strip() for item in body.split(",") if item.strip()):
        word, _, number = (part.strip() for part in value.partition("="))
        if number and number != str(index):
            raise InputError(f"enumerator {value} of {name} is not numbered by its place", path)
        names.append(word)
    return tuple(names)
