"""Instances out of the readable names of their virtual tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ckprof.errors import InputError
from ckprof_plugins.extract.vocabulary import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.extract.vocabulary import Vocabulary

_PREFIX: Final = "vtable for "
_QUALIFIER: Final = re.compile(r"(?:[A-Za-z_]\w*::)+")
_SEQUENCE: Final = re.compile(r"\bSequence<([-\d, ]*)>")
_ENUMERATOR: Final = re.compile(r"\((\w+)\)(-?\d+)")
#: a comma between arguments, not one inside a sequence
_COMMA: Final = re.compile(r",\s*(?![^()]*\))")


class Instance(NamedTuple):
    """A device class with all its arguments as strings print them."""

    device: str
    arguments: tuple[str, ...]


def take_apart(readable: str) -> list[str]:
    """Return class and arguments of a readable name; empty for what is no instance of its own.

    Enumerators are left as numbers: their names are those of the installed headers.

    :raises InputError: the name is no class template with arguments.
    """
    plain = _QUALIFIER.sub("", readable.removeprefix(_PREFIX)).replace("> >", ">>")
    if ">::" in plain:
        # Classes and templates inside an instance have tables too.
        return []
    device, arguments = _instance(_SEQUENCE.sub(lambda match: f"Seq({match[1].replace(' ', '')})", plain))
    return [device, *arguments]


def read_instance(parts: Sequence[str], vocabulary: Vocabulary) -> Instance:
    """Return an instance that was taken apart.

    :raises InputError: an unknown enumerator.
    """

    def name(match: re.Match[str]) -> str:
        return vocabulary.enumerator(match[1], match[2])

    arguments = tuple(
        _ENUMERATOR.sub(name, item) if item[:1] == "(" or "<" in item else item for item in parts[1:]
    )
    return Instance(parts[0], arguments)


def _instance(text: str) -> Instance:
    name, opening, rest = text.partition("<")
    if not opening or not rest.endswith(">"):
        raise InputError(f"{text[:80]} is no class template with arguments")
    return Instance(name, tuple([_argument(item) for item in _split(rest[:-1])]))


def _argument(text: str) -> str:
    if "<" not in text:
        return words().get(text, text)
    name, arguments = _instance(text)
    inner = ",".join(arguments)
    if name == "Tuple":
        return f"Tuple({inner})" if arguments else "EmptyTuple"
    return f"{name}<{inner}>"


def _split(text: str) -> list[str]:
    """Split arguments at the commas between them; those in brackets belong to one."""
    if "<" not in text:
        return _COMMA.split(text) if text else []
    parts = []
    depth = 0
    begin = 0
    for position, letter in enumerate(text):
        if letter in "<(":
            depth += 1
        elif letter in ">)":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:position].strip())
            begin = position + 1
    return [*parts, text[begin:].strip()]


def unwrapped(argument: str) -> Instance:
    """Read an argument that is itself a class, as :func:`read_instance` prints it.

    :raises InputError: it is none.
    """
    return _instance(argument)
