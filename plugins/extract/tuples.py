"""The instance tuples that the library declares, expanded for the parameters that a function gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.extract.cpp_text import (
    Expr,
    ExprReader,
    TemplateParameter,
    TokenStream,
    preprocess,
    read_parameters,
)
from ckprof_plugins.extract.headers import INSTANCES, print_argument, read_required
from ckprof_plugins.extract.mangling import DeviceInstance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ckprof_plugins.extract.classes import DeviceClass
    from ckprof_plugins.extract.headers import HeaderTree

_TUPLE: Final = re.compile(r"\busing\s+(\w+)\s*=\s*std::tuple\s*<")

#: stands before the name of a parameter in a pattern
SLOT: Final = "$"


class InstanceHeader:
    """One instance header. Its short names hold in it alone: other headers may give them other meanings.

    :param text: what the preprocessor leaves of it.
    :raises InputError: the declaration of a tuple cannot be read.
    """

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.stream = TokenStream(text, path)
        #: name -> what it stands for, for types and values
        self.names: dict[str, Expr] = {}
        #: names of alias templates that are sequences of numbers
        self.sequences: set[str] = set()
        #: alias templates whose body is a ``std::tuple`` of instances -> their parameters
        self.tuples: dict[str, tuple[TemplateParameter, ...]] = {}
        #: position of the ``<`` of each among the tokens
        self._bodies: dict[str, int] = {}
        texts = self.stream.texts
        position = 0
        while position < len(texts):
            piece = texts[position]
            if piece == "template" and texts[position + 1 : position + 2] == ["<"]:
                position = self._template(position + 1)
            elif piece == "using" and texts[position + 2 : position + 3] == ["="]:
                position = self._name(texts[position + 1], position + 3)
            elif piece == "constexpr" and texts[position + 1 : position + 2] == ["auto"]:
                position = self._name(texts[position + 2], position + 4)
            else:
                position += 1

    def _name(self, name: str, position: int) -> int:
        end = self.stream.following(";", position, "the declaration has no end")
        reader = ExprReader(self.stream, position)
        value = reader.expression()
        if reader.position == end:
            self.names[name] = value
        return end + 1

    def _template(self, position: int) -> int:
        texts = self.stream.texts
        parameters, after = read_parameters(self.stream, position)
        if texts[after : after + 1] != ["using"]:
            return after
        name = texts[after + 1]
        body = after + 3
        end = self.stream.following(";", body, "the declaration has no end")
        if texts[body : body + 4] == ["std", "::", "tuple", "<"]:
            self.tuples[name] = parameters
            self._bodies[name] = body + 3
        elif "Sequence" in texts[body : body + 4]:
            self.sequences.add(name)
        return end + 1

    def line_of(self, alias: str) -> int:
        """Return the line of a tuple."""
        return self.stream.line_of(self._bodies[alias])

    def elements(self, alias: str) -> tuple[Expr, ...]:
        """Read the instances of a tuple as they are written.

        :raises InputError: an element is nothing that the reader knows.
        """
        reader = ExprReader(self.stream, self._bodies[alias])
        return tuple(item for item in reader.arguments() if item.name != "nullptr_t")

    def substitute(self, expression: Expr, bound: Mapping[str, Expr], depth: int = 0) -> Expr:
        """Replace parameters by their values and short names by what they stand for."""
        name, args = expression
        if args is None:
            if name in bound:
                return bound[name]
            if name in self.names and depth < 16:
                meaning = self.names[name]
                return meaning if meaning.name == name else self.substitute(meaning, {}, depth + 1)
            return expression
        return Expr(
            "Sequence" if name in self.sequences else name,
            tuple(self.substitute(item, bound, depth) for item in args),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A tuple with its parameters left open, as :data:`SLOT` names in the arguments."""

    alias: str
    #: (place of its header among the headers, place in the header): the order of declaration
    rank: tuple[int, int]
    #: parameter -> its kind, in order
    parameters: Mapping[str, str]
    #: values of the parameters that have one of their own
    defaults: Mapping[str, str]
    instances: tuple[DeviceInstance, ...]

    def bind(self, values: Mapping[str, str]) -> tuple[DeviceInstance, ...]:
        """Return the instances for given parameters.

        :raises InputError: a parameter has no value.
        """
        bound = {**self.defaults, **values}
        missing = [name for name in self.parameters if name not in bound]
        if missing:
            raise InputError(f"{self.alias}: no value for its parameter {missing[0]}")
        table = {SLOT + name: value for name, value in bound.items()}
        return tuple(
            DeviceInstance(
                device, tuple(_filled(item, table) if SLOT in item else item for item in arguments)
            )
            for device, arguments in self.instances
        )


