"""An installed library: its headers, and what its archive was compiled with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof_converters.library_lists import known_lists
from ckprof_plugins.extract.classes import DeviceClasses
from ckprof_plugins.extract.factory import Factory
from ckprof_plugins.extract.headers import INSTANCES, UsedHeaders, configuration, read_required, version
from ckprof_plugins.extract.mangling import decode
from ckprof_plugins.extract.readable import Instance, read_instance, take_apart, unwrapped
from ckprof_plugins.extract.sources import SourceFiles
from ckprof_plugins.extract.symbols import ArchiveSymbols, CompiledFunctions
from ckprof_plugins.extract.tuples import InstanceTuples
from ckprof_plugins.extract.vocabulary import Vocabulary, read_vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_converters.library_lists import ListKey
    from ckprof_plugins.extract.headers import HeaderTree


@dataclass(slots=True, kw_only=True)
class Archive:
    """The symbols of an archive, with the names that were made readable so far."""

    path: str
    symbols: ArchiveSymbols
    #: mangled name -> class and arguments
    readable: dict[str, list[str]] = field(default_factory=dict)

    def parts(self, mangled: str) -> list[str]:
        """Return class and arguments of a name; empty for what is no instance of its own."""
        if mangled not in self.readable:
            self.readable[mangled] = take_apart(decode(mangled))
        return self.readable[mangled]


class Library:
    """One installed Composable Kernel.

    :param label: what it is called in messages.
    :param archive: ``None`` to read the headers alone.
    :param package: name and version of the package that it is read from.
    """

    def __init__(self, headers: HeaderTree, archive: Archive | None, label: str, package: str = "") -> None:
        self.headers = UsedHeaders(headers)
        self.archive = archive
        self.label = label
        self.package = package
        self.version, self.commit = version(headers)
        self._tuples: dict[str, InstanceTuples] = {}
        self._factories: dict[tuple[str, str], Factory] = {}
        self._instances: dict[str, Instance] = {}

    @cached_property
    def macros(self) -> dict[str, str]:
        """The macros of its configuration."""
        return configuration(self.headers)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Its enumerations."""
        return read_vocabulary(self.headers)

    @cached_property
    def classes(self) -> DeviceClasses:
        """Its device classes."""
        return DeviceClasses(self.headers)

    @cached_property
    def sources(self) -> SourceFiles:
        """Its source files; none of an installed library."""
        return SourceFiles(self.headers.roots)

    @cached_property
    def compiled(self) -> CompiledFunctions | None:
        """The functions of its archive; ``None`` without one."""
        return CompiledFunctions(self.archive.symbols, self.archive.path) if self.archive else None

    def tuples(self, direction: str) -> InstanceTuples:
        """Return the instance tuples of a direction."""
        if direction not in self._tuples:
            folder = known_lists().directions[direction].headers
            self._tuples[direction] = InstanceTuples(
                self.headers, folder, self.macros, self.classes, self.vocabulary
            )
        return self._tuples[direction]

    def calls(self, key: ListKey, engine: str) -> tuple[str, ...]:
        """Return the functions that the factory calls for a list and one kind of instructions.

        :raises InputError: the factory cannot be read, or the library was built without these instructions.
        """
        identity = (key.factory, engine)
        path = f"{INSTANCES}/{key.factory}"
        if identity not in self._factories:
            text = read_required(self.headers, path)
            self._factories[identity] = Factory(text, self._macros_of(engine, text), path)
        others = [item.function for name, item in known_lists().engines.items() if name != engine]
        return tuple(
            name
            for name in self._factories[identity].calls(key)
            if not any(re.search(expression, name) for expression in others)
        )

    def _macros_of(self, engine: str, factory: str) -> dict[str, str]:
        engines = known_lists().engines
        wanted = engines[engine]
        others = {name for item in engines.values() for name in item.macros}
        for name in wanted.macros:
            if wanted.configured and name in factory and name not in self.macros:
                raise InputError(
                    f"this library was built without {engine} instances: it does not define {name}"
                )
        return {
            **{name: value for name, value in self.macros.items() if name not in others},
            **dict.fromkeys(wanted.macros, "1"),
        }

    def compiled_instances(self, function: str, key: ListKey) -> tuple[Instance, ...]:
        """Return the instances of a list that a compiled function adds.

        :raises InputError: a missing shard, or a table whose name cannot be read.
        """
        if self.archive is None or self.compiled is None:
            raise InputError(f"{function}: no archive to read it from")
        instances = []
        for table in self.compiled.tables(function, key.shape.dimensions):
            parts = self.archive.parts(table)
            if not parts or not parts[0].startswith(key.home.operator):
                continue
            try:
                instance = self._instance(table, parts)
            except InputError as exc:
                raise InputError(f"{function}: {exc.message}", self.archive.path) from exc
            kept = self._unwrap(instance, key)
            if kept is not None:
                instances.append(kept)
        return tuple(instances)

    def _instance(self, table: str, parts: Sequence[str]) -> Instance:
        if table not in self._instances:
            self._instances[table] = read_instance(parts, self.vocabulary)
        return self._instances[table]

    def _unwrap(self, instance: Instance, key: ListKey) -> Instance | None:
        """Return the class that the tuples list; ``None`` for an instance of another list."""
        device = self.classes.get(instance.device)
        if device.conditions:
            instance = instance._replace(arguments=instance.arguments[: -device.conditions])
        if not device.record.wraps:
            return instance
        values = dict(zip(device.names, instance.arguments, strict=True))
        shape = key.shape
        of_list = (
            values["NDimSpatial"] == str(shape.dimensions)
            and values["InLayout"] == shape.input
            and values["WeiLayout"] == shape.weight
            and values["OutLayout"] == shape.output
        )
        return unwrapped(values[device.record.wraps]) if of_list else None
