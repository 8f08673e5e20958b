"""Named sets of problems: the layers of well-known networks, and files of the same form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.problem import ConvProblem
from ckprof.problems.counted import CountedProblem

if TYPE_CHECKING:
    from ckprof.problems.set_schema import LayerRecord, SetRecord

SCHEMA: Final = "ckprof.problem_set"

#: raised whenever a field changes its meaning or vanishes
VERSION: Final = 1

#: the folder with the sets that ship with ckprof, one file each, named after the set
_FOLDER: Final = "sets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer shape of a network for a batch of 1."""

    name: str
    #: how many layers of the network have this shape
    count: int
    problem: ConvProblem
    #: the layer is the backward-data pass of ``problem``
    transposed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemSet:
    """The distinct layer shapes of one network."""

    #: what ``--problem-set`` takes
    id: str
    #: a few words for lists
    label: str
    #: the publication that defines the network
    origin: str
    #: what a reader of the numbers should know
    notes: tuple[str, ...]
    layers: tuple[Layer, ...]

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions of all layers."""
        return self.layers[0].problem.ndim

    def problems(self, batch: int) -> list[CountedProblem]:
        """Return the layers for a batch size, in the order of the network.

        :raises InputError: the batch size is not positive.
        """
        return [
            CountedProblem(problem=_with_batch(layer.problem, batch), count=layer.count, name=layer.name)
            for layer in self.layers
        ]


def set_names() -> list[str]:
    """Return the ids of the sets that ship with ckprof, sorted."""
    folder = resources.files("ckprof.problems") / _FOLDER
    return sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json"))


def find_set(name: str) -> ProblemSet:
    """Return the set of that id, or the one in that file.

    :param name: an id, or a path that ends in ``.json``.
    :raises UsageError: there is no such set; the message lists the known ones.
    :raises InputError: the file cannot be used.
    """
    if name.endswith(".json"):
        return read_set(Path(name))
    return _shipped(name)


@lru_cache
def _shipped(name: str) -> ProblemSet:
    known = set_names()
    if name not in known:
        raise UsageError(
            f"unknown problem set {name!r}: expected one of {', '.join(known)}, or a file that ends in .json"
        )
    file = resources.files("ckprof.problems") / _FOLDER / f"{name}.json"
    return _parse(file.read_bytes(), f"problem set {name}")


def read_set(path: Path) -> ProblemSet:
    """Read a set from a file.

    :raises InputError: the file cannot be read, is no problem set, or a layer is wrong.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    return _parse(data, path)


def _parse(data: bytes, path: Path | str) -> ProblemSet:
    import msgspec

    from ckprof.problems.set_schema import SetRecord

    try:
        record = msgspec.json.decode(data, type=SetRecord)
    except msgspec.MsgspecError as exc:
        raise InputError(f"not a problem set: {exc}", path) from None
    if record.schema != SCHEMA:
        raise InputError(f"the schema is {record.schema!r}, expected {SCHEMA!r}", path)
    if record.version != VERSION:
        raise InputError(f"version {record.version} is not known, expected {VERSION}", path)
    if not record.layers:
        raise InputError("the set has no layers", path)
    return ProblemSet(
        id=record.id,
        label=record.label,
        origin=record.origin,
        notes=tuple(record.notes),
        layers=tuple(_layer(layer, record, path) for layer in record.layers),
    )


def _layer(record: LayerRecord, owner: SetRecord, path: Path | str) -> Layer:
    if record.count < 1:
        raise InputError(f"layer {record.name}: count is {record.count}, expected at least 1", path)
    if len(record.filter) != owner.ndim:
        raise InputError(
            f"layer {record.name}: the filter has {len(record.filter)} axes, the set says {owner.ndim}", path
        )
    try:
        problem = ConvProblem(
            groups=record.groups,
            batch=1,
            out_channels=record.out_channels,
            in_channels=record.in_channels,
            filter=record.filter,
            input=record.input,
            strides=record.strides,
            dilations=record.dilations,
            left_pads=record.pads,
            right_pads=record.pads,
        )
    except InputError as exc:
        raise InputError(f"layer {record.name}: {exc.message}", path) from None
    return Layer(name=record.name, count=record.count, problem=problem, transposed=record.transposed)


def _with_batch(problem: ConvProblem, batch: int) -> ConvProblem:
    from dataclasses import replace

    return replace(problem, batch=batch)
