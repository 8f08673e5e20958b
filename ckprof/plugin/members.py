"""What protocols declare: the members that objects must have, and the types of what these return.

Protocols import their types for type checkers alone, so that a command loads only what it works with. A class
is therefore recognised by its name, among those that the class of a value derives from.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from types import FunctionType
from typing import Final

from ckprof import errors
from ckprof.model.problem import Problem
from ckprof.model.strings.kind import Spelling
from ckprof.model.tensor import Layout

#: says whether a value is of a type
Check = Callable[[object], bool]

_RAISES: Final = re.compile(r":raises (\w+):")

#: what is recognised by its members; a name is not enough
STRUCTURAL: Final[dict[str, type]] = {kind.__name__: kind for kind in (Layout, Problem, Spelling)}
#: names of those among them whose members are called within the boundary of their plugin as well
OBJECTS: Final = {"Spelling"}
#: name in annotations -> that of the class
_OTHER_NAMES: Final = {"NDArray": "ndarray"}
_BUILTIN: Final[Mapping[str, type]] = {
    "str": str,
    "bytes": bytes,
    "bool": bool,
    "float": float,
    "object": object,
    "Any": object,
    "Future": Future,
}
#: containers whose items are checked
_CONTAINERS: Final[Mapping[str, tuple[type, ...]]] = {
    "Sequence": (list, tuple),
    "list": (list,),
    "tuple": (tuple,),
    "frozenset": (frozenset,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An attribute or a method of a protocol, or a field of a dataclass."""

    name: str
    #: names of the parameters of a method; ``None`` for an attribute
    parameters: tuple[str, ...] | None = None
    #: annotation of the attribute, or of what the method returns
    annotation: str
    #: errors that it may raise, as its docstring says; they are shown as they are
    raises: tuple[type[BaseException], ...] = ()

    @property
    def spelling(self) -> str:
        """``name`` or ``name(parameters)``."""
        return self.name if self.parameters is None else f"{self.name}({', '.join(self.parameters)})"


def know_objects(*protocols: type) -> None:
    """Have objects of these protocols, which members of other objects return, called within the boundary."""
    STRUCTURAL.update((protocol.__name__, protocol) for protocol in protocols)
    OBJECTS.update(protocol.__name__ for protocol in protocols)


@cache
def members_of(protocol: type) -> tuple[Member, ...]:
    """Return the members that a protocol itself declares, or the fields of a dataclass, in their order."""
    members = [Member(name=name, annotation=text) for name, text in _annotations(protocol).items()]
    for name, value in vars(protocol).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            members.append(Member(name=name, annotation=_annotations(value.fget)["return"]))
        elif isinstance(value, FunctionType):
            code = value.__code__
            members.append(
                Member(
                    name=name,
                    parameters=code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount],
                    annotation=_annotations(value)["return"],
                    raises=_raised(value.__doc__),
                )
            )
    return tuple(members)


@cache
def check_of(annotation: str) -> Check:
    """Return what says whether a value, and what it contains, is of a type that is given as source text."""
    return _check(ast.parse(annotation, mode="eval").body)


@cache
def function_result(annotation: str) -> str:
    """Return ``R`` of a ``Callable[[...], R]``, with or without ``| None``; empty for another annotation."""
    alternatives = [ast.parse(annotation, mode="eval").body]
    while alternatives:
        match alternatives.pop():
            case ast.BinOp(left=left, right=right):
                alternatives += [left, right]
            case ast.Subscript(value=ast.Name(id="Callable"), slice=ast.Tuple(elts=[_, result])):
                return ast.unparse(result)
    return ""


def _annotations(item: object) -> dict[str, str]:
    annotations: dict[str, str] = vars(item).get("__annotations__", {}) if isinstance(item, type) else {}
    return item.__annotations__ if isinstance(item, FunctionType) else annotations


def _raised(doc: str | None) -> tuple[type[BaseException], ...]:
    """Return the errors of ckprof that a docstring names; all of them where docstrings were stripped."""
    if doc is None:
        return (errors.CkprofError,)
    return tuple(vars(errors)[name] for name in _RAISES.findall(doc) if name in vars(errors))


def _check(node: ast.expr) -> Check:
    match node:
        case ast.Constant(value=None):
            return lambda value: value is None
        case ast.BinOp(left=left, right=right):
            first, second = _check(left), _check(right)
            return lambda value: first(value) or second(value)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=parts)):
            return _generic(name, parts)
        case ast.Subscript(value=ast.Name(id=name), slice=part):
            return _generic(name, [part])
    return _named(ast.unparse(node))


def _generic(name: str, parts: list[ast.expr]) -> Check:
    """Return the check of ``name[parts]``."""
    match name:
        case "Callable":
            return callable
        case "type":
            return lambda value: isinstance(value, type)
        case "Iterator":
            return lambda value: isinstance(value, Iterator)
        case "Mapping":
            keys, values = map(_check, parts)
            return lambda value: (
                isinstance(value, Mapping) and all(keys(key) and values(item) for key, item in value.items())
            )
    if name not in _CONTAINERS:
        return _named(name)
    kinds, checks = _CONTAINERS[name], [_check(part) for part in parts if ast.unparse(part) != "..."]
    if name == "tuple" and len(checks) == len(parts):
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(checks)
            and all(check(item) for check, item in zip(checks, value, strict=True))
        )
    (items,) = checks
    return lambda value: isinstance(value, kinds) and all(map(items, _items(value)))


def _items(value: object) -> Iterator[object]:
    assert isinstance(value, (list, tuple, frozenset))  # noqa: S101 - checked before
    return iter(value)


def _named(name: str) -> Check:
    if name == "int":
        # those of numpy as well
        return lambda value: isinstance(value, Integral) and not isinstance(value, bool)
    kind = _BUILTIN.get(name) or STRUCTURAL.get(name)
    if kind is not None:
        return lambda value: isinstance(value, kind)
    class_name = _OTHER_NAMES.get(name, name)
    return lambda value: any(base.__name__ == class_name for base in type(value).__mro__)
