"""What an instance header declares: names for types and values, and the tuples of instances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof_plugins.extract.tokens import Expr, ExprReader, TokenStream

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One template parameter."""

    #: ``typename``, ``bool``, or the type of the value
    kind: str
    name: str
    #: what it is if it is not given; ``None`` if it must be given
    default: Expr | None = None
    #: it has a default, though one that is no simple argument
    has_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleAlias:
    """An alias template whose body is a ``std::tuple`` of instances."""

    name: str
    parameters: tuple[Parameter, ...]
    #: position of its ``<`` among the tokens of the header
    body: int


@dataclass(slots=True, kw_only=True)
class InstanceHeader:
    """One instance header. Its short names hold in it alone: other headers may give them other meanings."""

    path: str
    stream: TokenStream
    #: name -> what it stands for, for types and values
    names: dict[str, Expr] = field(default_factory=dict)
    #: names of alias templates that are sequences of numbers
    sequences: set[str] = field(default_factory=set)
    tuples: dict[str, TupleAlias] = field(default_factory=dict)

    def elements(self, alias: TupleAlias) -> tuple[Expr, ...]:
        """Read the instances of a tuple as they are written.

        :raises InputError: an element is nothing that the reader knows.
        """
        reader = ExprReader(self.stream, alias.body)
        return tuple(item for item in reader.arguments() if item.name != "nullptr_t")


def read_header(text: str, path: str) -> InstanceHeader:
    """Read a preprocessed instance header.

    :raises InputError: the declaration of a tuple cannot be read.
    """
    stream = TokenStream(text, path)
    header = InstanceHeader(path=path, stream=stream)
    texts = stream.texts
    position = 0
    while position < len(texts):
        piece = texts[position]
        if piece == "template" and texts[position + 1 : position + 2] == ["<"]:
            position = _template(header, position + 1)
        elif piece == "using" and texts[position + 2 : position + 3] == ["="]:
            position = _name(header, texts[position + 1], position + 3)
        elif piece == "constexpr" and texts[position + 1 : position + 2] == ["auto"]:
            position = _name(header, texts[position + 2], position + 4)
        else:
            position += 1
    return header


def _end_of_statement(stream: TokenStream, position: int) -> int:
    try:
        return stream.texts.index(";", position)
    except ValueError:
        raise stream.error("the declaration has no end", min(position, len(stream.texts) - 1)) from None


def _name(header: InstanceHeader, name: str, position: int) -> int:
    end = _end_of_statement(header.stream, position)
    reader = ExprReader(header.stream, position)
    value = reader.expression()
    if reader.position == end:
        header.names[name] = value
    return end + 1


def _template(header: InstanceHeader, position: int) -> int:
    stream = header.stream
    texts = stream.texts
    parameters, after = read_parameters(stream, position)
    if texts[after : after + 1] != ["using"]:
        return after
    name = texts[after + 1]
    body = after + 3
    end = _end_of_statement(stream, body)
    if texts[body : body + 4] == ["std", "::", "tuple", "<"]:
        header.tuples[name] = TupleAlias(name=name, parameters=parameters, body=body + 3)
    elif "Sequence" in texts[body : body + 4]:
        header.sequences.add(name)
    return end + 1


def read_parameters(stream: TokenStream, position: int) -> tuple[tuple[Parameter, ...], int]:
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


def _parameter(stream: TokenStream, begin: int, end: int) -> Parameter:
    words = stream.texts[begin:end]
    default: Expr | None = None
    has_default = "=" in words
    if has_default:
        equals = begin + words.index("=")
        default = _simple_default(stream, equals + 1, end)
        words = stream.texts[begin:equals]
    if words[0] == "typename" and len(words) > 2:
        # ``typename enable_if<...>::type``: a condition, no argument
        return Parameter(kind="condition", name="", has_default=True)
    kind = [word for word in words[:-1] if word not in ("::", "...")]
    return Parameter(kind=kind[-1] if kind else "", name=words[-1], default=default, has_default=has_default)


def _simple_default(stream: TokenStream, begin: int, end: int) -> Expr | None:
    if "decltype" in stream.texts[begin:end]:
        return None
    reader = ExprReader(stream, begin)
    value = reader.expression()
    return value if reader.position == end else None


def substitute(expression: Expr, header: InstanceHeader, bound: Mapping[str, Expr], depth: int = 0) -> Expr:
    """Replace parameters by their values and the header's short names by what they stand for."""
    name, args = expression
    if args is None:
        if name in bound:
            return bound[name]
        if name in header.names and depth < 16:
            meaning = header.names[name]
            return meaning if meaning.name == name else substitute(meaning, header, {}, depth + 1)
        return expression
    return Expr(
        "Sequence" if name in header.sequences else name,
        tuple(substitute(item, header, bound, depth) for item in args),
    )
