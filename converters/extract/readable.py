"""Instances out of the readable names of their virtual tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ckprof.errors import InputError
from ckprof_converters.extract.vocabulary import words

if TYPE_CHECKING:
    from ckprof_converters.extract.vocabulary import Vocabulary

_PREFIX: Final = "vtable for "
_QUALIFIER: Final = re.compile(r"(?:[A-Za-z_]\w*::)+")
_SEQUENCE: Final = re.compile(r"\bSequence<([-\d, ]*)>")
_ENUMERATOR: Final = re.compile(r"\((\w+)\)(-?\d+)")


class Instance(NamedTuple):
    """A device class with all its arguments as strings print them."""

    device: str
    arguments: tuple[str, ...]


def shorten(readable: str) -> str:
    """Return a readable name without its namespaces, sequences as strings print them: what is kept of it."""
    plain = _QUALIFIER.sub("", readable.removeprefix(_PREFIX)).replace("> >", ">>")
    return _SEQUENCE.sub(lambda match: f"Seq({match[1].replace(' ', '')})", plain)


def read_instance(short: str, vocabulary: Vocabulary) -> Instance:
    """Read a shortened name.

    :raises InputError: no class template, or an unknown enumerator.
    """
    return _instance(_ENUMERATOR.sub(lambda match: vocabulary.enumerator(match[1], match[2]), short))


def _instance(text: str) -> Instance:
    name, opening, rest = text.partition("<")
    if not opening or not rest.endswith(">"):
        raise InputError(f"{text[:80]} is no class template with arguments")
    return Instance(name, tuple(_argument(item) for item in _split(rest[:-1])))


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
    if "<" not in text and ", " in text:
        # The usual case. Sequences were printed without blanks, so a comma with a blank separates arguments.
        return text.split(", ")
    found = []
    depth = 0
    begin = 0
    for place, letter in enumerate(text):
        if letter in "<(":
            depth += 1
        elif letter in ">)":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[begin:place].strip())
            begin = place + 1
    last = text[begin:].strip()
    return [*found, last] if last or found else []


def unwrapped(argument: str) -> Instance:
    """Read an argument that is itself a class, as :func:`read_instance` prints it.

    :raises InputError: it is none.
    """
    return _instance(argument)
