"""Arguments of what Python programs call, held against the types that are written there."""

from __future__ import annotations

import re
from functools import wraps
from inspect import isfunction, signature
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ckprof.errors import UsageError
from ckprof.plugin.members import check_of

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

#: a name that is written -> what is checked; some stand for types that are distinguished where they are used,
#: or for protocols, which objects of plugins have without naming them
_CHECKED: Final = {
    **{"float": "float | int", "Listener": "Callable[..., object]"},
    **dict.fromkeys(("SideInput", "Operation", "Limits"), "object"),
}
_NAMES: Final = re.compile(rf"\b({'|'.join(_CHECKED)})\b")


def check_arguments(kind: type) -> None:
    """Have a class and its public methods raise a :class:`UsageError` for an argument of another type.

    So do the items of arguments. Types are compared by their names: nothing is imported for it.
    """
    for name, member in [*vars(kind).items()]:
        method = member.__func__ if isinstance(member, classmethod) else member
        is_public = name == "__init__" or not name.startswith("_")
        if isfunction(method) and is_public and not hasattr(method, "__wrapped__"):
            wrapped = checked(method)
            setattr(kind, name, wrapped if method is member else classmethod(wrapped))


def checked(method: Function) -> Function:
    """Have a function or a method raise it."""
    parameters = signature(method).parameters
    called = method.__qualname__.removesuffix(".__init__")
    checks = {
        name: check_of(_NAMES.sub(lambda found: _CHECKED[found[0]], one.annotation), method.__module__)
        for name, one in parameters.items()
        if one.annotation is not one.empty and one.kind is not one.VAR_KEYWORD
    }

    @wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        for name, value in (*zip(parameters, given, strict=False), *named.items()):
            if name in checks and not checks[name](value):
                written = parameters[name].annotation
                single = tuple(value) if isinstance(value, list) else (value,)
                hint = f"; make it a tuple: {single!r:.60}" if checks[name](single) else ""
                hint = "; put it in a list" if checks[name]([value]) else hint
                raise UsageError(f"{called}: {name} is {value!r:.80}, expected {written}{hint}")
        return method(*given, **named)

    return cast("Function", call)
