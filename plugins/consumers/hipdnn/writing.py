"""Overrides of hipDNN for verified winners: MIOpen's engine, for the tensors of each problem."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ckprof.plugin.protocols import ConsumerFiles
from ckprof_plugins.consumers.hipdnn.overrides import (
    MIOPEN_ENGINE,
    OPERATIONS,
    TENSORS,
    VERSION,
    packed_strides,
)
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from ckprof.plugin.protocols import ExportRequest, TunedKernel

FILE: Final = "hipdnn_overrides.json"
_NAMES: Final = {direction: name for name, direction in OPERATIONS.items()}
#: name of a layout -> whether channels are last
_LAYOUTS: Final = {"nhwgc": True, "ndhwgc": True, "ngchw": False, "ngcdhw": False}


def export(request: ExportRequest) -> ConsumerFiles:
    """Return the file; nothing for problems that are no convolutions."""
    left_out: Counter[str] = Counter()
    overrides: dict[str, tuple[float, dict[str, Any]]] = {}
    for winner in request.winners:
        problem = winner.problem
        if not isinstance(problem, ConvProblem) or winner.direction not in _NAMES:
            left_out[f"{winner.direction} is no convolution"] += 1
            continue
        if winner.layout not in _LAYOUTS:
            left_out[f"tensors of the layout {winner.layout} have no strides of their own"] += 1
            continue
        override = _override(winner, problem)
        key = json.dumps([override["op"], override["tensors"]])
        if key not in overrides or winner.time_ms < overrides[key][0]:
            overrides[key] = (winner.time_ms, override)
    files = {}
    if overrides:
        document = {"version": VERSION, "engine_overrides": [item for _, item in overrides.values()]}
        files[FILE] = (json.dumps(document, indent=2) + "\n").encode()
    return ConsumerFiles(files=files, entries=len(overrides), left_out=left_out)


def _override(winner: TunedKernel, problem: ConvProblem) -> dict[str, Any]:
    x = [problem.batch, problem.groups * problem.in_channels, *problem.input]
    w = [problem.groups * problem.out_channels, problem.in_channels, *problem.filter]
    y = [problem.batch, problem.groups * problem.out_channels, *problem.output]
    last = _LAYOUTS[winner.layout]
    return {
        "op": _NAMES[winner.direction],
        "engine_name": MIOPEN_ENGINE,
        "tensors": [
            {"tensor_id": name, "dim": dim, "stride": packed_strides(dim, last)}
            for name, dim in zip(TENSORS, (x, w, y), strict=True)
        ],
        "autotune_metadata": {
            # only what is known of the winner; the tuner's own figures are left out
            "rank": 0,
            "min_time_ms": winner.time_ms,
            "workspace_size": winner.workspace_bytes,
            "strategy": "ckprof",
            "knobs": [],
        },
    }
