"""What a kernel does for a problem: sizes, workgroups, rounds over the device, iterations, traffic.

The formulas are written once: given numbers they compute; given NumPy arrays they compute many rows, for
training; given :class:`~ckprof_plugins.tuning.time_model.expression.Symbol` they record, for programs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ckprof.model.gemm_work import ImageShape, Reduction, RunAxis, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.model.gemm_work import KernelTraits, Product, RunChunks

#: a number, an array of them, or a symbol of a formula
Value: TypeAlias = Any
#: problem -> what kernels make of it
GemmSizes: TypeAlias = "Callable[[Any], Sizes]"


#: bytes of an element of a workspace in which parts of a reduction meet
PARTIAL_BYTES = 4
#: a chunk, its half and its quarter: what memory and caches deliver at once
_ACCESSES = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """A problem as kernels see it: numbers, arrays of them, or symbols."""

    #: the matrix products: sizes and number of them
    m: Value
    n: Value
    k: Value
    batch: Value
    #: elements along n and along k that lie side by side in memory: the channels of one filter tap
    n_run: Value
    k_run: Value
    #: rows and columns of one image of the result, number of images, of channels over all groups
    rows: Value
    columns: Value
    images: Value
    channels: Value
    #: bytes of all tensors, and of one element
    tensor_bytes: Value
    element_bytes: Value
    #: product of the strides, see :attr:`ckprof.model.gemm_work.ImageShape.step`
    step: Value = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCosts:
    """What runs cost a kernel that takes them in chunks."""

    #: 0 if runs are whole chunks; a third for each of a chunk, its half and its quarter that they are no
    #: multiple of
    ragged: Value
    #: 1 if runs are too short for chunks, so that slower code computes the problem, else 0
    short: Value
    #: bytes of the rows that are gathered, as often as filter taps read them
    gathered_bytes: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One kernel on one problem."""

    #: workgroups per compute unit, as a fraction
    load: Value
    #: the same in whole rounds: the compute unit with the most work; ``None`` if work is divided evenly
    rounds: Value | None
    #: iterations over the reduction of one tile
    loops: Value
    #: iterations of one workgroup, one after the other
    steps: Value
    #: bytes of all tensors, each once
    tensor_bytes: Value
    #: bytes of zeroing, of adding parts and of workspaces; the number 0.0 if there is no such traffic
    extra_bytes: Value
    #: kernels that are launched
    launches: int
    #: whether several workgroups add to one tile of the result
    splits: bool = False
    #: ``None`` for a kernel that takes no notice of runs
    runs: RunCosts | None = None


def work(traits: KernelTraits, sizes: Sizes, splits: int, units: int) -> Work:
    """Return what a kernel does for a problem.

    :param splits: parts of the reduction that have workgroups of their own.
    :param units: compute units of the device.
    """
    if traits.schedule is Schedule.WINDOW:
        return _windows(traits, sizes, units)
    tiles, depth = tiles_of(traits, sizes)
    if traits.schedule is Schedule.STREAM:
        return _stream(traits, sizes, tiles, depth, units)
    loops = ceil_div(depth, splits)
    groups = tiles * splits
    extra, launches = _meeting(traits, sizes, splits)
    return Work(
        load=groups / units,
        rounds=ceil_div(groups, units),
        loops=loops,
        steps=loops,
        tensor_bytes=sizes.tensor_bytes,
        extra_bytes=extra,
        launches=launches,
        splits=splits > 1,
        runs=None if traits.chunks is None else _run_costs(traits.chunks, sizes),
    )


