"""What is read of C++: the preprocessor's part, tokens, template arguments and parameters.

Continued lines are joined, comments removed and ``#if`` regions evaluated; includes are not followed and
macros are not expanded, because no instance is written with one. The line numbers of the input are kept.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_COMMENT: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_CONTINUED: Final = re.compile(r"[^\n]*\\\n(?:[^\n]*\\\n)*[^\n]*")
_DIRECTIVE: Final = re.compile(r"\s*#\s*(\w+)\s*(.*)")
_DEFINE: Final = re.compile(r"(\w+)(\()?\s*(.*)")
_CONDITION_TOKEN: Final = re.compile(r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d+|&&|\|\||[!=<>]=|[!<>()]")
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


class _Region(Enum):
    """What becomes of the present lines of an ``#if`` ... ``#endif``."""

    KEPT = "kept"
    #: dropped, and none of the branches was taken so far
    WAITING = "waiting"
    #: dropped, and so is what follows
    DONE = "done"


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
            kept.append(line if _is_kept(regions) else "")
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


def _is_kept(regions: list[_Region]) -> bool:
    return not regions or regions[-1] is _Region.KEPT


def _obey(
    name: str, rest: str, regions: list[_Region], defined: dict[str, str], where: tuple[str, int]
) -> None:
    if name in ("if", "ifdef", "ifndef"):
        if not _is_kept(regions):
            regions.append(_Region.DONE)
        else:
            regions.append(_Region.KEPT if _condition(name, rest, defined, where) else _Region.WAITING)
    elif name in ("elif", "else", "endif"):
        if not regions:
            raise InputError(f"#{name} without #if", *where)
        if name == "endif":
            regions.pop()
        elif regions[-1] is not _Region.WAITING:
            regions[-1] = _Region.DONE
        elif name == "else" or _condition("if", rest, defined, where):
            regions[-1] = _Region.KEPT
    elif name == "define" and _is_kept(regions):
        match = _DEFINE.match(rest)
        if match is not None and not match[2]:
            defined[match[1]] = match[3].strip()
    elif name == "undef" and _is_kept(regions):
        defined.pop(rest.split()[0] if rest else "", None)


def _condition(name: str, rest: str, defined: Mapping[str, str], where: tuple[str, int]) -> bool:
    if name == "if":
        return evaluate(rest, defined, where)
    word = rest.split()[0] if rest else ""
    return (word in defined) == (name == "ifdef")


def evaluate(text: str, defined: Mapping[str, str], where: tuple[str, int]) -> bool:
    """Evaluate one condition as an expression of Python, whose ``~`` binds as ``!`` does.

    Unknown names are 0, as the language says. Both sides of ``&&`` and ``||`` are evaluated: what cannot be
    is an error wherever it stands.
    """
    plain = _DEFINED.sub(lambda match: str(int((match[1] or match[2]) in defined)), text)
    try:
        if _CONDITION_TOKEN.sub("", plain).strip() or "defined" in plain:
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

    def following(self, piece: str, index: int, message: str) -> int:
        """Return the position of the next such piece.

        :raises InputError: there is none, which the message says.
        """
        try:
            return self.texts.index(piece, index)
        except ValueError:
            raise self.error(message, min(index, len(self.texts) - 1)) from None

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
        got = self._piece or "the end"
        return self._stream.error(
            f"expected {expected}, got {got}", min(self.position, max(len(self._texts) - 1, 0))
        )

    @property
    def _piece(self) -> str:
        """The present token; empty at the end."""
        return self._texts[self.position] if self.position < len(self._texts) else ""

    def _take(self, piece: str) -> bool:
        taken = self._piece == piece
        self.position += taken
        return taken

    def arguments(self) -> tuple[Expr, ...]:
        """Read ``<`` ... ``>``."""
        self.position += 1
        arguments: list[Expr] = []
        while not self._take(">"):
            if arguments and not self._take(","):
                raise self.error("a comma or >")
            arguments.append(self.expression())
        return tuple(arguments)

    def expression(self) -> Expr:
        """Read one argument.

        :raises InputError: it is no name, number, template or call without arguments.
        """
        sign = "-" if self._take("-") else ""
        piece = self._piece
        if piece[:1].isdigit():
            self.position += 1
            return Expr(sign + piece.rstrip("uUlL"))
        if sign or not (_WORD.fullmatch(piece) or piece == "::"):
            raise self.error("a template argument")
        name = self._name()
        args = self.arguments() if self._piece == "<" else None
        if self._texts[self.position : self.position + 2] == ["(", ")"]:
            self.position += 2
        elif self._take("::"):
            # what is nested in a template has the template as its scope
            return self.expression()
        self._take("...")
        return Expr(name, args)

    def _name(self) -> str:
        self._take("::")
        words = [self._word()]
        while words[-1] in _COMPOUND and self._piece in _COMPOUND:
            words.append(self._word())
        while self._take("::"):
            words = [self._word()]
        return " ".join(words)

    def _word(self) -> str:
        piece = self._piece
        if not _WORD.fullmatch(piece):
            raise self.error("a name")
        self.position += 1
        return piece


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateParameter:
    """One template parameter."""

    #: ``typename``, ``bool``, or the type of the value
    kind: str
    name: str
    #: what it is if it is not given; ``None`` if it must be given
    default: Expr | None = None
    #: it has a default, though one that is no simple argument
    has_default: bool = False


def read_parameters(stream: TokenStream, position: int) -> tuple[tuple[TemplateParameter, ...], int]:
    """Read the parameters of a template from its ``<``; return them and the position after the ``>``.

    Defaults that are expressions of C++ are not evaluated: they are known to exist.
    """
    texts = stream.texts
    end = stream.closing(position)
    parameters = []
    begin = position + 1
    depth = 0
    for at in range(position + 1, end + 1):
        piece = texts[at]
        if at == end or (piece == "," and depth == 0):
            if at > begin:
                parameters.append(_parameter(stream, begin, at))
            begin = at + 1
        elif piece in "<({":
            depth += 1
        elif piece in ">)}":
            depth -= 1
    return tuple(parameters), end + 1


def _parameter(stream: TokenStream, begin: int, end: int) -> TemplateParameter:
    words = stream.texts[begin:end]
    default: Expr | None = None
    has_default = "=" in words
    if has_default:
        equals = begin + words.index("=")
        default = _simple_default(stream, equals + 1, end)
        words = stream.texts[begin:equals]
    if words[0] == "typename" and len(words) > 2:
        # ``typename enable_if<...>::type``: a condition, no argument
        return TemplateParameter(kind="condition", name="", has_default=True)
    kind = [word for word in words[:-1] if word not in ("::", "...")]
    return TemplateParameter(
        kind=kind[-1] if kind else "", name=words[-1], default=default, has_default=has_default
    )


def _simple_default(stream: TokenStream, begin: int, end: int) -> Expr | None:
    if "decltype" in stream.texts[begin:end]:
        return None
    reader = ExprReader(stream, begin)
    value = reader.expression()
    return value if reader.position == end else None
