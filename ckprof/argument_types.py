"""Arguments of what Python programs call, held against the types that are written there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import wraps
from inspect import isfunction, signature
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

#: what is in brackets: the types of elements
_ELEMENTS: Final = re.compile(r"\[.*?\](?=$| \|)")


def check_arguments(kind: type) -> None:
    """Have the public methods of a class raise a :class:`UsageError` for an argument of another type.

    Types are compared by their names: nothing is imported for it. Elements are not looked at.
    """
    for name, method in [*vars(kind).items()]:
        if isfunction(method) and not name.startswith("_"):
            setattr(kind, name, _checked(method))


def _checked(method: Callable[..., Any]) -> Callable[..., Any]:
    parameters = signature(method)

    @wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        for name, value in [*parameters.bind(*given, **named).arguments.items()][1:]:
            wanted = _ELEMENTS.sub("", str(parameters.parameters[name].annotation)).split(" | ")
            if not any(_is(value, one) for one in wanted):
                expected = f"{name} is {value!r:.80}, expected {' or '.join(wanted)}"
                raise UsageError(f"{method.__qualname__}: {expected}")
        return method(*given, **named)

    return call


def _is(value: object, name: str) -> bool:
    if name in ("Sequence", "Iterable"):
        return isinstance(value, Iterable) and not isinstance(value, str)
    # one stands for many types, which are distinguished where they are used
    known = {"None": value is None, "Problem": hasattr(value, "unmet_by"), "SideInput": True}
    return known.get(name, name in {base.__name__ for base in type(value).__mro__})