def tiles_of(traits: KernelTraits, sizes: Sizes) -> tuple[Value, Value]:
    """Return the tiles of all products, and the iterations over the whole reduction of one tile."""
    tile_m, tile_n, tile_k = traits.tile
    across = ceil_div(sizes.n, tile_n)
    depth = ceil_div(sizes.k, tile_k)
    chunks = traits.chunks
    if chunks is not None:
        if chunks.axis is RunAxis.COLUMNS:
            pieces = ceil_div(sizes.n, sizes.n_run) * ceil_div(sizes.n_run, chunks.size)
            across = ceil_div(pieces, max(1, tile_n // chunks.size))
        else:
            pieces = ceil_div(sizes.k, sizes.k_run) * ceil_div(sizes.k_run, chunks.size)
            depth = ceil_div(pieces, max(1, tile_k // chunks.size))
        short = _short(chunks, sizes)
        depth = depth + short * (ceil_div(sizes.k, chunks.short_k) - depth)
    return ceil_div(sizes.m, tile_m) * across * sizes.batch, depth


def _run(chunks: RunChunks, sizes: Sizes) -> Value:
    return sizes.n_run if chunks.axis is RunAxis.COLUMNS else sizes.k_run


def _short(chunks: RunChunks, sizes: Sizes) -> Value:
    """Return 1 where runs are shorter than what chunks are for, else 0."""
    return 1 - minimum(_run(chunks, sizes) // chunks.least, 1)


def _run_costs(chunks: RunChunks, sizes: Sizes) -> RunCosts:
    run = _run(chunks, sizes)
    # along the columns, runs are gathered for every row of the reduction
    rows = sizes.k if chunks.axis is RunAxis.COLUMNS else sizes.m
    axis = sizes.n if chunks.axis is RunAxis.COLUMNS else sizes.k
    padded = ceil_div(axis, run) * ceil_div(run, chunks.size) * chunks.size
    return RunCosts(
        ragged=_misaligned(run, chunks.size),
        short=_short(chunks, sizes),
        gathered_bytes=rows * padded * sizes.batch * sizes.element_bytes,
    )


def _misaligned(run: Value, size: int) -> Value:
    """Return 0 for runs of whole chunks, more the less of an access is used where rows begin: up to 1."""
    parts = [size // divisor for divisor in _ACCESSES if size >= divisor]
    return sum(ceil_div(run, part) - run // part for part in parts) / len(parts)


def _windows(traits: KernelTraits, sizes: Sizes, units: int) -> Work:
    rows, columns, images = traits.tile
    windows = ceil_div(sizes.rows, rows) * ceil_div(sizes.columns, columns)
    groups = windows * ceil_div(sizes.images, images) * sizes.channels
    return Work(
        load=groups / units,
        rounds=ceil_div(groups, units),
        loops=1.0,
        steps=1.0,
        tensor_bytes=sizes.tensor_bytes,
        extra_bytes=0.0,
        launches=1,
    )


def _stream(traits: KernelTraits, sizes: Sizes, tiles: Value, depth: Value, units: int) -> Work:
    resident = units * traits.workgroups_per_unit
    iterations = tiles * depth
    # each workgroup leaves at most one tile unfinished, whose partial sums pass through memory twice
    partial = minimum(tiles, resident) * (2 * PARTIAL_BYTES * traits.tile[0] * traits.tile[1])
    return Work(
        load=tiles / units,
        rounds=None,
        loops=depth,
        steps=ceil_div(iterations, resident),
        tensor_bytes=sizes.tensor_bytes,
        extra_bytes=partial,
        launches=1,
    )


def _meeting(traits: KernelTraits, sizes: Sizes, splits: int) -> tuple[Value, int]:
    """Return the traffic of parts that meet, and the number of launches."""
    elements = sizes.m * sizes.n * sizes.batch
    if traits.reduction is Reduction.WORKSPACE:
        # zeroed, added to by every part (a read and a write), read again for the conversion
        return elements * (PARTIAL_BYTES * (2 + 2 * splits)), 2
    if splits == 1:
        return 0.0, 1
    if traits.reduction is Reduction.ARRIVAL:
        # added to by every part; the last one reads, zeroes and converts
        return elements * (PARTIAL_BYTES * (2 + splits) + sizes.element_bytes), 1
    return elements * sizes.element_bytes * (1 + 2 * splits), 1


def ceil_div(a: Value, b: Value) -> Value:
    """Return a / b rounded up, of positive whole numbers."""
    recorded = getattr(a, "ceil_div", None) or getattr(b, "reverse_ceil_div", None)
    if recorded is not None:
        return recorded(b if hasattr(a, "ceil_div") else a)
    return -(-a // b)


def maximum(a: Value, b: Value) -> Value:
    """Return the larger one."""
    return _choose("maximum", a, b)


def minimum(a: Value, b: Value) -> Value:
    """Return the smaller one."""
    return _choose("minimum", a, b)


def square_root(a: Value) -> Value:
    """Return the square root."""
    if hasattr(a, "square_root"):
        return a.square_root()
    if hasattr(a, "shape"):
        import numpy as np

        return np.sqrt(a)
    return math.sqrt(a)


def fourth_power(a: Value) -> Value:
    """Return a * a * a * a."""
    square = a * a
    return square * square


def fourth_root(a: Value) -> Value:
    """Return the fourth root."""
    return square_root(square_root(a))


def _choose(name: str, a: Value, b: Value) -> Value:
    for value, other in ((a, b), (b, a)):
        if hasattr(value, name):
            return getattr(value, name)(other)
    if hasattr(a, "shape") or hasattr(b, "shape"):
        import numpy as np

        return getattr(np, name)(a, b)
    return max(a, b) if name == "maximum" else min(a, b)


def sizes_of_product(product: Product) -> Sizes:
    """Return the sizes that the time model makes of matrix products."""
    n_run, k_run = product.runs or (product.n, product.k)
    images = product.images or ImageShape(rows=product.m, columns=product.n, images=product.batch, channels=1)
    return Sizes(
        m=product.m,
        n=product.n,
        k=product.k,
        batch=product.batch,
        n_run=n_run,
        k_run=k_run,
        rows=images.rows,
        columns=images.columns,
        images=images.images,
        channels=images.channels,
        tensor_bytes=product.tensor_bytes,
        element_bytes=product.result_bytes,
        step=images.step,
    )
