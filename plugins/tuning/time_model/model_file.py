"""Time models as JSON files."""

from __future__ import annotations

from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof.model.gemm_work import KernelTraits
from ckprof_plugins.tuning.time_model.formula import KernelParameters, SharedParameters
from ckprof_plugins.tuning.time_model.intervals import BANDS, PLACE_AXES, RANGE_AXES, Trials
from ckprof_plugins.tuning.time_model.model import Kinship, ModelKernel, TimeModel
from ckprof_plugins.tuning.time_model.trees import FEATURES, Tree

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = "ckprof-time-model"
VERSION: Final = 3


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
    traits: KernelTraits
    #: what the model computes with, where that differs from ``traits``
    computes: KernelTraits | None
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


class ModelDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
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
    #: spread of kernels that were not measured
    derived_spreads: dict[Kinship, float]
    #: errors on problems that were left out
    trials: Trials
    trees: list[Tree]
    #: times that were predicted from machine code, and how far measured ones are off; absent without any
    predicted: int = 0
    predicted_half: float = 0.0


def render_model(model: TimeModel, origin: Origin, quality: Quality) -> str:
    """Return the text of a trained model's file."""
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
                name=kernel.name,
                traits=kernel.traits,
                computes=None if kernel.computes == kernel.traits else kernel.computes,
                parameters=ParametersRecord(**asdict(kernel.parameters)),
                spread=kernel.spread,
                rows=kernel.rows,
            )
            for kernel in model.kernels.values()
        ],
        derived_spreads=dict(model.derived_spreads),
        trials=model.trials,
        trees=list(model.trees),
        predicted=model.predicted,
        predicted_half=model.predicted_half,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def read_document(path: Path) -> ModelDocument:
    """Return the content of a model's file.

    :raises InputError: it cannot be read, is none, or a value is out of range.
    """
    try:
        data = path.read_bytes()
        document = msgspec.json.decode(data, type=ModelDocument)
        # a dataclass ignores what it has no field for, and fills in what is missing
        if msgspec.json.decode(msgspec.json.encode(document)) != msgspec.json.decode(data):
            raise msgspec.ValidationError("it has other fields than a model has")
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
    for kernel in document.kernels:
        kernels[kernel.name] = ModelKernel(
            name=kernel.name,
            traits=kernel.traits,
            computes=kernel.computes or kernel.traits,
            parameters=KernelParameters(**_values(kernel.parameters)),
            spread=kernel.spread,
            rows=kernel.rows,
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
        trees=tuple(document.trees),
        predicted=document.predicted,
        predicted_half=document.predicted_half,
        trials=document.trials,
        derived_spreads=document.derived_spreads,
    )


def _values(record: msgspec.Struct) -> dict[str, float]:
    return {name: float(getattr(record, name)) for name in record.__struct_fields__}


def _check(document: ModelDocument, path: Path) -> None:
    """Refuse values with which formulas fail."""
    if not document.kernels:
        raise InputError("the model has no kernels", path)
    if document.predicted < 0 or not 0 <= document.predicted_half < inf:
        raise InputError("predicted and predicted_half must not be negative", path)
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
    _check_errors(document, path)
    if not all(map(_is_whole, document.trees)):
        raise InputError("trees: a table has values that no tree has", path)
    for kernel in document.kernels:
        records = [kernel.traits, *([kernel.computes] if kernel.computes else [])]
        sizes = [
            size
            for record in records
            for size in (*record.tile, record.lds_stages, record.workgroups_per_unit)
        ]
        sizes += [
            size
            for record in records
            if record.chunks
            for size in (record.chunks.size, record.chunks.least, record.chunks.short_k)
        ]
        if min(sizes) < 1 or min(_values(kernel.parameters).values()) < 0 or kernel.rows < 1:
            raise InputError(f"kernel {kernel.name}: sizes and parameters must be positive", path)


def _check_errors(document: ModelDocument, path: Path) -> None:
    """Refuse what is known about errors if it cannot be looked up."""
    places = document.trials.places
    lengths = {len(place) for place in places}
    whole = lengths == {PLACE_AXES} and set(document.derived_spreads) == set(Kinship)
    if not whole or any(
        not 0 <= trial.problem < len(places)
        or len(trial.beyond) != len(RANGE_AXES)
        or len(trial.errors) != len(BANDS)
        for trial in document.trials.trials
    ):
        raise InputError("trials and derived_spreads are not those that a model has", path)


def _is_whole(tree: Tree) -> bool:
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
