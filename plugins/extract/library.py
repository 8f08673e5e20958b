"""An installed library: its headers and factories, and what its archive was compiled with."""

from __future__ import annotations

import re
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_converters.library_lists import known_lists
from ckprof_plugins.extract.classes import DeviceClass
from ckprof_plugins.extract.cpp_text import ExprReader, TokenStream, evaluate, preprocess
from ckprof_plugins.extract.headers import (
    INSTANCES,
    configuration,
    print_argument,
    read_enumerations,
    read_required,
    version,
)
from ckprof_plugins.extract.mangling import DeviceInstance, read_class, read_instance
from ckprof_plugins.extract.tuples import InstanceTuples
from ckprof_plugins.extract.uses import source_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ckprof_converters.library_lists import ListKey
    from ckprof_plugins.extract.archives import CompiledFunctions
    from ckprof_plugins.extract.cpp_text import Expr
    from ckprof_plugins.extract.headers import Enumerations, HeaderTree


_DIMENSIONS: Final = ("NumDimSpatial", "NDimSpatial")
_LAYOUTS: Final[Mapping[str, str]] = {"InLayout": "input", "WeiLayout": "weight", "OutLayout": "output"}
_TYPE: Final = re.compile(r"(?:In|Wei|Out)DataType|[AB]?ComputeType[AB]?|[AB]?ComputeDataType")


#: parameter that stands for the layouts of D tensors
_D_LAYOUTS: Final = "DLayouts"
_OPERANDS: Final = {"InDataType": 0, "WeiDataType": 1}
#: no layout
_NONE: Final = "no such tensor"


class Factory:
    """The factory of one direction.

    :param macros: what is defined; it decides which instructions the instances use.
    :raises InputError: the header has no ``GetInstances``, or an ``#if`` that cannot be evaluated.
    """

    def __init__(self, text: str, macros: Mapping[str, str], path: str) -> None:
        plain, _ = preprocess(text, macros, path)
        self._stream = TokenStream(plain, path)
        self._bodies = []
        for index, piece in enumerate(self._stream.texts):
            if piece == "GetInstances":
                body = self._stream.closing(index + 1) + 1
                if self._stream.texts[body : body + 1] == ["{"]:
                    self._bodies.append(body)
        if not self._bodies:
            raise InputError("no GetInstances in this header", path)

    def calls(self, key: ListKey) -> tuple[str, ...]:
        """Return the names of the functions that ``GetInstances`` calls for a list, in its order.

        :raises InputError: a statement or a condition that cannot be evaluated.
        """
        return tuple(call for body in self._bodies for call in _Walk(self._stream, key, body).block(True))


class _Walk:
    """Walks the blocks of a function; what is not taken is read too, so that nothing unknown hides there.

    An unknown word in a condition is an error, never false.
    """

    def __init__(self, stream: TokenStream, key: ListKey, position: int) -> None:
        self._stream = stream
        self._texts = stream.texts
        self._key = key
        self.position = position

    def block(self, taken: bool) -> Iterator[str]:
        """Walk from ``{`` to the position after its ``}``; yield the calls that are taken."""
        end = self._stream.closing(self.position)
        self.position += 1
        while self.position < end:
            piece = self._texts[self.position]
            if piece == "{":
                yield from self.block(taken)
            elif piece == "if":
                yield from self._if(taken)
            else:
                yield from self._statement(piece, taken)
        self.position = end + 1

    def _statement(self, piece: str, taken: bool) -> Iterator[str]:
        is_call = piece.startswith("add_") and self._texts[self.position + 1] == "("
        if not is_call and piece not in ("static_assert", "return", "std", "using", ";"):
            raise self._stream.error(f"cannot read this statement of the factory: {piece}", self.position)
        if is_call and taken:
            yield piece
        self.position = self._stream.following(";", self.position, "the statement has no end") + 1

    def _if(self, taken: bool) -> Iterator[str]:
        while True:
            if self._texts[self.position : self.position + 2] != ["if", "constexpr"]:
                raise self._stream.error("expected if constexpr", self.position)
            self.position += 2
            value = self._condition()
            yield from self.block(taken and value)
            taken = taken and not value
            if self._texts[self.position : self.position + 1] != ["else"]:
                return
            self.position += 1
            if self._texts[self.position] == "{":
                yield from self.block(taken)
                return

    def _condition(self) -> bool:
        """Evaluate what is in brackets; both sides of ``&&`` and ``||`` are read."""
        end = self._stream.closing(self.position)
        pieces = []
        self.position += 1
        while self.position < end:
            piece = self._texts[self.position]
            if piece in ("(", ")", "&&", "||"):
                pieces.append(piece)
                self.position += 1
            else:
                pieces.append(str(int(self._term())))
        self.position = end + 1
        return evaluate(" ".join(pieces), {}, (self._stream.path, self._stream.line_of(end)))

    def _unknown(self) -> InputError:
        return self._stream.error(
            f"cannot evaluate this condition of the factory at {self._texts[self.position]}", self.position
        )

    def _term(self) -> bool:
        for asked, value in (
            (_DIMENSIONS[:1], self._key.shape.ndim),
            (_DIMENSIONS[1:], self._key.shape.ndim),
            ((_D_LAYOUTS, "::", "Size", "(", ")"), len(self._key.d_layouts)),
        ):
            end = self.position + len(asked)
            if self._texts[self.position : end + 1] == [*asked, "=="] and self._texts[end + 1].isdigit():
                self.position = end + 2
                return int(self._texts[end + 1]) == value
        if self._texts[self.position] in ("ck", "std"):
            self.position += 2
        if self._texts[self.position : self.position + 2] == ["is_same_v", "<"]:
            return self._same()
        raise self._unknown()

    def _same(self) -> bool:
        begin = self.position
        reader = ExprReader(self._stream, self.position + 1)
        left, right = (*reader.arguments(), None, None)[:2]
        if left is None or right is None:
            raise self._unknown()
        expected = self._element(left) or self._meaning(left.name)
        if expected is None:
            self.position = begin + 2
            raise self._unknown()
        other = self._meaning(right.name)
        self.position = reader.position
        return expected == (print_argument(right) if other is None else other)

    def _element(self, argument: Expr) -> str | None:
        """Return the layout of a D tensor by its number; the empty text if there is no such one."""
        if argument.name != "tuple_element_t" or not argument.args or argument.args[1].name != _D_LAYOUTS:
            return None
        number = int(argument.args[0].name)
        layouts = self._key.d_layouts
        return layouts[number] if number < len(layouts) else _NONE

    def _meaning(self, parameter: str) -> str | None:
        """Return the value of a parameter of the factory; ``None`` for any other word."""
        if parameter in _LAYOUTS:
            return str(getattr(self._key.shape, _LAYOUTS[parameter]))
        if parameter in _OPERANDS:
            return self._key.operand_type(_OPERANDS[parameter])
        if not _TYPE.fullmatch(parameter):
            return None
        input_, weight, output = self._key.types
        if parameter == "OutDataType":
            return output
        return weight if "B" in (parameter[0], parameter[-1]) else input_


