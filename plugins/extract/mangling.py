"""A decoder of mangled names for what the library's device classes need.

It knows nested names, template arguments and packs of them, substitutions, fundamental types, and literals of
integers, ``bool`` and enumerations: the part of the Itanium C++ ABI (section 5.1) that names these instances.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ckprof.errors import InputError
from ckprof_plugins.extract.headers import enumerator, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.extract.headers import Enumerations


_TYPES: Final = {
    "a": "signed char",
    "b": "bool",
    "c": "char",
    "d": "double",
    "f": "float",
    "h": "unsigned char",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "s": "short",
    "t": "unsigned short",
    "v": "void",
    "x": "long long",
    "y": "unsigned long long",
}
#: suffix of a literal's number, as demanglers print it
_SUFFIXES: Final = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
_STANDARD: Final = {"t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string"}
#: how the virtual table of a class begins, mangled and readable
_TABLE: Final = "_ZTV"
_PREFIX: Final = "vtable for "
_LENGTH: Final = re.compile(r"\d+")
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class ManglingError(InputError):
    """A mangled name with a part that the decoder does not know."""


def decode(mangled: str) -> str:
    """Return the readable name of a class's virtual table or of a type, as the C++ runtime prints it.

    :raises ManglingError: the name has a part that is not known.
    """
    is_table = mangled.startswith(_TABLE)
    decoder = _Decoder(mangled, len(_TABLE) if is_table else 2 if mangled.startswith("_Z") else 0)
    text = f"{_PREFIX if is_table else ''}{decoder.type()}"
    if decoder.position != len(mangled):
        raise decoder.error()
    return text


class _Decoder:
    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self.position = position
        self._substitutions: list[str] = []

    def error(self) -> ManglingError:
        rest = self._text[self.position : self.position + 24]
        return ManglingError(
            f"cannot decode the mangled name at {self.position} ({rest}): {self._text[:120]}"
        )

    def _peek(self) -> str:
        return self._text[self.position : self.position + 1]

    def _take(self, token: str) -> bool:
        if self._text.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def type(self) -> str:
        """Read a type."""
        if self._take("DF16_"):
            return "_Float16"
        if self._take("N"):
            return self._nested()
        letter = self._peek()
        if letter in _TYPES and letter:
            self.position += 1
            return _TYPES[letter]
        if self._take("S"):
            name, is_standard = self._substitution()
            if is_standard and self._peek().isdigit():
                name = self._remember(f"{name}::{self._source_name()}")
        elif letter.isdigit():
            name = self._remember(self._source_name())
        else:
            raise self.error()
        return self._remember(name + self._arguments()) if self._take("I") else name

    def _substitution(self) -> tuple[str, bool]:
        letter = self._peek()
        if letter in _STANDARD and letter:
            self.position += 1
            return _STANDARD[letter], letter == "t"
        end = self._text.find("_", self.position)
        code = self._text[self.position : end] if end >= 0 else "?"
        if any(digit not in _DIGITS for digit in code):
            raise self.error()
        index = int(code, 36) + 1 if code else 0
        if index >= len(self._substitutions):
            raise self.error()
        self.position = end + 1
        return self._substitutions[index], False

    def _remember(self, name: str) -> str:
        self._substitutions.append(name)
        return name

    def _source_name(self) -> str:
        length = _LENGTH.match(self._text, self.position)
        if length is None:
            raise self.error()
        self.position, size = length.end(), int(length[0])
        if not size or self.position + size > len(self._text):
            raise self.error()
        self.position += size
        return self._text[length.end() : self.position]

    def _nested(self) -> str:
        """Read what follows ``N``, up to its ``E``."""
        name = ""
        while not self._take("E"):
            if self._take("S"):
                if name:
                    raise self.error()
                name = self._substitution()[0]
            elif name and self._take("I"):
                name = self._remember(name + self._arguments())
            elif self._peek().isdigit():
                part = self._source_name()
                name = self._remember(f"{name}::{part}" if name else part)
            else:
                raise self.error()
        return name

    def _arguments(self) -> str:
        arguments: list[str] = []
        while not self._take("E"):
            arguments.extend(self._argument())
        inner = ", ".join(arguments)
        # The runtimes differ in whether a blank follows two closing brackets; this is the older custom.
        return f"<{inner} >" if inner.endswith(">") else f"<{inner}>"

    def _argument(self) -> list[str]:
        if self._take("L"):
            return [self._literal()]
        if self._take("J"):
            pack: list[str] = []
            while not self._take("E"):
                pack.extend(self._argument())
            return pack
        return [self.type()]

    def _literal(self) -> str:
        letter = self._peek()
        kind = self.type()
        end = self._text.find("E", self.position)
        number = self._text[self.position : end] if end >= 0 else ""
        if not number.lstrip("n").isdigit():
            raise self.error()
        self.position = end + 1
        number = number.replace("n", "-")
        if kind == "bool":
            return {"0": "false", "1": "true"}[number]
        if kind == "int":
            return number
        if letter in _SUFFIXES:
            return number + _SUFFIXES[letter]
        return f"({kind}){number}"


_QUALIFIER: Final = re.compile(r"(?:[A-Za-z_]\w*::)+")
_SEQUENCE: Final = re.compile(r"\bSequence<([-\d, ]*)>")
_ENUMERATOR: Final = re.compile(r"\((\w+)\)(-?\d+)")
#: a comma between arguments, not one inside a sequence
_COMMA: Final = re.compile(r",\s*(?![^()]*\))")


class DeviceInstance(NamedTuple):
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
    device, arguments = read_class(_SEQUENCE.sub(lambda match: f"Seq({match[1].replace(' ', '')})", plain))
    return [device, *arguments]


def read_instance(parts: Sequence[str], enumerations: Enumerations) -> DeviceInstance:
    """Return an instance that was taken apart.

    :raises InputError: an unknown enumerator.
    """
    named = partial(_ENUMERATOR.sub, lambda match: enumerator(enumerations, match[1], match[2]))
    arguments = tuple(named(item) if item[:1] == "(" or "<" in item else item for item in parts[1:])
    return DeviceInstance(parts[0], arguments)


def read_class(text: str) -> DeviceInstance:
    """Read a class with its arguments, as :func:`read_instance` prints it.

    :raises InputError: it is none.
    """
    name, opening, rest = text.partition("<")
    if not opening or not rest.endswith(">"):
        raise InputError(f"{text[:80]} is not a class template with arguments")
    return DeviceInstance(name, tuple([_argument(item) for item in _split(rest[:-1])]))


def _argument(text: str) -> str:
    if "<" not in text:
        return words().get(text, text)
    name, arguments = read_class(text)
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
