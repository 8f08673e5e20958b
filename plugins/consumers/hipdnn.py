"""hipDNN: overrides of the choice of engines, judged and written."""

from __future__ import annotations

import json
import math
import sys
from math import prod
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, input_errors
from ckprof_plugins.consumers.audit import digest_of, read_file, unchanged
from ckprof_plugins.consumers.records import ConsumerFiles, FileAudit, LeftOutError, Reason
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof_plugins.consumers.records import AuditRequest, ExportRequest, TunedKernel


#: version of the files that are written; older ones, and those that say none, know tensors by position
VERSION: Final = 2
#: a length or stride that fits every tensor
_ANY: Final = -1
#: engine that runs MIOpen
MIOPEN_ENGINE: Final = "MIOPEN_ENGINE"
#: operation -> id of the direction
OPERATIONS: Final[Mapping[str, str]] = {
    "conv_fprop": "fwd",
    "conv_dgrad": "bwd_data",
    "conv_wgrad": "bwd_weight",
}
#: names of the tensors of a convolution: input, weight, output
TENSORS: Final = ("X", "W", "Y")
_LARGEST: Final = sys.float_info.max
_TIMES: Final = ("min_time_ms", "avg_time_ms", "stddev_ms")
_KNOB_TYPES: Final[Mapping[str, Any]] = {"int64": int, "float64": (int, float), "string": str}


def _document(data: bytes, path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; an empty one for another value."""
    with input_errors((msgspec.DecodeError, RecursionError, UnicodeDecodeError), "is no JSON", path):
        document = msgspec.json.decode(data)
    return document if isinstance(document, dict) else {}


def remarks_of(item: Any, *, by_position: bool = False) -> list[tuple[Reason, str]]:
    """Return what is wrong with an override.

    :param by_position: tensors need no ids.
    """
    if not isinstance(item, dict):
        return [(Reason.MALFORMED_ROW, "an override is an object")]
    for name in ("op", "engine_name"):
        if not isinstance(item.get(name), str) or not item[name]:
            return [(Reason.MALFORMED_ROW, f"{name} is {item.get(name)!r}, expected a text")]
    if not isinstance(item.get("criteria", {}), dict):
        return [(Reason.MALFORMED_ROW, "criteria is not an object")]
    tensors = item.get("tensors")
    if not isinstance(tensors, list) or not tensors:
        return [(Reason.MALFORMED_KEY, "tensors is not a list with entries")]
    shapes: dict[str, tuple[int, ...]] = {}
    for number, tensor in enumerate(tensors):
        if by_position and isinstance(tensor, dict) and "tensor_id" not in tensor:
            tensor = {**tensor, "tensor_id": f"tensor {number}"}
        problem = _tensor_problem(tensor, shapes)
        if problem:
            return [(Reason.MALFORMED_KEY, problem)]
        shapes[tensor["tensor_id"]] = tuple(tensor["dim"])
    mismatch = _shape_problem(item["op"], shapes)
    if mismatch:
        return [(Reason.WRONG_PROBLEM, mismatch)]
    metadata = item.get("autotune_metadata", {})
    if not isinstance(metadata, dict):
        return [(Reason.MALFORMED_VALUE, "autotune_metadata is not an object")]
    return list(_metadata_remarks(metadata))


def _tensor_problem(tensor: Any, known: Mapping[str, object]) -> str:
    name = tensor.get("tensor_id") if isinstance(tensor, dict) else None
    if not isinstance(name, str) or not name:
        return "a tensor has no tensor_id, which is required"
    if name in known:
        return f"tensor_id {name!r} stands twice; they must be unique"
    for part, least in (("dim", 1), ("stride", 0)):
        if part == "stride" and part not in tensor:
            continue
        values = tensor.get(part)
        if not isinstance(values, list) or not values:
            return f"{part} of {name} is {values!r:.80}, expected integers from {least} on"
        wrong = [one for one in values if not _is_int(one, least) and one != _ANY]
        if wrong:
            return (
                f"{part} of {name} has {wrong[0]!r:.80}, expected integers from {least} on, or {_ANY} for any"
            )
    if "stride" in tensor and len(tensor["dim"]) != len(tensor["stride"]):
        return f"{name} has {len(tensor['dim'])} lengths and {len(tensor['stride'])} strides"
    return ""


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_int(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _shape_problem(operation: str, shapes: Mapping[str, Sequence[int]]) -> str:
    if operation not in OPERATIONS or not set(TENSORS) <= shapes.keys():
        return ""
    x, w, y = (shapes[name] for name in TENSORS)
    if not len(x) == len(w) == len(y) or len(x) < 3:
        return f"X, W and Y have {len(x)}, {len(w)} and {len(y)} dimensions"
    if _ANY in (*x, *w, *y):
        return ""
    if x[0] != y[0]:
        return f"the batch is {x[0]} in X and {y[0]} in Y"
    if w[0] != y[1]:
        return f"W has {w[0]} output channels, Y has {y[1]}"
    if x[1] % w[1] or w[0] % (x[1] // w[1]):
        return f"{x[1]} channels of X are no whole number of groups of {w[1]} that divides {w[0]}"
    return ""


def _metadata_remarks(metadata: Mapping[str, Any]) -> Iterator[tuple[Reason, str]]:
    for name in _TIMES:
        value = metadata.get(name, 0)
        # integers can be larger than any number of C++
        if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > _LARGEST:
            yield Reason.MALFORMED_VALUE, f"{name} is {_shown(value)[:80]}, expected milliseconds"
            return
        if not math.isfinite(value) or value < 0:
            yield Reason.WRONG_TIME, f"{name} is {value}"
            return
    least, mean = metadata.get("min_time_ms"), metadata.get("avg_time_ms")
    if least is not None and mean is not None and least > mean:
        yield Reason.WRONG_TIME, f"min_time_ms {least} is above avg_time_ms {mean}"
    if not _is_int(metadata.get("workspace_size", 0), 0):
        yield Reason.WRONG_WORKSPACE, f"workspace_size is {metadata['workspace_size']!r}, expected bytes"
    knobs = metadata.get("knobs", [])
    for knob in knobs if isinstance(knobs, list) else [None]:
        if not isinstance(knob, dict) or not isinstance(knob.get("knob_id"), str):
            yield Reason.MALFORMED_VALUE, "a knob has no knob_id"
        elif knob.get("type") in _KNOB_TYPES and not isinstance(knob.get("value"), _KNOB_TYPES[knob["type"]]):
            yield (
                Reason.MALFORMED_VALUE,
                f"knob {knob['knob_id']} is {knob.get('value')!r}, no {knob['type']}",
            )


def packed_strides(lengths: Sequence[int], channels_last: bool) -> list[int]:
    """Return the strides of a tensor without gaps whose lengths are in the order N, C, spatial."""
    if channels_last:
        inner = [prod(lengths[axis + 1 :]) * lengths[1] for axis in range(2, len(lengths))]
        return [prod(lengths[1:]), 1, *inner]
    return [prod(lengths[axis + 1 :]) for axis in range(len(lengths))]


FILE: Final = "hipdnn_overrides.json"
_NAMES: Final = {direction: name for name, direction in OPERATIONS.items()}
#: name of a layout -> whether channels are last
_LAYOUTS: Final = {"nhwgc": True, "ndhwgc": True, "ngchw": False, "ngcdhw": False}


def _override(winner: TunedKernel) -> tuple[str, dict[str, Any]]:
    """Return what a winner's override is known by, and the override."""
    problem = winner.problem
    if not isinstance(problem, ConvProblem) or winner.direction not in _NAMES:
        raise LeftOutError(f"{winner.direction} is not a convolution")
    if winner.layout not in _LAYOUTS:
        raise LeftOutError(f"tensors of the layout {winner.layout} have no strides of their own")
    x = [problem.batch, problem.groups * problem.in_channels, *problem.input]
    w = [problem.groups * problem.out_channels, problem.in_channels, *problem.filter]
    y = [problem.batch, problem.groups * problem.out_channels, *problem.output]
    last = _LAYOUTS[winner.layout]
    tensors = [
        {"tensor_id": name, "dim": dim, "stride": packed_strides(dim, last)}
        for name, dim in zip(TENSORS, (x, w, y), strict=True)
    ]
    override = {
        "op": _NAMES[winner.direction],
        "engine_name": MIOPEN_ENGINE,
        "tensors": tensors,
        "autotune_metadata": {
            # only what is known of the winner; the tuner's own figures are left out
            "rank": 0,
            "min_time_ms": winner.time_ms,
            "workspace_size": winner.workspace_bytes,
            "strategy": "ckprof",
            "knobs": [],
        },
    }
    return json.dumps([override["op"], tensors]), override


def _file(overrides: list[Any]) -> bytes:
    return _written({"version": VERSION, "engine_overrides": overrides})


def _written(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2) + "\n").encode()


