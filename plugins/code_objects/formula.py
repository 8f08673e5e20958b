"""Formulas over the sizes of a problem: written like Python, computed here and by generated C++."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_OPERATORS: Final[dict[type[ast.AST], tuple[Callable[[int, int], int], str]]] = {
    ast.Add: (operator.add, "({} + {})"),
    ast.Sub: (operator.sub, "({} - {})"),
    ast.Mult: (operator.mul, "({} * {})"),
    ast.FloorDiv: (operator.floordiv, "floor_div({}, {})"),
    ast.Mod: (operator.mod, "floor_mod({}, {})"),
    ast.Eq: (operator.eq, "({} == {})"),
    ast.NotEq: (operator.ne, "({} != {})"),
    ast.Lt: (operator.lt, "({} < {})"),
    ast.LtE: (operator.le, "({} <= {})"),
    ast.Gt: (operator.gt, "({} > {})"),
    ast.GtE: (operator.ge, "({} >= {})"),
}
_FUNCTIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "ceil_div": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}
#: of whole formulas, which are read by a recursion
_LONGEST: Final = 500
_ALLOWED: Final = (
    "names of sizes, integers, + - * // %, comparisons, and, or, not, a if b else c, "
    + ", ".join(f"{name}(a, b)" for name in _FUNCTIONS)
)


@dataclass(frozen=True)
class Formula:
    """A number or a truth that follows from the sizes of a problem.

    :raises InputError: it is no such formula, with the column.
    """

    text: str
    #: what it may name
    names: frozenset[str]

    def __post_init__(self) -> None:
        if len(self.text) > _LONGEST:
            raise InputError(f"a formula of {len(self.text)} characters, the longest has {_LONGEST}")
        nodes = list(ast.walk(self._tree))
        functions = [node.func for node in nodes if isinstance(node, ast.Call)]
        for node in nodes:
            if node not in functions:
                self._check(node)

    @cached_property
    def _tree(self) -> ast.expr:
        try:
            return ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as exc:
            column = getattr(exc, "offset", None) or 1
            raise InputError(f"formula {self.text!r}, column {column}: {exc.args[0]}") from None

    def _check(self, node: ast.AST) -> None:
        allowed: bool
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                if name not in self.names:
                    known = ", ".join(sorted(self.names))
                    raise self._wrong(node, f"there is no size {name!r}; there are {known}")
                allowed = True
            case ast.Constant(value=value):
                allowed = type(value) is int and abs(value) < 2**63
            case ast.Call(func=ast.Name(id=name)) if name not in _FUNCTIONS:
                raise self._wrong(node, unknown_name("function", name, _FUNCTIONS))
            case ast.Call(func=ast.Name(), args=arguments, keywords=[]):
                allowed = len(arguments) == 2
            case ast.BinOp(op=ast.Div()):
                raise self._wrong(node, "there is no division with '/', only '//' and ceil_div(a, b)")
            case ast.UnaryOp(op=ast.USub() | ast.Not()) | ast.BoolOp() | ast.IfExp():
                allowed = True
            case ast.BinOp(op=kind):
                allowed = type(kind) in _OPERATORS
            case ast.Compare(ops=kinds):
                allowed = len(kinds) == 1 and type(kinds[0]) in _OPERATORS
            case _:
                # operators and contexts come with the nodes that hold them
                allowed = not isinstance(node, ast.expr)
        if not allowed:
            raise self._wrong(node, f"expected {_ALLOWED}")

    def _wrong(self, node: ast.AST, text: str) -> InputError:
        column = getattr(node, "col_offset", 0) + 1
        return InputError(f"formula {self.text!r}, column {column}: {text}")

    @property
    def used(self) -> frozenset[str]:
        """The names in it."""
        return frozenset(
            node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node.id in self.names
        )

    def value(self, sizes: Mapping[str, int]) -> int:
        """Return what it is for some sizes; truths are 0 and 1.

        :raises InputError: it divides by 0.
        """
        try:
            return int(_value(self._tree, sizes))
        except ZeroDivisionError:
            raise InputError(f"formula {self.text!r} divides by 0") from None

    @property
    def cpp(self) -> str:
        """The same as an expression of C++, in which each size is a member of ``s``."""
        return _cpp(self._tree)


def formula(text: str | int, names: Collection[str]) -> Formula:
    """Return a formula over sizes of these names.

    :raises InputError: it is none.
    """
    return Formula(str(text), frozenset(names))


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Name(id=name):
            return sizes[name]
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, sizes)
        case ast.UnaryOp(operand=operand):
            return not _value(operand, sizes)
        case ast.BinOp(left=left, op=kind, right=right):
            return _OPERATORS[type(kind)][0](_value(left, sizes), _value(right, sizes))
        case ast.Compare(left=left, ops=[kind], comparators=[right]):
            return _OPERATORS[type(kind)][0](_value(left, sizes), _value(right, sizes))
        case ast.BoolOp(op=joined, values=values):
            join = all if isinstance(joined, ast.And) else any
            return join(_value(value, sizes) for value in values)
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _value(test, sizes) else other, sizes)
        case ast.Call(func=ast.Name(id=name), args=[first, second]):
            return _FUNCTIONS[name](_value(first, sizes), _value(second, sizes))
    raise AssertionError(ast.dump(node))


def _cpp(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return f"s.{name}"
        case ast.Constant(value=int() as value):
            return f"int64_t{{{value}}}"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"(-{_cpp(operand)})"
        case ast.UnaryOp(operand=operand):
            return f"int64_t(!{_cpp(operand)})"
        case ast.BinOp(left=left, op=kind, right=right):
            return _OPERATORS[type(kind)][1].format(_cpp(left), _cpp(right))
        case ast.Compare(left=left, ops=[kind], comparators=[right]):
            return f"int64_t{_OPERATORS[type(kind)][1].format(_cpp(left), _cpp(right))}"
        case ast.BoolOp(op=joined, values=values):
            sign = " && " if isinstance(joined, ast.And) else " || "
            return f"int64_t({sign.join(_cpp(value) for value in values)})"
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"({_cpp(test)} ? {_cpp(body)} : {_cpp(other)})"
        case ast.Call(func=ast.Name(id=name), args=[first, second]):
            function = name if name == "ceil_div" else f"std::{name}<int64_t>"
            return f"{function}({_cpp(first)}, {_cpp(second)})"
    raise AssertionError(ast.dump(node))
