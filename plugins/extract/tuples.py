"""The instance tuples of one direction, expanded for the parameters that a function gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.extract.header import InstanceHeader, TupleAlias, read_header, substitute
from ckprof_plugins.extract.headers import INSTANCES, read_required
from ckprof_plugins.extract.preprocess import preprocess
from ckprof_plugins.extract.readable import Instance
from ckprof_plugins.extract.tokens import Expr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ckprof_plugins.extract.classes import DeviceClasses
    from ckprof_plugins.extract.headers import HeaderTree
    from ckprof_plugins.extract.vocabulary import Vocabulary

_TUPLE: Final = re.compile(r"\busing\s+(\w+)\s*=\s*std::tuple\s*<")

#: stands before the name of a parameter in a pattern
SLOT: Final = "$"


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
    instances: tuple[Instance, ...]

    def bind(self, values: Mapping[str, str]) -> tuple[Instance, ...]:
        """Return the instances for given parameters.

        :raises InputError: a parameter has no value.
        """
        bound = {**self.defaults, **values}
        missing = [name for name in self.parameters if name not in bound]
        if missing:
            raise InputError(f"{self.alias}: no value for its parameter {missing[0]}")
        table = {SLOT + name: value for name, value in bound.items()}
        return tuple(
            Instance(device, tuple(_filled(item, table) if SLOT in item else item for item in arguments))
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
        classes: DeviceClasses,
        vocabulary: Vocabulary,
    ) -> None:
        self._macros = macros
        self._classes = classes
        self._vocabulary = vocabulary
        self._texts: dict[str, str] = {}
        self._read_headers: dict[str, InstanceHeader] = {}
        #: alias -> header and its place among the headers
        self._places: dict[str, tuple[str, int]] = {}
        self._patterns: dict[str, Pattern] = {}
        where = f"{INSTANCES}/{folder}"
        for number, name in enumerate(
            item for item in headers.names(where) if item.endswith("_instance.hpp")
        ):
            path = f"{where}/{name}"
            self._texts[path] = read_required(headers, path)
            for alias in _TUPLE.findall(self._texts[path]):
                # Headers are used one at a time, so two may declare one name: the first is meant.
                self._places.setdefault(alias, (path, number))

    @property
    def texts(self) -> Mapping[str, str]:
        """The headers by their path, for digests."""
        return self._texts

    def __contains__(self, alias: object) -> bool:
        return alias in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _find(self, alias: str) -> tuple[InstanceHeader, TupleAlias | None]:
        path, _ = self._places[alias]
        if path not in self._read_headers:
            text, _ = preprocess(self._texts[path], self._macros, path)
            self._read_headers[path] = read_header(text, path)
        header = self._read_headers[path]
        return header, header.tuples.get(alias)

    def devices(self, alias: str) -> frozenset[str]:
        """Return the names of the classes in a tuple, without reading their arguments."""
        header, body = self._find(alias)
        return frozenset(item.name for item in header.elements(body)) if body else frozenset()

    def pattern(self, alias: str) -> Pattern:
        """Return a tuple with its parameters left open.

        :raises InputError: a class that is not known, or an argument that cannot be read.
        """
        if alias not in self._patterns:
            header, body = self._find(alias)
            if body is None:
                raise InputError(f"{alias} is switched off or commented out", header.path)
            rank = (self._places[alias][1], list(header.tuples).index(alias))
            try:
                self._patterns[alias] = self._read(header, body, rank)
            except InputError as exc:
                if exc.path is not None:
                    raise
                line = header.stream.line_of(body.body)
                raise InputError(f"{alias}: {exc.message}", header.path, line) from exc
        return self._patterns[alias]

    def print_in(self, alias: str, argument: Expr) -> str:
        """Return an argument of a tuple as strings print it, with the names of the tuple's header."""
        header, _ = self._find(alias)
        return self._vocabulary.print_argument(substitute(argument, header, {}))

    def _read(self, header: InstanceHeader, alias: TupleAlias, rank: tuple[int, int]) -> Pattern:
        bound = {item.name: Expr(SLOT + item.name) for item in alias.parameters}
        instances = []
        for element in header.elements(alias):
            if element.args is None:
                raise InputError(f"{element.name} is no class with arguments")
            device = self._classes.get(element.name)
            written = [substitute(item, header, bound) for item in element.args]
            instances.append(Instance(element.name, device.complete(written, self._vocabulary)))
        return Pattern(
            alias=alias.name,
            rank=rank,
            parameters={item.name: item.kind for item in alias.parameters},
            defaults={
                item.name: self._vocabulary.print_argument(substitute(item.default, header, {}))
                for item in alias.parameters
                if item.default is not None
            },
            instances=tuple(instances),
        )
