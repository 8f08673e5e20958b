"""Named sets of problems: the layers of well-known networks, and files of the same form."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.files import content_of, decoded
from ckprof.model.problem import LayerProblem
from ckprof.model.problem_case import ProblemCase
from ckprof.model.problem_types import known_problem_types
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import ProblemSetFile
    from ckprof.plugin.registry import Registry

SCHEMA: Final = "ckprof.problem_set"

#: raised whenever a field changes its meaning or vanishes
VERSION: Final = 1

#: the folder with the sets that ship with ckprof, one file each, named after the set
_FOLDER: Final = "sets"


class Layer(msgspec.Struct, frozen=True):
    """A layer shape of a network."""

    name: str
    #: how many layers of the network have this shape
    count: int
    #: the layer is the backward-data pass of its problem
    transposed: bool = False
    #: what the set says of it besides
    sizes: dict[str, Any] = {}

    @property
    def problem(self) -> Problem:
        """The layer for a batch of 1."""
        return _problem(self.sizes, 1)


class ProblemSet(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The distinct layer shapes of one network: a file in JSON."""

    schema: str
    version: int
    #: what ``--problem-set`` takes
    id: str
    #: a few words for lists
    label: str
    #: number of spatial dimensions of all layers
    ndim: int
    #: the publication that defines the network
    origin: str
    #: what a reader of the numbers should know
    notes: tuple[str, ...]
    records: tuple[dict[str, Any], ...] = msgspec.field(name="layers")

    @property
    def layers(self) -> list[Layer]:
        """The shapes.

        :raises InputError: a record is wrong.
        """
        return [_layer(record, self.ndim) for record in self.records]

    def problems(self, batch: int) -> list[ProblemCase]:
        """Return the layers for a batch size, in the order of the network.

        :raises InputError: the batch size is not positive.
        """
        return [
            ProblemCase(
                problem=_problem(layer.sizes, batch),
                count=layer.count,
                name=layer.name,
                network=f"{self.id} batch {batch}",
            )
            for layer in self.layers
        ]


def set_names(registry: Registry | None = None) -> list[str]:
    """Return the ids of the sets that ship with ckprof, and of those of plugins, sorted."""
    return sorted({*_shipped_names(), *(registry.problem_sets.ids if registry else ())})


def _shipped_names() -> list[str]:
    folder = resources.files("ckprof.problems") / _FOLDER
    return sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json"))


def find_set(name: str, registry: Registry | None = None) -> ProblemSet:
    """Return the set of that id, or the one in that file.

    :param name: an id, or a path that ends in ``.json``.
    :param registry: what plugins provide; without it, there are only the sets that ship with ckprof.
    :raises UsageError: there is no such set; the message lists the known ones.
    :raises InputError: the file cannot be used.
    :raises PluginError: a plugin's set has the id of another one.
    """
    if name.endswith(".json"):
        return read_set(Path(name))
    if name in _shipped_names():
        return _shipped(name)
    if registry is not None and name in registry.problem_sets.ids:
        return plugin_set(registry.problem_sets.find(name))
    unknown = unknown_name("problem set", name, set_names(registry))
    raise UsageError(f"{unknown}, or name a .json file; a file of problem lines is named with --problems")


def plugin_set(file: ProblemSetFile) -> ProblemSet:
    """Return the set of a plugin.

    :raises InputError: the file cannot be used.
    :raises PluginError: it has another id, or that of a set that ships with ckprof.
    """
    read = read_set(file.path)
    if read.id != file.id:
        raise PluginError(f"problem set {file.id!r}: {file.path} says that it is {read.id!r}")
    if read.id in _shipped_names():
        raise PluginError(f"problem set {file.id!r}: ckprof has a set of that name")
    return read


@lru_cache
def _shipped(name: str) -> ProblemSet:
    file = resources.files("ckprof.problems") / _FOLDER / f"{name}.json"
    return _parse(file.read_bytes(), f"problem set {name}")


def read_set(path: Path) -> ProblemSet:
    """Read a set from a file.

    :raises InputError: the file cannot be read, is no problem set, or a layer is wrong.
    """
    return _parse(content_of(path), path)


def _parse(data: bytes, path: Path | str) -> ProblemSet:
    read = decoded(data, path, ProblemSet, "a problem set", SCHEMA, VERSION)
    if not read.records:
        raise InputError("the set has no layers", path)
    try:
        for record in read.records:
            _layer(record, read.ndim)
    except InputError as exc:
        raise InputError(exc.message, path) from None
    return read


def _layer(values: dict[str, Any], ndim: int) -> Layer:
    own = ("name", "count", "transposed")
    plain: dict[str, Any] = {name: value for name, value in values.items() if name in own}
    plain["sizes"] = {name: value for name, value in values.items() if name not in own}
    try:
        layer = msgspec.convert(plain, Layer)
    except msgspec.ValidationError as exc:
        raise InputError(f"not a problem set: layer {values.get('name', '')}: {exc}") from None
    if layer.count < 1:
        raise InputError(f"layer {layer.name}: count is {layer.count}, expected at least 1")
    try:
        found = layer.problem.ndim
    except InputError as exc:
        raise InputError(f"layer {layer.name}: {exc.message}") from None
    if found != ndim:
        raise InputError(f"layer {layer.name}: it has {found} spatial axes, the set says {ndim}")
    return layer


def _problem(sizes: Mapping[str, Any], batch: int) -> Problem:
    """Return the problem of a layer.

    :raises InputError: no type of problems has such layers, or there is no such problem.
    """
    kinds = _layer_types()
    for kind in kinds:
        if kind.layer_fields == sizes.keys():
            return kind.of_layer(sizes, batch)
    expected = " or ".join(", ".join(sorted(kind.layer_fields)) for kind in kinds)
    raise InputError(f"the sizes are {', '.join(sorted(sizes))}, expected {expected}")


def _layer_types() -> list[LayerProblem]:
    kinds: tuple[object, ...] = known_problem_types()
    return [kind for kind in kinds if isinstance(kind, LayerProblem)]
