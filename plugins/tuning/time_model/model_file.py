"""Time models as JSON files."""

from __future__ import annotations

from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof.version import __version__
from ckprof_plugins.tuning.time_model.formula import SharedParameters
from ckprof_plugins.tuning.time_model.intervals import BANDS, PLACE_AXES, RANGE_AXES, Trials
from ckprof_plugins.tuning.time_model.model import ModelKernel, Similarity, TimeModel
from ckprof_plugins.tuning.time_model.trees import FEATURES, BoostedTree

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = "ckprof-time-model"
VERSION: Final = 3


class Provenance(msgspec.Struct, forbid_unknown_fields=True):
    """Which measurements the model was fitted to."""

    sources: list[str]
    #: hash over problems, kernels and times
    digest: str
    problems: int
    rows: int
    dropped: list[str]


class ModelDocument(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
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
    splits: tuple[int, ...]
    shortest_us: float
    ranges: dict[str, tuple[float, float]]
    origin: Provenance
    #: how well the model chose among the kernels of its own training problems, by cross-validation: mean,
    #: median, P10 and worst; ``None`` where there were too few problems
    quality: dict[str, float | None]
    shared: SharedParameters
    kernels: list[ModelKernel]
    #: spread of kernels that were not measured
    derived_spreads: dict[Similarity, float]
    #: errors on problems that were left out
    trials: Trials
    trees: tuple[BoostedTree, ...]
    #: times that were predicted from machine code, and how far measured ones are off; absent without any
    predicted: int = 0
    predicted_half: float = 0.0


#: fields that are the same in a file and in the program
_SAME: Final = tuple(sorted(set(TimeModel.__dataclass_fields__) - {"kernels"}))


def render_model(model: TimeModel, origin: Provenance, quality: dict[str, float | None]) -> str:
    """Return the text of a trained model's file.

    :param quality: see :attr:`ModelDocument.quality`.
    """
    document = ModelDocument(
        schema=SCHEMA,
        version=VERSION,
        ckprof=__version__,
        origin=origin,
        quality=quality,
        kernels=list(model.kernels.values()),
        **{name: getattr(model, name) for name in _SAME},
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def read_document(path: Path) -> ModelDocument:
    """Return the content of a model's file.

    :raises InputError: it cannot be read, is not a model, or a value is out of range.
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
    return TimeModel(
        kernels={kernel.name: kernel for kernel in document.kernels},
        **{name: getattr(document, name) for name in _SAME},
    )


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
        records = [kernel.traits, kernel.computes]
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
        if min(sizes) < 1 or min(asdict(kernel.parameters).values()) < 0 or kernel.rows < 1:
            raise InputError(f"kernel {kernel.name}: sizes and parameters must be positive", path)


def _check_errors(document: ModelDocument, path: Path) -> None:
    """Refuse what is known about errors if it cannot be looked up."""
    places = document.trials.places
    lengths = {len(place) for place in places}
    whole = lengths == {PLACE_AXES} and set(document.derived_spreads) == set(Similarity)
    if not whole or any(
        not 0 <= trial.problem < len(places)
        or len(trial.beyond) != len(RANGE_AXES)
        or len(trial.errors) != len(BANDS)
        for trial in document.trials.trials
    ):
        raise InputError("trials and derived_spreads are not those that a model has", path)


def _is_whole(tree: BoostedTree) -> bool:
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
