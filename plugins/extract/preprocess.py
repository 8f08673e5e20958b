"""The part of the C++ preprocessor that the library's headers need.

Continued lines are joined, comments removed and ``#if`` regions evaluated; includes are not followed and
macros are not expanded, because no instance is written with one. The line numbers of the input are kept.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_COMMENT: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_CONTINUED: Final = re.compile(r"[^\n]*\\\n(?:[^\n]*\\\n)*[^\n]*")
_DIRECTIVE: Final = re.compile(r"\s*#\s*(\w+)\s*(.*)")
_DEFINE: Final = re.compile(r"(\w+)(\()?\s*(.*)")
_TOKEN: Final = re.compile(r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d+|&&|\|\||[!=<>]=|[!<>()]")
_DEFINED: Final = re.compile(r"\bdefined\s*(?:\(\s*([A-Za-z_]\w*)\s*\)|\b([A-Za-z_]\w*))")
_OPERATOR: Final = re.compile(r"&&|\|\||!(?!=)")
_PYTHON: Final = {"&&": " and ", "||": " or ", "!": "~"}
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[int, int], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
}


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
        return _evaluate(rest, defined, where)
    word = rest.split()[0] if rest else ""
    return (word in defined) == (name == "ifdef")


def _evaluate(text: str, defined: Mapping[str, str], where: tuple[str, int]) -> bool:
    """Evaluate one condition as an expression of Python, whose ``~`` binds as ``!`` does.

    Unknown names are 0, as the language says. Both sides of ``&&`` and ``||`` are evaluated: what cannot be
    is an error wherever it stands.
    """
    plain = _DEFINED.sub(lambda match: str(int((match[1] or match[2]) in defined)), text)
    try:
        if _TOKEN.sub("", plain).strip() or "defined" in plain:
            raise ValueError(plain)
        spelled = _OPERATOR.sub(lambda match: _PYTHON[match[0]], plain)
        return bool(_value(ast.parse(spelled.strip(), mode="eval").body, defined))
    except (SyntaxError, ValueError):
        raise InputError(f"cannot evaluate #if {text}", *where) from None


def _value(node: ast.expr, defined: Mapping[str, str]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return _number_of(name, defined)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return int(not _value(operand, defined))
        case ast.BoolOp(op=operation, values=values):
            numbers = [_value(value, defined) for value in values]
            return int(all(numbers) if isinstance(operation, ast.And) else any(numbers))
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            return int(_COMPARISONS[type(comparison)](_value(left, defined), _value(right, defined)))
    raise ValueError(ast.dump(node))


def _number_of(name: str, defined: Mapping[str, str]) -> int:
    seen = {name}
    value = defined.get(name, "0")
    while value in defined and value not in seen:
        seen.add(value)
        value = defined[value]
    return int(value, 0) if re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", value) else 0
