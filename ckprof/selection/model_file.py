"""Time models as JSON files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from ckprof.errors import InputError
from ckprof.model.kernel_traits import KernelTraits, Reduction, RunAxis, RunChunks, Schedule
from ckprof.selection.boost import FEATURES
from ckprof.selection.model import RANGE_AXES, ModelKernel, TimeModel
from ckprof.selection.time_model import KernelParameters, SharedParameters
from ckprof.selection.tree import Tree

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = "ckprof-time-model"
VERSION: Final = 2


class ChunksRecord(msgspec.Struct, forbid_unknown_fields=True):
    """How a kernel takes runs."""

    axis: Literal["columns", "reduction"]
    size: int
    least: int
    short_k: int


class TraitsRecord(msgspec.Struct, forbid_unknown_fields=True):
    """Traits of a kernel as the file has them."""

    tile: tuple[int, int, int]
    schedule: Literal["tiles", "stream", "window"]
    reduction: Literal["atomic", "workspace", "arrival"]
    lds_stages: int
    workgroups_per_unit: int
    labels: list[str]
    chunks: ChunksRecord | None


class ParametersRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A kernel's own parameters in microseconds."""

    prologue: float
    floor: float
    latency: float
    tile: float
    loop: float
    meeting: float


class KernelRecord(msgspec.Struct, forbid_unknown_fields=True):
    """One measured kernel."""

    name: str
    traits: TraitsRecord
    #: what the model computes with, where that differs from ``traits``
    computes: TraitsRecord | None
    parameters: ParametersRecord
    spread: float
    rows: int


class SharedRecord(msgspec.Struct, forbid_unknown_fields=True):
    """Parameters of the device."""

    launch: float
    bandwidth: float
    tail: float
    contention: float
    merging: float
    gathering: float
    ragged: float
    short: float


class TreeRecord(msgspec.Struct, forbid_unknown_fields=True):
    """One boosted tree, see :class:`ckprof.selection.tree.Tree`."""

    features: tuple[int, ...]
    thresholds: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    leaves: tuple[float, ...]


class Origin(msgspec.Struct, forbid_unknown_fields=True):
    """Which measurements the model was fitted to."""

    sources: list[str]
    #: hash over problems, kernels and times
    digest: str
    problems: int
    rows: int
    dropped: list[str]


class Quality(msgspec.Struct, forbid_unknown_fields=True):
    """How well the model chose among the kernels of its own training problems, by cross-validation."""

    #: ``None`` where there were too few problems
    mean: float | None
    median: float | None
    p10: float | None
    worst: float | None


class ModelDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    schema: str
    version: int
    ckprof: str
    device: str
    target: str
    compute_units: int
    toolchain: str
    direction: str
    dtype: str
    layout: str
    element_bytes: int
    splits: list[int]
    shortest_us: float
    ranges: dict[str, tuple[float, float]]
    origin: Origin
    quality: Quality
    shared: SharedRecord
    kernels: list[KernelRecord]
    trees: list[TreeRecord]


