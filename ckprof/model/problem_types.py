"""Which types of problems there are: those that operations of plugins bring.

Problems are kept as JSON objects of their fields. No two types have the same ones; one may have all those of
another.

In tables each field has a cell of its own, by its name. Where problems have different fields, a cell is empty
in rows of those that do not have the field. Lists and fields with fields of their own are JSON.
"""

from __future__ import annotations

import threading
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from ckprof.errors import InputError, PluginError
from ckprof.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping


class _Known:
    """The types that are known, and where further ones may come from. Threads may share it."""

    def __init__(self) -> None:
        #: names of the fields -> type, those with the most fields first; replaced, never changed
        self.types: Mapping[frozenset[str], type[object]] = {}
        #: asked once for further types when a problem has fields that no known one has
        self.source: Callable[[], Iterable[type[object]]] | None = None
        self._lock = threading.RLock()

    def add(self, kind: type[object]) -> None:
        if not is_dataclass(kind):
            raise PluginError(f"problem type {kind.__module__}.{kind.__qualname__}: expected a dataclass")
        names = frozenset(field.name for field in fields(cast("Any", kind)))
        with self._lock:
            # what has all fields of a type is no problem of one that has fewer of them
            pairs = {**self.types, names: kind}.items()
            self.types = dict(sorted(pairs, key=lambda pair: len(pair[0]), reverse=True))
        _decoded.cache_clear()

    def ask(self, seen: Mapping[frozenset[str], type[object]]) -> bool:
        """Ask the source, unless another thread has; say whether there are other types than were seen."""
        with self._lock:
            source, self.source = (self.source, None) if self.types is seen else (None, self.source)
            for kind in source() if source is not None else ():
                self.add(kind)
            return self.types is not seen


_KNOWN: Final = _Known()


def ask_for_problem_types(source: Callable[[], Iterable[type[object]]]) -> None:
    """Ask this source, and no longer the one before, when a problem of no known type is met."""
    _KNOWN.source = source


def know_problem_type(kind: type[object]) -> None:
    """Recognise problems of this type from now on.

    :param kind: a frozen dataclass with fields that JSON has.
    :raises PluginError: it is no dataclass.
    """
    _KNOWN.add(kind)


def known_problem_types() -> tuple[type[object], ...]:
    """Return all types, those of the source as well."""
    _KNOWN.ask(_KNOWN.types)
    return tuple(_KNOWN.types.values())


def problem_from(values: Mapping[str, Any]) -> Problem:
    """Return the problem with these fields; what else there is is left out.

    :raises InputError: no known type has such fields, or a value is wrong.
    """
    types = _KNOWN.types
    for names, kind in types.items():
        if names <= values.keys():
            return _made(kind, {name: values[name] for name in names})
    if _KNOWN.ask(types):
        return problem_from(values)
    raise InputError(
        f"no loaded plugin knows a problem with {', '.join(sorted(values))}: "
        "load the one that it was made with"
    )


def exact_problem(values: Mapping[str, Any]) -> Problem:
    """Return the problem with these fields and no others.

    :raises InputError: no known type has just these, or a value is wrong.
    """
    types = _KNOWN.types
    kind = types.get(frozenset(values))
    if kind is None and _KNOWN.ask(types):
        return exact_problem(values)
    if kind is not None:
        return _made(kind, values)
    nearest = max(
        types,
        key=lambda names: (len(names & values.keys()), -len(names - values.keys())),
        default=frozenset[str](),
    )
    if not nearest & values.keys():
        raise InputError(f"no loaded plugin knows a problem with {', '.join(sorted(values)) or 'no sizes'}")
    missing, unknown = sorted(nearest - values.keys()), sorted(values.keys() - nearest)
    said = [
        f"{what} {', '.join(names)}" for what, names in (("missing", missing), ("unknown", unknown)) if names
    ]
    raise InputError(f"wrong fields of a problem: {'; '.join(said)}")


def _made(kind: type[object], values: Mapping[str, Any]) -> Problem:
    import msgspec

    try:
        return cast("Problem", msgspec.convert(values, kind))
    except msgspec.ValidationError as exc:
        raise InputError(f"wrong problem: {exc}") from None


def decode_problem(kind: type[object], value: object) -> object:
    """Decode a problem within a record: a hook for decoders of msgspec.

    :raises ValueError: no known type has such fields, or a value is wrong.
    """
    if kind is not Problem or not isinstance(value, dict):
        return value
    import msgspec

    try:
        return _decoded(msgspec.json.encode(value))
    except InputError as exc:
        raise ValueError(exc.message) from None


@lru_cache(maxsize=1024)
def _decoded(text: bytes) -> Problem:
    """Return the problem of a JSON object: records of thousands of kernels have the same one."""
    import msgspec

    return problem_from(msgspec.json.decode(text))


def sizes(problem: Problem) -> dict[str, Any]:
    """Return the fields of a problem by name, as plain JSON values."""
    import msgspec

    return cast("dict[str, Any]", msgspec.to_builtins(problem))


_JSON: Final = ("[", "{")
#: column with the id of the operation: tables of convolutions name none
OPERATION_COLUMN: Final = "direction"


def problem_of_cells(row: Mapping[str, str], others: Collection[str]) -> Problem:
    """Return the problem of a row.

    :param others: columns that are none of the problem.
    :raises InputError: a value is wrong, or no operation has problems with these columns.
    """
    import msgspec

    given = {name: text for name, text in row.items() if text and name not in others}
    try:
        return problem_from({name: _value(text) for name, text in given.items()})
    except msgspec.DecodeError as exc:
        raise InputError(f"a list of values is wrong: {exc}") from None


def _value(text: str) -> object:
    import msgspec

    if text.startswith(_JSON):
        return msgspec.json.decode(text)
    try:
        return int(text)
    except ValueError:
        return text
