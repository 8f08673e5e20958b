"""Reads which functions a factory calls for given layouts and types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.extract.preprocess import preprocess
from ckprof_plugins.extract.tokens import ExprReader, TokenStream
from ckprof_plugins.extract.vocabulary import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_converters.library_lists import ListKey
    from ckprof_plugins.extract.tokens import Expr

_DIMENSIONS: Final = ("NumDimSpatial", "NDimSpatial")
_LAYOUTS: Final[Mapping[str, str]] = {"InLayout": "input", "WeiLayout": "weight", "OutLayout": "output"}
_TYPE: Final = re.compile(r"(?:In|Wei|Out)DataType|[AB]?ComputeType[AB]?|[AB]?ComputeDataType")


#: parameter that stands for the layouts of D tensors, and how it is asked for their number
_D_LAYOUTS: Final = "DLayouts"
_SIZE: Final = ("::", "Size", "(", ")")
_OPERAND: Final = re.compile(r"(In|Wei)DataType")
_OPERANDS: Final = {"In": 0, "Wei": 1}
#: no layout
_NONE: Final = "no such tensor"


def _printed(argument: Expr) -> str:
    """Return a type or a tuple of types as instance strings print it."""
    if argument.name != "Tuple":
        return words().get(argument.name, argument.name)
    inner = ",".join(_printed(item) for item in argument.args or ())
    return f"Tuple({inner})" if inner else "EmptyTuple"


class Factory:
    """The factory of one direction.

    :param macros: what is defined; it decides which instructions the instances use.
    :raises InputError: the header has no ``GetInstances``, or an ``#if`` that cannot be evaluated.
    """

    def __init__(self, text: str, macros: Mapping[str, str], path: str) -> None:
        plain, _ = preprocess(text, macros, path)
        self._stream = TokenStream(plain, path)
        self._bodies = []
        for index, piece in enumerate(self._stream.texts):
            if piece == "GetInstances":
                body = self._stream.closing(index + 1) + 1
                if self._stream.texts[body : body + 1] == ["{"]:
                    self._bodies.append(body)
        if not self._bodies:
            raise InputError("no GetInstances in this header", path)

    def calls(self, key: ListKey) -> tuple[str, ...]:
        """Return the names of the functions that ``GetInstances`` calls for a list, in its order.

        :raises InputError: a statement or a condition that cannot be evaluated.
        """
        walk = _Walk(self._stream, key)
        for body in self._bodies:
            walk.block(body, taken=True)
        return tuple(walk.calls)


class _Walk:
    """Walks the blocks of a function; what is not taken is read too, so that nothing unknown hides there."""

    def __init__(self, stream: TokenStream, key: ListKey) -> None:
        self._stream = stream
        self._texts = stream.texts
        self._key = key
        self.calls: list[str] = []

    def block(self, position: int, *, taken: bool) -> int:
        """Walk from ``{``; return the position after its ``}``."""
        end = self._stream.closing(position)
        position += 1
        while position < end:
            position = self._statement(position, taken=taken)
        return end + 1

    def _statement(self, position: int, *, taken: bool) -> int:
        piece = self._texts[position]
        if piece == "{":
            return self.block(position, taken=taken)
        if piece == "if":
            return self._if(position, taken=taken)
        if piece.startswith("add_") and self._texts[position + 1] == "(":
            if taken:
                self.calls.append(piece)
            return self._after_statement(position)
        if piece in ("static_assert", "return", "std", "using", ";"):
            return self._after_statement(position)
        raise self._stream.error(f"cannot read this statement of the factory: {piece}", position)

    def _after_statement(self, position: int) -> int:
        try:
            return self._texts.index(";", position) + 1
        except ValueError:
            raise self._stream.error("the statement has no end", position) from None

    def _if(self, position: int, *, taken: bool) -> int:
        open_ = taken
        while True:
            if self._texts[position : position + 2] != ["if", "constexpr"]:
                raise self._stream.error("expected if constexpr", position)
            condition = _Condition(self._stream, position + 3, self._key)
            value = condition.value()
            position = self.block(condition.position + 1, taken=open_ and value)
            open_ = open_ and not value
            if position >= len(self._texts) or self._texts[position] != "else":
                return position
            position += 1
            if self._texts[position] == "{":
                return self.block(position, taken=open_)


class _Condition:
    """Evaluates the condition of one ``if constexpr``; an unknown word in it is an error, never false."""

    def __init__(self, stream: TokenStream, position: int, key: ListKey) -> None:
        self._stream = stream
        self._texts = stream.texts
        self._key = key
        #: the bracket that closes the condition, once it was evaluated
        self.position = position

    def value(self) -> bool:
        """Evaluate up to the closing bracket."""
        result = self._all()
        while self._texts[self.position] == "||":
            self.position += 1
            right = self._all()
            result = result or right
        if self._texts[self.position] != ")":
            raise self._error()
        return result

    def _error(self) -> InputError:
        return self._stream.error(
            f"cannot evaluate this condition of the factory at {self._texts[self.position]}", self.position
        )

    def _all(self) -> bool:
        result = self._term()
        while self._texts[self.position] == "&&":
            self.position += 1
            right = self._term()
            result = result and right
        return result

    def _term(self) -> bool:
        piece = self._texts[self.position]
        if piece == "(":
            self.position += 1
            result = self.value()
            self.position += 1
            return result
        if piece in _DIMENSIONS and self._texts[self.position + 1] == "==":
            number = self._texts[self.position + 2]
            if number.isdigit():
                self.position += 3
                return int(number) == self._key.shape.dimensions
        if piece == _D_LAYOUTS and self._texts[self.position + 1 : self.position + 6] == [*_SIZE, "=="]:
            number = self._texts[self.position + 6]
            if number.isdigit():
                self.position += 7
                return int(number) == len(self._key.d_layouts)
        if piece == "ck" or piece == "std":
            self.position += 2
            piece = self._texts[self.position]
        if piece == "is_same_v" and self._texts[self.position + 1] == "<":
            return self._same()
        raise self._error()

    def _same(self) -> bool:
        begin = self.position
        reader = ExprReader(self._stream, self.position + 1)
        left, right = (*reader.arguments(), None, None)[:2]
        if left is None or right is None:
            raise self._error()
        expected = self._element(left) or self._meaning(left.name)
        if expected is None:
            self.position = begin + 2
            raise self._error()
        other = self._meaning(right.name)
        self.position = reader.position
        return expected == (_printed(right) if other is None else other)

    def _element(self, argument: Expr) -> str | None:
        """Return the layout of a D tensor by its number; the empty text if there is no such one."""
        if argument.name != "tuple_element_t" or not argument.args or argument.args[1].name != _D_LAYOUTS:
            return None
        number = int(argument.args[0].name)
        layouts = self._key.d_layouts
        return layouts[number] if number < len(layouts) else _NONE

    def _meaning(self, parameter: str) -> str | None:
        """Return the value of a parameter of the factory; ``None`` for any other word."""
        if parameter in _LAYOUTS:
            return str(getattr(self._key.shape, _LAYOUTS[parameter]))
        operand = _OPERAND.fullmatch(parameter)
        if operand:
            return self._key.operand_type(_OPERANDS[operand[1]])
        if not _TYPE.fullmatch(parameter):
            return None
        input_, weight, output = self._key.types
        if parameter == "OutDataType":
            return output
        return weight if "B" in (parameter[0], parameter[-1]) else input_