class Hipdnn:
    """The JSON file with which hipDNN is told which engine runs an operation."""

    id = "hipdnn"
    label = "hipDNN: JSON overrides of the choice of engines"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say whether a file is such an override."""
        return path.suffix == ".json" and b"engine_overrides" in head

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each override, whose number is its position, from 1; no JSON is refused as a whole.

        :raises InputError: the file cannot be read.
        """
        path = request.path
        if not path.is_file():
            raise InputError("cannot be read: no such file", path)
        data = read_file(path)
        audit = FileAudit(path=path, label="hipDNN override", digest=digest_of(data))
        try:
            document = _document(data, path)
        except InputError as exc:
            audit.find(Reason.MALFORMED_ROW, exc.message, text=path.name)
            return audit
        overrides, version = document.get("engine_overrides"), document.get("version", 1)
        if not _is_int(version, 1):
            audit.find(Reason.NEVER_HIT, f"version is {_shown(version)[:80]}, expected a number from 1 on")
        by_position = version == 1
        if not isinstance(overrides, list):
            audit.find(Reason.MALFORMED_ROW, "engine_overrides is not a list")
            overrides = []
        seen: dict[str, int] = {}
        for number, item in enumerate(overrides, 1):
            remarks: list[tuple[Reason | None, str]] = [*remarks_of(item, by_position=by_position)]
            if not remarks:
                key = json.dumps([item["op"], item.get("criteria") or {}, item["tensors"]], sort_keys=True)
                first = seen.setdefault(key, number)
                twice = Reason.DUPLICATE, f"override {first} is for the same operation and tensors"
                sound = None, "override in order; it chooses an engine, not a kernel"
                remarks = [sound if first == number else twice]
            text = _shown(item)[:160]
            for reason, message in remarks:
                audit.find(reason, message, number, text)
        audit.entries = len(overrides)
        return audit

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the document without wrong overrides, and with all else that it has.

        :raises InputError: the file cannot be read any more, or has changed since.
        """
        document = _document(unchanged(audit, read_file(audit.path)), audit.path)
        wrong = audit.removable
        overrides = enumerate(document.get("engine_overrides", []), 1)
        return _written({**document, "engine_overrides": [item for n, item in overrides if n not in wrong]})

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return a file that has MIOpen run each problem; its own databases choose the kernel."""
        found, left_out = request.fastest(_override)
        files = {FILE: _file(list(found.values()))} if found else {}
        return ConsumerFiles(files=files, entries=len(found), left_out=left_out)
