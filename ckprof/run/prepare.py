"""Operands and reference of a problem, computed once and handed to workers as files.

This happens in the parent process, between measurements: a direction that comes from a file named on the
command line could not be imported in a fresh child, and forking a process with threads is unsafe. Nothing
stays in memory: workers map the files, and a worker that crashes costs no second computation.
"""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import psutil

from ckprof.errors import PluginError
from ckprof.model.tensor import tensor_shape
from ckprof.run.messages import LoadProblem, TensorFile
from ckprof.run.operands import make_operand
from ckprof.run.storage import decode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
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
    """A problem ready to be loaded by workers."""

    request: LoadProblem
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
    shapes = {name: tensor_shape(problem, layout, name) for name in direction.tensors}
    axes = {"input": layout.input, "weight": layout.weight, "output": layout.output}
    paths = {name: folder / f"{name}.npy" for name in operands}
    try:
        stored = {
            name: make_operand(problem, layout, name, dtype, options.init, options.seed) for name in operands
        }
        for name, values in stored.items():
            np.save(paths[name], values, allow_pickle=False)
        reference_path = ""
        magnitude = 0.0
        if options.verify:
            target = folder / "reference.npy"
            reference_path = str(target)
            magnitude = _write_reference(direction, problem, layout, dtype, stored, target)
    except MemoryError as exc:
        raise InsufficientMemoryError(f"not enough memory to prepare the problem: {exc}") from exc
    files = tuple(
        TensorFile(name=name, axes=axes[name], shape=shapes[name], path=str(paths[name])) for name in operands
    )
    request = LoadProblem(
        problem=problem,
        dtype=dtype,
        operands=files,
        result=TensorFile(name=result, axes=axes[result], shape=shapes[result], path=reference_path),
        reduction_length=direction.reduction_length(problem),
        magnitude=magnitude,
    )
    return PreparedProblem(request=request, seconds=time.perf_counter() - start)


def check_memory(problem: ConvProblem, dtype: DataType, options: RunOptions, folder: Path) -> None:
    """Estimate what the tensors need before anything is allocated.

    Preparing holds all tensors as stored, and those of some images in double precision; the reference is
    reckoned with as much again for its own purposes. Running holds all tensors as stored.

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


def _write_reference(
    direction: Direction,
    problem: ConvProblem,
    layout: ConvLayout,
    dtype: DataType,
    stored: Mapping[str, NDArray[Any]],
    path: Path,
) -> float:
    """Compute the reference for some images at a time, write it, and return its largest magnitude.

    A result with images is written part by part, one without is the sum over all images. Doubles of
    everything at once would take several times the memory of the tensors.
    """
    axes = {"input": layout.input, "weight": layout.weight, "output": layout.output}
    result = direction.tensors[2]
    images = (
        _images_at_once(problem) if all(axes[n][0] == "N" for n in axes if "N" in axes[n]) else problem.batch
    )
    magnitude = 0.0
    total: NDArray[np.float64] | None = None
    with path.open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": tensor_shape(problem, layout, result)}
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, problem.batch, images):
            some = slice(first, min(first + images, problem.batch))
            part = replace(problem, batch=some.stop - some.start)
            operands = {
                name: decode(values[some] if "N" in axes[name] else values, dtype)
                for name, values in stored.items()
            }
            reference = _compute_reference(direction, part, layout, operands)
            if "N" in axes[result]:
                file.write(reference.data.cast("B"))
                magnitude = max(magnitude, float(reference.max()), -float(reference.min()))
            else:
                total = reference if total is None else total + reference
        if total is not None:
            file.write(total.data.cast("B"))
            magnitude = max(float(total.max()), -float(total.min()))
    return magnitude


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
