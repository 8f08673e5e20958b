"""The part of the C++ preprocessor that the library's headers need.

Continued lines are joined, comments removed and ``#if`` regions evaluated; includes are not followed and
macros are not expanded, because no instance is written with one. The line numbers of the input are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_COMMENT: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_CONTINUED: Final = re.compile(r"[^\n]*\\\n(?:[^\n]*\\\n)*[^\n]*")
_DIRECTIVE: Final = re.compile(r"\s*#\s*(\w+)\s*(.*)")
_DEFINE: Final = re.compile(r"(\w+)(\()?\s*(.*)")
_TOKEN: Final = re.compile(r"\s*(defined\b|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d+|&&|\|\||[!=<>]=|[!<>()])")


@dataclass(slots=True)
class _Region:
    """One ``#if`` ... ``#endif``."""

    #: lines are kept at the moment
    active: bool
    #: some branch was taken already
    taken: bool
    #: the surrounding region is kept
    outer: bool


def preprocess(text: str, macros: Mapping[str, str], path: str) -> tuple[str, dict[str, str]]:
    """Return the text without comments and regions that are switched off, and the macros after it.

    :param macros: name -> value of the object-like macros that are defined before the text.
    :param path: name of the header, for messages.
    :raises InputError: a condition that cannot be evaluated, or unbalanced conditionals.
    """
    joined = _CONTINUED.sub(_join, text)
    plain = _COMMENT.sub(_blank, joined)
    defined = dict(macros)
    if "#" not in plain:
        return plain, defined
    regions: list[_Region] = []
    kept = []
    for number, line in enumerate(plain.split("\n"), start=1):
        directive = _DIRECTIVE.match(line) if "#" in line else None
        if directive is None:
            kept.append(line if not regions or regions[-1].active else "")
            continue
        kept.append("")
        _obey(directive[1], directive[2].strip(), regions, defined, (path, number))
    if regions:
        raise InputError("#if without #endif", path)
    return "\n".join(kept), defined


def _join(match: re.Match[str]) -> str:
    text = match[0]
    return text.replace("\\\n", " ") + "\n" * text.count("\\\n")


def _blank(match: re.Match[str]) -> str:
    text = match[0]
    if text.startswith('"'):
        return text
    return " " + "\n" * text.count("\n")


def _obey(
    name: str, rest: str, regions: list[_Region], defined: dict[str, str], where: tuple[str, int]
) -> None:
    active = not regions or regions[-1].active
    if name in ("if", "ifdef", "ifndef"):
        value = active and _condition(name, rest, defined, where)
        regions.append(_Region(active=value, taken=value, outer=active))
    elif name in ("elif", "else", "endif"):
        if not regions:
            raise InputError(f"#{name} without #if", *where)
        _turn(name, rest, regions, defined, where)
    elif active and name == "define":
        match = _DEFINE.match(rest)
        if match is not None and not match[2]:
            defined[match[1]] = match[3].strip()
    elif active and name == "undef":
        defined.pop(rest.split()[0] if rest else "", None)


def _turn(
    name: str, rest: str, regions: list[_Region], defined: dict[str, str], where: tuple[str, int]
) -> None:
    if name == "endif":
        regions.pop()
        return
    region = regions[-1]
    open_ = region.outer and not region.taken
    region.active = open_ and (name == "else" or _condition("if", rest, defined, where))
    region.taken = region.taken or region.active


def _condition(name: str, rest: str, defined: Mapping[str, str], where: tuple[str, int]) -> bool:
    if name == "if":
        return bool(_Evaluation(rest, defined, where).value())
    word = rest.split()[0] if rest else ""
    return (word in defined) == (name == "ifdef")


class _Evaluation:
    """Evaluates one condition; unknown names are 0, as the language says."""

    def __init__(self, text: str, defined: Mapping[str, str], where: tuple[str, int]) -> None:
        self._text = text
        self._defined = defined
        self._where = where
        self._tokens = list(self._split(text))
        self._next = 0

    def _split(self, text: str) -> Iterable[str]:
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._error()
            yield match[1]
            place = match.end()

    def _error(self) -> InputError:
        return InputError(f"cannot evaluate #if {self._text}", *self._where)

    def _take(self) -> str:
        if self._next == len(self._tokens):
            raise self._error()
        self._next += 1
        return self._tokens[self._next - 1]

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def value(self) -> int:
        result = self._any()
        if self._peek():
            raise self._error()
        return result

    def _any(self) -> int:
        result = self._all()
        while self._peek() == "||":
            self._take()
            # Both sides are read: what cannot be evaluated is an error wherever it stands.
            right = self._all()
            result = int(bool(result) or bool(right))
        return result

    def _all(self) -> int:
        result = self._comparison()
        while self._peek() == "&&":
            self._take()
            right = self._comparison()
            result = int(bool(result) and bool(right))
        return result

    def _comparison(self) -> int:
        left = self._unary()
        operator = self._peek()
        if operator not in ("==", "!=", "<", ">", "<=", ">="):
            return left
        self._take()
        right = self._unary()
        return int(
            {
                "==": left == right,
                "!=": left != right,
                "<": left < right,
                ">": left > right,
                "<=": left <= right,
                ">=": left >= right,
            }[operator]
        )

    def _unary(self) -> int:
        piece = self._take()
        if piece == "!":
            return int(not self._unary())
        if piece == "(":
            result = self._any()
            if self._take() != ")":
                raise self._error()
            return result
        if piece == "defined":
            return self._is_defined()
        if piece[0].isdigit():
            return int(piece, 0)
        if not (piece[0].isalpha() or piece[0] == "_") or self._peek() == "(":
            raise self._error()
        return self._number_of(piece)

    def _is_defined(self) -> int:
        bracketed = self._peek() == "("
        if bracketed:
            self._take()
        name = self._take()
        if bracketed and self._take() != ")":
            raise self._error()
        return int(name in self._defined)

    def _number_of(self, name: str) -> int:
        seen = {name}
        value = self._defined.get(name, "0")
        while value in self._defined and value not in seen:
            seen.add(value)
            value = self._defined[value]
        return int(value, 0) if re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", value) else 0