def _filled(item: str, table: Mapping[str, str]) -> str:
    if item in table:
        return table[item]
    # Longer names first: one parameter's name may begin another's.
    for name in sorted(table, key=len, reverse=True):
        item = item.replace(name, table[name])
    return item


class InstanceTuples:
    """All tuples of one direction in an installed library; each header is read when it is first needed."""

    def __init__(
        self,
        headers: HeaderTree,
        folder: str,
        macros: Mapping[str, str],
        classes: Callable[[str], DeviceClass],
    ) -> None:
        self._classes = classes
        texts: dict[str, str] = {}
        self._header = cache(lambda path: InstanceHeader(preprocess(texts[path], macros, path)[0], path))
        #: alias -> header and its place among the headers
        self._places: dict[str, tuple[str, int]] = {}
        self._patterns: dict[str, Pattern] = {}
        where = f"{INSTANCES}/{folder}"
        for number, name in enumerate(
            item for item in headers.names(where) if item.endswith("_instance.hpp")
        ):
            path = f"{where}/{name}"
            texts[path] = read_required(headers, path)
            for alias in _TUPLE.findall(texts[path]):
                # Headers are used one at a time, so two may declare one name: the first is meant.
                self._places.setdefault(alias, (path, number))

    def __contains__(self, alias: object) -> bool:
        return alias in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def _find(self, alias: str) -> InstanceHeader:
        return self._header(self._places[alias][0])

    def devices(self, alias: str) -> frozenset[str]:
        """Return the names of the classes in a tuple, without reading their arguments."""
        header = self._find(alias)
        elements = header.elements(alias) if alias in header.tuples else ()
        return frozenset(item.name for item in elements)

    def pattern(self, alias: str) -> Pattern:
        """Return a tuple with its parameters left open.

        :raises InputError: a class that is not known, or an argument that cannot be read.
        """
        if alias not in self._patterns:
            header = self._find(alias)
            if alias not in header.tuples:
                raise InputError(f"{alias} is switched off or commented out", header.path)
            try:
                self._patterns[alias] = self._read(header, alias)
            except InputError as exc:
                if exc.path is not None:
                    raise
                raise InputError(f"{alias}: {exc.message}", header.path, header.line_of(alias)) from exc
        return self._patterns[alias]

    def print_in(self, alias: str, argument: Expr) -> str:
        """Return an argument of a tuple as strings print it, with the names of the tuple's header."""
        return print_argument(self._find(alias).substitute(argument, {}))

    def _read(self, header: InstanceHeader, alias: str) -> Pattern:
        parameters = header.tuples[alias]
        bound = {item.name: Expr(SLOT + item.name) for item in parameters}
        instances = []
        for element in header.elements(alias):
            if element.args is None:
                raise InputError(f"{element.name} is not a class with arguments")
            device = self._classes(element.name)
            written = [header.substitute(item, bound) for item in element.args]
            instances.append(DeviceInstance(element.name, device.complete(written)))
        return Pattern(
            alias=alias,
            rank=(self._places[alias][1], list(header.tuples).index(alias)),
            parameters={item.name: item.kind for item in parameters},
            defaults={
                item.name: print_argument(header.substitute(item.default, {}))
                for item in parameters
                if item.default is not None
            },
            instances=tuple(instances),
        )
