"""Taking a line apart into arguments with their columns. Used where a line is wrong or unusually spaced."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

#: an argument whose parentheses match and do not nest
_USUAL: Final = re.compile(r"[^,()]*(?:\([^()]*\)[^,()]*)*")


class Argument(NamedTuple):
    """An argument without the blanks around it."""

    text: str
    #: zero-based place of its first character in the line
    start: int


def split_arguments(text: str, start: int, end: int) -> list[Argument]:
    """Split ``text[start:end]`` at the commas outside parentheses; a blank last argument does not count."""
    arguments = [_stripped(text, *bounds) for bounds in _pieces(text, start, end)]
    if arguments and not arguments[-1].text:
        arguments.pop()
    return arguments


def split_label(argument: Argument) -> tuple[str, Argument]:
    """Return the label in front of the first colon and the value after it; no colon, empty label."""
    label, colon, _ = argument.text.partition(":")
    if not colon:
        return "", argument
    return label.strip(), _stripped(argument.text, len(label) + 1, len(argument.text), argument.start)


def _stripped(text: str, start: int, end: int, base: int = 0) -> Argument:
    piece = text[start:end]
    stripped = piece.strip()
    if len(stripped) == len(piece):
        return Argument(piece, base + start)
    return Argument(stripped, base + start + len(piece) - len(piece.lstrip()))


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    pieces = []
    position = start
    while True:
        match = _USUAL.match(text, position, end)
        assert match is not None  # noqa: S101  # the expression also matches nothing
        stop = match.end()
        pieces.append((position, stop))
        if stop == end:
            return pieces
        if text[stop] != ",":
            return list(_nested_pieces(text, start, end))
        position = stop + 1


def _nested_pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a text whose parentheses nest or do not match."""
    depth = 0
    for index in range(start, end):
        char = text[index]
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(depth - 1, 0)
        elif char == "," and not depth:
            yield start, index
            start = index + 1
    yield start, end
