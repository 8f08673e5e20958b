"""The lock file: the instance strings that a repository expects, frozen.

It holds the strings themselves, so that a difference can be shown field by field, the digests of the lists
that they were made of, and a digest of its own content.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from ckprof.errors import InputError, input_errors
from ckprof.files import content_of, write_output
from ckprof.parity.side import Entry, StringSide, parse
from ckprof.paths import conf_root
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.conversion import ConversionRequest
    from ckprof.model.strings.grammar import StringGrammar

SCHEMA: Final = "ckprof-parity-lock"
#: raised when a key changes its meaning or vanishes
VERSION: Final = 1

NAME: Final = "lock file"
DEFAULT_PATH: Final = "parity.lock"


class LockedList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A list as it was when the lock was written."""

    #: relative to the folder of the lock, or the name of a list that ships with ckprof
    path: str
    #: blake2b of the file
    digest: str


class LockedStrings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The expected multiset of one comparison."""

    direction: str
    lists: tuple[LockedList, ...]
    #: blake2b of the strings, one a line
    digest: str
    #: ascending; a string stands here as often as there are instances with it
    strings: tuple[str, ...]


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lock file's content."""

    schema: Literal["ckprof-parity-lock"] = SCHEMA
    version: Literal[1] = VERSION
    #: that wrote the file; of no influence
    ckprof: str = __version__
    #: name of the CK revision profile that the strings are spelled for
    revision: str
    expected: tuple[LockedStrings, ...]


def digest(data: bytes) -> str:
    """Return the digest by which lists and strings are compared."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_of_strings(strings: Sequence[str]) -> str:
    """Return the digest of a multiset of strings."""
    return digest("".join(f"{text}\n" for text in sorted(strings)).encode())


def freeze(
    direction: str, lists: Sequence[ConversionRequest], strings: Sequence[str], folder: Path
) -> LockedStrings:
    """Return the strings of one comparison as a lock holds them.

    :param lists: with all of their content.
    :param folder: where the lock will be.
    """
    return LockedStrings(
        direction=direction,
        lists=tuple(
            LockedList(path=_relative(request.path, folder), digest=digest(request.data)) for request in lists
        ),
        digest=digest_of_strings(strings),
        strings=tuple(sorted(strings)),
    )


def _relative(path: Path, folder: Path) -> str:
    """Return the path as the lock says it, such that it means the same on another machine where possible."""
    resolved = path.resolve()
    for base in (folder.resolve(), conf_root().resolve()):
        if resolved.is_relative_to(base):
            return resolved.relative_to(base).as_posix()
    return resolved.as_posix()


def write_lock(path: Path, lock: Lock) -> bool:
    """Write a lock as a whole or not at all; return whether the file changed.

    :raises InputError: it cannot be written.
    """
    text = msgspec.json.format(msgspec.json.encode(lock), indent=1).decode() + "\n"
    return write_output(path, text)


def read_lock(path: Path) -> Lock:
    """Read a lock.

    :raises InputError: there is none, it is no lock, or its strings are not those that were frozen.
    """
    if not path.exists():
        raise InputError(f"no such file; write one with --write {path}", path)
    data = content_of(path)
    with input_errors(msgspec.DecodeError, "no lock file of this version of ckprof", path):
        lock = msgspec.json.decode(data, type=Lock)
    for expected in lock.expected:
        if digest_of_strings(expected.strings) != expected.digest:
            names = ", ".join(item.path for item in expected.lists)
            raise InputError(f"the strings of {names} were edited: their digest differs", path)
    if not lock.expected:
        raise InputError("the lock holds no strings", path)
    return lock


def locked_side(
    expected: LockedStrings, strings: StringGrammar, path: Path, notes: Sequence[str]
) -> StringSide:
    """Return the side of a lock.

    :raises InputError: a string is of no known kind.
    """
    entries = []
    for number, text in enumerate(expected.strings):
        parsed = parse(strings, text, str(path))
        # Equal strings stand for different instances: the lock has no copies.
        entries.append(Entry(text=text, parsed=parsed, source=str(path), identity=number))
    return StringSide(name=NAME, origin=str(path), entries=tuple(entries), notes=tuple(notes))
