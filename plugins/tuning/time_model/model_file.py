"""Time models as JSON files."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from math import inf
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, input_errors
from ckprof.files import content_of
from ckprof.version import __version__
from ckprof_plugins.tuning.time_model.formula import TREND, least_trend
from ckprof_plugins.tuning.time_model.intervals import BANDS, PLACE_AXES, RANGE_AXES
from ckprof_plugins.tuning.time_model.model import Efficiency, ModelKernel, Similarity, TimeModel

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = "ckprof-time-model"
VERSION: Final = 4


def render_model(model: TimeModel) -> str:
    """Return the text of a trained model's file."""
    return msgspec.json.format(msgspec.json.encode(_content(model)), indent=1).decode() + "\n"


def _content(model: TimeModel) -> dict[str, Any]:
    """Return what a file holds: kernels as a list, figures also where there are none."""
    content = {"schema": SCHEMA, "version": VERSION, "ckprof": __version__}
    content |= {field.name: getattr(model, field.name) for field in fields(model)}
    content["kernels"] = list(model.kernels.values())
    content["quality"] = model.quality or dict.fromkeys(field.name for field in fields(Efficiency))
    if not model.predicted:
        del content["predicted"]
    return content


def read_model(path: Path) -> TimeModel:
    """Return the model of a file.

    :raises InputError: it cannot be read, is not a model, or a value is out of range.
    """
    with input_errors(msgspec.DecodeError, "not a model of 'ckprof train'", path):
        content = msgspec.json.decode(content_of(path), type=dict[str, Any])
        found = content.get("schema"), content.get("version")
        if None not in found and found != (SCHEMA, VERSION):
            expected = f"expected schema {SCHEMA} version {VERSION}"
            raise InputError(f"{expected}, got {found[0]} version {found[1]}", path)
        kernels = msgspec.convert(content.get("kernels"), list[ModelKernel])
        quality = content.get("quality")
        empty = isinstance(quality, dict) and not any(quality.values())
        model = msgspec.convert(content | {"kernels": {}, "quality": None if empty else quality}, TimeModel)
        model = replace(model, kernels={kernel.name: kernel for kernel in kernels})
        # a dataclass ignores what it has no field for, and fills in what is missing
        same = msgspec.json.decode(msgspec.json.encode(_content(model)))
        if same | {"ckprof": content.get("ckprof", 0)} != content:
            raise msgspec.ValidationError("it has other fields than a model has")
    _check(model, path)
    return model


def _check(model: TimeModel, path: Path) -> None:
    """Refuse values with which formulas fail."""
    if not model.kernels:
        raise InputError("the model has no kernels", path)
    if model.predicted < 0 or not 0 <= model.predicted_half < inf:
        raise InputError("predicted and predicted_half must not be negative", path)
    if model.compute_units < 1 or model.element_bytes < 1 or model.shortest_us <= 0:
        raise InputError("compute_units, element_bytes and shortest_us must be positive", path)
    shared = model.shared
    if min(shared.bandwidth, shared.merging, shared.gathering) <= 0 or not 0 <= shared.tail <= 1:
        raise InputError(
            "shared.bandwidth, merging and gathering must be positive and shared.tail between 0 and 1", path
        )
    missing = [axis for axis in RANGE_AXES if axis not in model.ranges]
    if missing or any(low <= 0 or low > high for low, high in model.ranges.values()):
        raise InputError(f"ranges must hold a least and a greatest value for {', '.join(RANGE_AXES)}", path)
    places = model.trials.places
    lengths = {len(place) for place in places}
    whole = lengths == {PLACE_AXES} and set(model.derived_spreads) == set(Similarity)
    if not whole or any(
        not 0 <= trial.problem < len(places)
        or len(trial.beyond) != len(RANGE_AXES)
        or len(trial.errors) != len(BANDS)
        for trial in model.trials.trials
    ):
        raise InputError("trials and derived_spreads are not those that a model has", path)
    if len(model.middle) != TREND - 1 or min(model.middle) <= 0:
        raise InputError("middle must hold four positive sizes", path)
    for kernel in model.kernels.values():
        sizes: list[int] = []
        for traits in (kernel.traits, kernel.computes):
            sizes += [*traits.tile, traits.lds_stages, traits.workgroups_per_unit]
            if (chunks := traits.chunks) is not None:
                sizes += [chunks.size, chunks.least, chunks.short_k]
        if min(sizes) < 1 or min(asdict(kernel.parameters).values()) < 0 or kernel.rows < 1:
            raise InputError(f"kernel {kernel.name}: sizes and parameters must be positive", path)
        if kernel.trend and (len(kernel.trend) != TREND or least_trend(kernel.trend) <= 0):
            raise InputError(f"kernel {kernel.name}: trend has not the numbers that a trend has", path)
