"""Operands and reference of a problem, computed once; operands are handed to workers as files.

This happens in the parent process, between measurements: a direction that comes from a file named on the
command line could not be imported in a fresh child, and forking a process with threads is unsafe. Nothing
stays in memory: workers read the files, and a worker that crashes costs no second computation. The reference
is not for them: a kernel that could read it could pass it off as its result.
"""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psutil

from ckprof.errors import PluginError
from ckprof.model.layout import TENSORS, tensor_shape
from ckprof.run.guards import CheckedTensor
from ckprof.run.messages import LoadProblem, TensorFile
from ckprof.run.operands import InitKind, OperandValues, make_operand
from ckprof.run.storage import decode
from ckprof.run.stored_file import StoredFile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import ConvLayout
    from ckprof.model.problem import ConvProblem
    from ckprof.plugin.protocols import Direction
    from ckprof.run.options import RunOptions

_DOUBLE_BYTES = 8

#: doubles of the images' tensors that one part of the reference's computation may take
_PART_BYTES = 32 * 2**20


class InsufficientMemoryError(Exception):
    """The tensors do not fit into memory or onto the disk; the message has the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedProblem:
    """A problem ready to be loaded by workers, and what their results are compared with."""

    request: LoadProblem
    #: the two operands and the result
    tensors: tuple[CheckedTensor, CheckedTensor, CheckedTensor]
    #: letters of the result's axes, slowest first
    axes: str
    #: doubles in the order of the result; ``None`` without verification
    reference: StoredFile | None
    #: products accumulated into one element of the result
    reduction_length: int
    #: largest magnitude in the reference, 0 without one
    magnitude: float
    #: what the sum of so many products of such operands deviates from its mean by; 0 without a reference
    deviation: float
    #: whether every sum of products is exact, however it is computed
    exact: bool
    #: wall seconds that it took
    seconds: float


def prepare_problem(
    direction: Direction,
    problem: ConvProblem,
    layout: ConvLayout,
    dtype: DataType,
    options: RunOptions,
    folder: Path,
) -> PreparedProblem:
    """Write the operands and, unless verification is off, the reference.

    :param folder: where to write; must exist.
    :raises InsufficientMemoryError: memory or disk do not suffice.
    :raises PluginError: the direction's reference failed or has the wrong shape.
    """
    start = time.perf_counter()
    check_memory(problem, dtype, options, folder)
    *operands, result = direction.tensors
    wanted = OperandValues(
        kind=options.init, seed=options.seed, reduction_length=direction.reduction_length(problem)
    )
    paths = {name: folder / f"{name}.npy" for name in operands}
    found = _Reference(magnitude=0.0, deviation=0.0, values=None)
    try:
        stored = {name: make_operand(problem, layout, name, dtype, wanted) for name in operands}
        for name, values in stored.items():
            np.save(paths[name], values, allow_pickle=False)
        if options.verify:
            found = _write_reference(direction, problem, layout, dtype, stored, folder)
    except MemoryError as exc:
        raise InsufficientMemoryError(f"not enough memory to prepare the problem: {exc}") from exc
    files = [
        TensorFile(name=name, shape=tensor_shape(problem, layout, name), path=str(paths.get(name, "")))
        for name in direction.tensors
    ]
    first, second, output = (
        CheckedTensor(
            name=file.name,
            size_bytes=math.prod(file.shape) * dtype.properties.size_bytes,
            values=StoredFile.open(Path(file.path)) if file.path else None,
        )
        for file in files
    )
    return PreparedProblem(
        request=LoadProblem(
            problem=problem,
            dtype=dtype,
            operands=tuple(files[:2]),
            result=files[2],
            direction=direction.id,
            layout=layout.name,
        ),
        tensors=(first, second, output),
        axes=layout.order(result),
        reference=found.values,
        reduction_length=wanted.reduction_length,
        magnitude=found.magnitude,
        deviation=found.deviation,
        exact=options.init is InitKind.EXACT,
        seconds=time.perf_counter() - start,
    )


def check_memory(problem: ConvProblem, dtype: DataType, options: RunOptions, folder: Path) -> None:
    """Estimate what the tensors need before anything is allocated.

    Preparing holds all tensors as stored, and those of some images in double precision; the reference is
    budgeted for with as much again for its own purposes. Running holds all tensors as stored.

    :raises InsufficientMemoryError: memory or disk do not suffice.
    """
    elements = problem.input_elements + problem.weight_elements + problem.output_elements
    stored = elements * dtype.properties.size_bytes
    part = problem.weight_elements + elements // problem.batch * _images_at_once(problem)
    needed = stored + (2 * part * _DOUBLE_BYTES if options.verify else 0)
    available = psutil.virtual_memory().available
    if needed > available:
        raise InsufficientMemoryError(
            f"the tensors need about {_gib(needed)} of memory, {_gib(available)} are available"
        )
    # The reference has the size of the result, which is one of the three.
    written = stored + (elements * _DOUBLE_BYTES if options.verify else 0)
    free = shutil.disk_usage(folder).free
    if written > free:
        raise InsufficientMemoryError(
            f"the tensors need up to {_gib(written)} in {folder}, {_gib(free)} are free: "
            "use another work folder"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reference:
    """A reference and what is known about it."""

    magnitude: float
    deviation: float
    values: StoredFile | None


def _write_reference(
    direction: Direction,
    problem: ConvProblem,
    layout: ConvLayout,
    dtype: DataType,
    stored: Mapping[str, NDArray[Any]],
    folder: Path,
) -> _Reference:
    """Compute the reference for some images at a time and write it.

    A result with images is written part by part, one without is the sum over all images. Doubles of
    everything at once would take several times the memory of the tensors. The file has no name: it is nobody
    else's business, and it is gone with this process.
    """
    result = direction.tensors[2]
    axes = {name: layout.order(name) for name in TENSORS}
    images = (
        _images_at_once(problem) if all(axes[n][0] == "N" for n in axes if "N" in axes[n]) else problem.batch
    )
    size = math.prod(tensor_shape(problem, layout, result))
    values = StoredFile.unnamed(folder, np.dtype(np.float64), size)
    magnitude = 0.0
    squares = dict.fromkeys(stored, 0.0)
    total: NDArray[np.float64] | None = None
    for first in range(0, problem.batch, images):
        some = slice(first, min(first + images, problem.batch))
        part = replace(problem, batch=some.stop - some.start)
        operands = {
            name: decode(raw[some] if "N" in axes[name] else raw, dtype) for name, raw in stored.items()
        }
        for name, decoded in operands.items():
            if first == 0 or "N" in axes[name]:
                squares[name] += float(np.vdot(decoded, decoded))
        reference = _compute_reference(direction, part, layout, operands)
        if "N" in axes[result]:
            values.append(reference)
            magnitude = max(magnitude, float(reference.max()), -float(reference.min()))
        else:
            total = reference if total is None else total + reference
    if total is not None:
        values.append(total)
        magnitude = max(float(total.max()), -float(total.min()))
    # Of a sum of independent products of two elements drawn from the operands.
    variance = float(direction.reduction_length(problem))
    for name, sum_of_squares in squares.items():
        variance *= sum_of_squares / stored[name].size
    return _Reference(magnitude=magnitude, deviation=math.sqrt(variance), values=values)


def _images_at_once(problem: ConvProblem) -> int:
    """Return how many images make up a part of the reference's computation."""
    elements = (problem.input_elements + problem.output_elements) // problem.batch
    return max(1, min(problem.batch, _PART_BYTES // (_DOUBLE_BYTES * max(1, elements))))


def _compute_reference(
    direction: Direction,
    problem: ConvProblem,
    layout: ConvLayout,
    operands: Mapping[str, NDArray[np.float64]],
) -> NDArray[np.float64]:
    shape = tensor_shape(problem, layout, direction.tensors[2])
    try:
        reference = np.asarray(direction.reference(problem, layout, operands), dtype=np.float64)
    except MemoryError:
        raise
    except Exception as exc:
        raise PluginError(f"direction {direction.id}: the reference failed on {problem.describe()}") from exc
    if reference.shape != shape:
        raise PluginError(
            f"direction {direction.id}: the reference has shape {reference.shape}, expected {shape}"
        )
    if not math.isfinite(float(reference.sum())):
        raise PluginError(f"direction {direction.id}: the reference is not finite on {problem.describe()}")
    return np.ascontiguousarray(reference)


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