def render_model(model: TimeModel, origin: Origin, quality: Quality) -> str:
    """Return the text of a model's file."""
    from ckprof.version import __version__

    document = ModelDocument(
        schema=SCHEMA,
        version=VERSION,
        ckprof=__version__,
        device=model.device,
        target=model.target,
        compute_units=model.units,
        toolchain=model.toolchain,
        direction=model.direction,
        dtype=model.dtype,
        layout=model.layout,
        element_bytes=model.element_bytes,
        splits=list(model.splits),
        shortest_us=model.shortest_us,
        ranges=dict(model.ranges),
        origin=origin,
        quality=quality,
        shared=SharedRecord(**asdict(model.shared)),
        kernels=[
            KernelRecord(
                name=one.name,
                traits=_record(one.traits),
                computes=None if one.computes == one.traits else _record(one.computes),
                parameters=ParametersRecord(**asdict(one.parameters)),
                spread=one.spread,
                rows=one.rows,
            )
            for one in model.kernels.values()
        ],
        trees=[TreeRecord(**asdict(one)) for one in model.trees],
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def read_document(path: Path) -> ModelDocument:
    """Return the content of a model's file.

    :raises InputError: it cannot be read, is none, or a value is out of range.
    """
    try:
        document = msgspec.json.decode(path.read_bytes(), type=ModelDocument)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    except msgspec.DecodeError as exc:
        raise InputError(f"not a model of 'ckprof train': {exc}", path) from None
    if (document.schema, document.version) != (SCHEMA, VERSION):
        raise InputError(
            f"expected schema {SCHEMA} version {VERSION}, got {document.schema} version {document.version}",
            path,
        )
    _check(document, path)
    return document


def model_of(document: ModelDocument) -> TimeModel:
    """Return the model of a file that :func:`read_document` accepted."""
    kernels = {}
    for one in document.kernels:
        traits = _traits(one.traits)
        kernels[one.name] = ModelKernel(
            name=one.name,
            traits=traits,
            computes=traits if one.computes is None else _traits(one.computes),
            parameters=KernelParameters(**_values(one.parameters)),
            spread=one.spread,
            rows=one.rows,
        )
    return TimeModel(
        device=document.device,
        target=document.target,
        units=document.compute_units,
        toolchain=document.toolchain,
        direction=document.direction,
        dtype=document.dtype,
        layout=document.layout,
        element_bytes=document.element_bytes,
        shared=SharedParameters(**_values(document.shared)),
        kernels=kernels,
        splits=tuple(document.splits),
        ranges=document.ranges,
        shortest_us=document.shortest_us,
        trees=tuple(Tree(**msgspec.structs.asdict(one)) for one in document.trees),
    )


def _values(record: msgspec.Struct) -> dict[str, float]:
    return {name: float(getattr(record, name)) for name in record.__struct_fields__}


def _check(document: ModelDocument, path: Path) -> None:
    """Refuse values with which formulas fail."""
    if not document.kernels:
        raise InputError("the model has no kernels", path)
    if document.compute_units < 1 or document.element_bytes < 1 or document.shortest_us <= 0:
        raise InputError("compute_units, element_bytes and shortest_us must be positive", path)
    shared = document.shared
    if min(shared.bandwidth, shared.merging, shared.gathering) <= 0 or not 0 <= shared.tail <= 1:
        raise InputError(
            "shared.bandwidth, merging and gathering must be positive and shared.tail between 0 and 1", path
        )
    missing = [axis for axis in RANGE_AXES if axis not in document.ranges]
    if missing or any(low <= 0 or low > high for low, high in document.ranges.values()):
        raise InputError(f"ranges must hold a least and a greatest value for {', '.join(RANGE_AXES)}", path)
    if not all(map(_is_whole, document.trees)):
        raise InputError("trees: a table has values that no tree has", path)
    for kernel in document.kernels:
        records = [kernel.traits, *([kernel.computes] if kernel.computes else [])]
        sizes = [size for one in records for size in (*one.tile, one.lds_stages, one.workgroups_per_unit)]
        sizes += [size for one in records if one.chunks for size in _chunk_sizes(one.chunks)]
        if min(sizes) < 1 or min(_values(kernel.parameters).values()) < 0 or kernel.rows < 1:
            raise InputError(f"kernel {kernel.name}: sizes and parameters must be positive", path)


def _is_whole(tree: TreeRecord) -> bool:
    """Say whether a tree's tables fit together, so that every way through it ends at a leaf."""
    count = len(tree.features)
    if {len(tree.thresholds), len(tree.left), len(tree.right)} != {count} or len(tree.leaves) != count + 1:
        return False
    inner = all(0 <= feature < len(FEATURES) for feature in tree.features)
    return inner and all(
        (node < child < count) or (-len(tree.leaves) <= child < 0)
        for node, children in enumerate(zip(tree.left, tree.right, strict=True))
        for child in children
    )


def _chunk_sizes(chunks: ChunksRecord) -> tuple[int, int, int]:
    return chunks.size, chunks.least, chunks.short_k


def _record(traits: KernelTraits) -> TraitsRecord:
    return TraitsRecord(
        tile=traits.tile,
        schedule=traits.schedule.value,
        reduction=traits.reduction.value,
        lds_stages=traits.lds_stages,
        workgroups_per_unit=traits.workgroups_per_unit,
        labels=list(traits.labels),
        chunks=None
        if traits.chunks is None
        else ChunksRecord(**{**asdict(traits.chunks), "axis": traits.chunks.axis.value}),
    )


def _traits(record: TraitsRecord) -> KernelTraits:
    return KernelTraits(
        tile=record.tile,
        schedule=Schedule(record.schedule),
        reduction=Reduction(record.reduction),
        lds_stages=record.lds_stages,
        workgroups_per_unit=record.workgroups_per_unit,
        labels=tuple(record.labels),
        chunks=None if record.chunks is None else _chunks(record.chunks),
    )


def _chunks(record: ChunksRecord) -> RunChunks:
    return RunChunks(axis=RunAxis(record.axis), size=record.size, least=record.least, short_k=record.short_k)
