"""Tokens of the headers, and the template arguments that they spell."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ckprof.errors import InputError

_TOKEN: Final = re.compile(r'[A-Za-z_]\w*|\d\w*(?:\.\w*)?|::|\.\.\.|&&|\|\||==|"(?:\\.|[^"\\\n])*"|\S')
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
#: words that name one type together
_COMPOUND: Final = frozenset(("unsigned", "signed", "short", "long", "int", "char"))


class Expr(NamedTuple):
    """A template argument: a name or a number, with arguments of its own if it is a template.

    A qualified name is its last component: ``LoopScheduler::Default`` is ``Default``.
    """

    name: str
    args: tuple[Expr, ...] | None = None


class TokenStream:
    """The tokens of one text; a line number is found only when a message needs one.

    :param text: C++ without comments and directives.
    :param path: name of the text, for messages.
    """

    def __init__(self, text: str, path: str) -> None:
        self.texts: list[str] = _TOKEN.findall(text)
        self.path = path
        self._text = text

    def line_of(self, index: int) -> int:
        """Return the one-based line of a token."""
        last = 0
        for count, match in enumerate(_TOKEN.finditer(self._text)):
            last = match.start()
            if count == index:
                break
        return self._text.count("\n", 0, last) + 1

    def error(self, message: str, index: int) -> InputError:
        """Return an error that points at a token."""
        return InputError(message, self.path, self.line_of(index))

    def closing(self, index: int) -> int:
        """Return the position of the bracket that closes the one at ``index``; ``<`` counts as one.

        :raises InputError: the bracket is never closed.
        """
        texts = self.texts
        pairs = {"<": ">", "(": ")", "{": "}", "[": "]"}
        opening = texts[index]
        close = pairs[opening]
        depth = 0
        for position in range(index, len(texts)):
            piece = texts[position]
            if piece == opening:
                depth += 1
            elif piece == close:
                depth -= 1
                if depth == 0:
                    return position
        raise self.error(f"{opening} is never closed", index)


class ExprReader:
    """Reads template arguments from tokens, beginning at ``position``."""

    def __init__(self, stream: TokenStream, position: int = 0) -> None:
        self._stream = stream
        self._texts = stream.texts
        self.position = position

    def error(self, expected: str) -> InputError:
        """Return an error about the present token."""
        got = self._texts[self.position] if self.position < len(self._texts) else "the end"
        return self._stream.error(
            f"expected {expected}, got {got}", min(self.position, max(len(self._texts) - 1, 0))
        )

    def _is(self, piece: str) -> bool:
        return self.position < len(self._texts) and self._texts[self.position] == piece

    def arguments(self) -> tuple[Expr, ...]:
        """Read ``<`` ... ``>``."""
        self.position += 1
        arguments: list[Expr] = []
        while not self._is(">"):
            if arguments:
                if not self._is(","):
                    raise self.error("a comma or >")
                self.position += 1
            arguments.append(self.expression())
        self.position += 1
        return tuple(arguments)

    def expression(self) -> Expr:
        """Read one argument.

        :raises InputError: it is no name, number, template or call without arguments.
        """
        sign = ""
        if self._is("-"):
            sign = "-"
            self.position += 1
        if self.position >= len(self._texts):
            raise self.error("a template argument")
        piece = self._texts[self.position]
        if piece[0].isdigit():
            self.position += 1
            return Expr(sign + piece.rstrip("uUlL"))
        if sign or not (_WORD.fullmatch(piece) or piece == "::"):
            raise self.error("a template argument")
        name = self._name()
        args = self.arguments() if self._is("<") else None
        if self._is("(") and self._texts[self.position + 1 : self.position + 2] == [")"]:
            self.position += 2
        elif self._is("::"):
            # what is nested in a template has the template as its scope
            self.position += 1
            return self.expression()
        if self._is("..."):
            self.position += 1
        return Expr(name, args)

    def _name(self) -> str:
        if self._is("::"):
            self.position += 1
        words = [self._word()]
        while words[-1] in _COMPOUND and not _COMPOUND.isdisjoint(
            self._texts[self.position : self.position + 1]
        ):
            words.append(self._word())
        while self._is("::"):
            self.position += 1
            words = [self._word()]
        return " ".join(words)

    def _word(self) -> str:
        piece = self._texts[self.position] if self.position < len(self._texts) else ""
        if not _WORD.fullmatch(piece):
            raise self.error("a name")
        self.position += 1
        return piece
