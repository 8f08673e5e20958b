"""What protocols declare: the members that objects must or may have, and the types of what these return.

Protocols import their types for type checkers alone, so that a command loads only what it works with. A class
is therefore recognised by its name, among those that the class of a value derives from; a protocol of the
module that mentions it, by its members.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from types import FunctionType
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from ckprof import errors
from ckprof.model.problem import Problem
from ckprof.model.tensor import Layout

#: says whether a value is of a type
Check = Callable[[object], bool]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_RAISES: Final = re.compile(r":raises (\w+):")

#: recognised by their members wherever they are mentioned
_STRUCTURAL: Final[Mapping[str, type]] = {kind.__name__: kind for kind in (Layout, Problem)}
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
    "Sequence": (Sequence,),
    "Iterable": (Iterable,),
    "list": (list,),
    "tuple": (tuple,),
    "frozenset": (frozenset,),
}

#: function of a protocol that objects may lack -> members that those with it must have
_OPTIONAL: Final[dict[object, tuple[str, ...]]] = {}


def optional_with(*names: str) -> Callable[[FunctionT], FunctionT]:
    """Mark a member that objects may lack; those that have it must have some others, too."""

    def mark(function: FunctionT) -> FunctionT:
        _OPTIONAL[function] = names
        return function

    return mark


#: marks a member of a protocol that objects may lack: they do then what the protocol's own does
optional: Final = optional_with()


def offers(item: object, member: Callable[..., object]) -> bool:
    """Say whether an object has an optional method of its own.

    :param member: that of the protocol, e.g. ``Target.inspect``.
    """
    name = member.__name__
    own = getattr(type(item), name, None)
    return own is not member and (own is not None or hasattr(item, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An attribute or a method of a protocol, or a field of a dataclass."""

    name: str
    #: names of the parameters of a method; ``None`` for an attribute
    parameters: tuple[str, ...] | None = None
    #: annotation of the attribute, or of what the method returns
    annotation: str
    #: the module of the protocol
    module: str = ""
    #: objects may lack it
    optional: bool = False
    #: what an object with this one must have
    together: tuple[str, ...] = ()
    #: errors that it may raise, as its docstring says; they are shown as they are
    raises: tuple[type[BaseException], ...] = ()

    @property
    def spelling(self) -> str:
        """``name`` or ``name(parameters)``."""
        return self.name if self.parameters is None else f"{self.name}({', '.join(self.parameters)})"


@cache
def members_of(protocol: type) -> tuple[Member, ...]:
    """Return the members that a protocol declares, or the fields of a dataclass, in their order."""
    members: dict[str, Member] = {}
    for kind in reversed(protocol.__mro__):
        module = kind.__module__
        if kind in (object, Protocol, Generic):
            continue
        for name, text in vars(kind).get("__annotations__", {}).items():
            members[name] = Member(name=name, annotation=text, module=module)
        for name, value in vars(kind).items():
            function = value.fget if isinstance(value, property) else value
            if name.startswith("_") or not isinstance(function, FunctionType):
                continue
            code, is_method = function.__code__, function is value
            members[name] = Member(
                name=name,
                parameters=(
                    code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount] if is_method else None
                ),
                annotation=function.__annotations__["return"],
                module=module,
                optional=function in _OPTIONAL,
                together=_OPTIONAL.get(function, ()),
                raises=_raised(function.__doc__) if is_method else (),
            )
    return tuple(members.values())


def required_members(protocol: type) -> list[Member]:
    """Return the members that every object must have."""
    return [member for member in members_of(protocol) if not member.optional]


@cache
def check_of(annotation: str, module: str = "") -> Check:
    """Return what says whether a value, and what it contains, is of a type that is given as source text.

    :param module: the name of the module that mentions it.
    """
    return _check(ast.parse(annotation, mode="eval").body, module)


@cache
def protocol_named(annotation: str, module: str) -> type | None:
    """Return the protocol in a module that an annotation names, alone or as ``Name | None``."""
    found = getattr(sys.modules.get(module), annotation.removesuffix(" | None"), None)
    return found if getattr(found, "_is_protocol", False) else None


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


def _raised(doc: str | None) -> tuple[type[BaseException], ...]:
    """Return the errors of ckprof that a docstring names; all of them where docstrings were stripped."""
    if doc is None:
        return (errors.CkprofError,)
    return tuple(vars(errors)[name] for name in _RAISES.findall(doc) if name in vars(errors))


def _check(node: ast.expr, module: str) -> Check:
    """Return the check of an annotation."""
    match node:
        case ast.Constant(value=None):
            return lambda value: value is None
        case ast.BinOp(left=left, right=right):
            first, second = _check(left, module), _check(right, module)
            return lambda value: first(value) or second(value)
        case ast.Subscript(value=ast.Name(id="Callable")):
            return callable
        case ast.Subscript(value=ast.Name(id="type")):
            return lambda value: isinstance(value, type)
        case ast.Subscript(value=ast.Name(id="Iterator")):
            return lambda value: isinstance(value, Iterator)
        case ast.Subscript(value=ast.Name(id="Mapping"), slice=ast.Tuple(elts=[key, item])):
            keys, values = _check(key, module), _check(item, module)
            return lambda value: (
                isinstance(value, Mapping)
                and all(keys(one) and values(other) for one, other in value.items())
            )
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in _CONTAINERS:
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _container_check(
                name, [None if ast.unparse(one) == "..." else _check(one, module) for one in parts]
            )
        case ast.Subscript(value=ast.Name(id=name)):
            return _named_check(name, module)
    return _named_check(ast.unparse(node), module)


def _container_check(name: str, parts: list[Check | None]) -> Check:
    """Return the check of a container; ``None`` in place of a part: as many as there are."""
    checks = [part for part in parts if part is not None]
    if name == "tuple" and len(checks) == len(parts):
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(checks)
            and all(check(item) for check, item in zip(checks, value, strict=True))
        )
    kinds, (items,) = _CONTAINERS[name], checks
    return lambda value: (
        isinstance(value, kinds)
        and not isinstance(value, (str, bytes))
        # what can be read but once is left to the one that needs it
        and (isinstance(value, Iterator) or all(map(items, cast("Iterable[object]", value))))
    )


def _named_check(name: str, module: str) -> Check:
    if name == "int":
        # those of numpy as well
        return lambda value: isinstance(value, Integral) and not isinstance(value, bool)
    kind = _BUILTIN.get(name) or _STRUCTURAL.get(name)
    if kind is not None:
        return lambda value: isinstance(value, kind)
    protocol = protocol_named(name, module)
    if protocol is not None:
        names = [member.name for member in required_members(protocol)]
        return lambda value: all(hasattr(value, one) for one in names)
    class_name = _OTHER_NAMES.get(name, name).rpartition(".")[2]
    return lambda value: any(base.__name__ == class_name for base in type(value).__mro__)