class InstalledLibrary:
    """One installed Composable Kernel.

    :param compiled: the functions of its archive; ``None`` to read the headers alone.
    :param label: what it is called in messages.
    :param package: name and version of the package that it is read from.
    """

    def __init__(
        self, headers: HeaderTree, compiled: CompiledFunctions | None, label: str, package: str = ""
    ) -> None:
        self.headers = headers
        self.compiled = compiled
        self.label = label
        self.package = package
        self.version, self.commit = version(headers)
        self._factories: dict[tuple[str, str], Factory] = {}
        self._instances: dict[str, DeviceInstance] = {}

    @cached_property
    def macros(self) -> dict[str, str]:
        """The macros of its configuration."""
        return configuration(self.headers)

    @cached_property
    def enumerations(self) -> Enumerations:
        """Its enumerations."""
        return read_enumerations(self.headers)

    @cached_property
    def classes(self) -> Callable[[str], DeviceClass]:
        """Its device classes."""
        return cache(partial(DeviceClass, self.headers))

    @cached_property
    def sources(self) -> Mapping[str, Path]:
        """Functions -> its source files; none of an installed library."""
        return source_files(self.headers.roots)

    @cached_property
    def tuples(self) -> Callable[[str], InstanceTuples]:
        """Its instance tuples of a direction."""
        directions = known_lists().directions
        return cache(
            lambda id_: InstanceTuples(self.headers, directions[id_].headers, self.macros, self.classes)
        )

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

    def compiled_instances(self, function: str, key: ListKey) -> tuple[DeviceInstance, ...]:
        """Return the instances of a list that a compiled function adds.

        :raises InputError: a missing shard, or a table whose name cannot be read.
        """
        if self.compiled is None:
            raise InputError(f"{function}: no archive to read it from")
        instances = []
        for table in self.compiled.tables(function, key.shape.ndim):
            parts = self.compiled.parts(table)
            if not parts or not parts[0].startswith(key.home.operator):
                continue
            try:
                if table not in self._instances:
                    self._instances[table] = read_instance(parts, self.enumerations)
            except InputError as exc:
                raise InputError(f"{function}: {exc.message}", self.compiled.path) from exc
            kept = self._unwrap(self._instances[table], key)
            if kept is not None:
                instances.append(kept)
        return tuple(instances)

    def _unwrap(self, instance: DeviceInstance, key: ListKey) -> DeviceInstance | None:
        """Return the class that the tuples list; ``None`` for an instance of another list."""
        device = self.classes(instance.device)
        if device.conditions:
            instance = instance._replace(arguments=instance.arguments[: -device.conditions])
        if not device.record.wraps:
            return instance
        values = dict(zip(device.names, instance.arguments, strict=True))
        shape = key.shape
        of_list = (
            values["NDimSpatial"] == str(shape.ndim)
            and values["InLayout"] == shape.input
            and values["WeiLayout"] == shape.weight
            and values["OutLayout"] == shape.output
        )
        return read_class(values[device.record.wraps]) if of_list else None
