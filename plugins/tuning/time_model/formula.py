"""What a kernel does for a problem: sizes, workgroups, rounds over the device, iterations, traffic.

The formulas are written once: given numbers they compute; given NumPy arrays they compute many rows, for
training; given :class:`~ckprof_plugins.tuning.time_model.program.Symbol` they record, for programs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ckprof.model.gemm_work import ImageShape, Reduction, RunAxis, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.model.gemm_work import KernelTraits, Product, RunChunks


#: a number, an array of them, or a symbol of a formula
Value: TypeAlias = Any
#: problem -> what kernels make of it
GemmSizes: TypeAlias = "Callable[[Any], Sizes]"


#: bytes of an element of a workspace in which parts of a reduction meet
PARTIAL_BYTES = 4
#: a chunk, its half and its quarter: what memory and caches deliver in one access
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
class KernelWork:
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
    extra_bytes: Value = 0.0
    #: kernels that are launched
    launches: int = 1
    #: whether several workgroups add to one tile of the result
    splits: bool = False
    #: what runs cost a kernel that takes them in chunks; ``None`` for one that takes no notice of them.
    #: 0 if runs are whole chunks; a third for each of a chunk, its half and its quarter that they are no
    #: multiple of
    ragged: Value = None
    #: 1 if runs are too short for chunks, so that slower code computes the problem, else 0
    short: Value = None
    #: bytes of the rows that are gathered, as often as filter taps read them
    gathered_bytes: Value = None


def work(traits: KernelTraits, sizes: Sizes, splits: int, compute_units: int) -> KernelWork:
    """Return what a kernel does for a problem.

    :param splits: parts of the reduction that have workgroups of their own.
    :param units: compute units of the device.
    """
    if traits.schedule is Schedule.WINDOW:
        groups, loops = _windows(traits, sizes), 1.0
        extra, launches, chunks = 0.0, 1, None
    else:
        tiles, depth = tiles_of(traits, sizes)
        if traits.schedule is Schedule.STREAM:
            return _stream(traits, sizes, tiles, depth, compute_units)
        loops, groups, chunks = ceil_div(depth, splits), tiles * splits, traits.chunks
        extra, launches = _meeting(traits, sizes, splits)
    return KernelWork(
        load=groups / compute_units,
        rounds=ceil_div(groups, compute_units),
        loops=loops,
        steps=loops,
        tensor_bytes=sizes.tensor_bytes,
        extra_bytes=extra,
        launches=launches,
        splits=splits > 1,
        ragged=None if chunks is None else _misaligned(_run(chunks, sizes), chunks.size),
        short=None if chunks is None else _short(chunks, sizes),
        gathered_bytes=None if chunks is None else _gathered_bytes(chunks, sizes),
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


def _gathered_bytes(chunks: RunChunks, sizes: Sizes) -> Value:
    run = _run(chunks, sizes)
    # along the columns, runs are gathered for every row of the reduction
    rows, axis = (sizes.k, sizes.n) if chunks.axis is RunAxis.COLUMNS else (sizes.m, sizes.k)
    padded = ceil_div(axis, run) * ceil_div(run, chunks.size) * chunks.size
    return rows * padded * sizes.batch * sizes.element_bytes


def _misaligned(run: Value, size: int) -> Value:
    """Return 0 for runs of whole chunks, more the less of an access is used where rows begin: up to 1."""
    parts = [size // divisor for divisor in _ACCESSES if size >= divisor]
    return sum(ceil_div(run, part) - run // part for part in parts) / len(parts)


def _windows(traits: KernelTraits, sizes: Sizes) -> Value:
    rows, columns, images = traits.tile
    windows = ceil_div(sizes.rows, rows) * ceil_div(sizes.columns, columns)
    return windows * ceil_div(sizes.images, images) * sizes.channels


def _stream(traits: KernelTraits, sizes: Sizes, tiles: Value, depth: Value, compute_units: int) -> KernelWork:
    resident = compute_units * traits.workgroups_per_unit
    iterations = tiles * depth
    # each workgroup leaves at most one tile unfinished, whose partial sums pass through memory twice
    partial = minimum(tiles, resident) * (2 * PARTIAL_BYTES * traits.tile[0] * traits.tile[1])
    return KernelWork(
        load=tiles / compute_units,
        rounds=None,
        loops=depth,
        steps=ceil_div(iterations, resident),
        tensor_bytes=sizes.tensor_bytes,
        extra_bytes=partial,
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


def minimum(a: Value, b: Value) -> Value:
    """Return the smaller one."""
    for value, other in ((a, b), (b, a)):
        if hasattr(value, "minimum"):
            return value.minimum(other)
    if hasattr(a, "shape") or hasattr(b, "shape"):
        import numpy as np

        return np.minimum(a, b)
    return min(a, b)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedParameters:
    """What all kernels of a device have in common; while they are fitted, arrays in place of numbers."""

    #: microseconds of launching a kernel
    launch: float
    #: bytes per microsecond
    bandwidth: float
    #: 0: compute units that run out of work help the others; 1: all wait for the last round
    tail: float
    #: how much longer an iteration takes when every compute unit has a workgroup, as a fraction
    contention: float
    #: bytes per microsecond of zeroing, adding parts and workspaces
    merging: float
    #: bytes per microsecond of gathering rows in chunks, from caches
    gathering: float
    #: how much longer ragged runs take, as a fraction
    ragged: float
    #: how much longer an iteration takes where runs are too short for chunks, as a fraction
    short: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelParameters:
    """What is the kernel's own, in microseconds; while they are fitted, arrays in place of numbers."""

    #: before the first and after the last iteration
    prologue: float
    #: least time between prologue and end
    floor: float
    #: one iteration of a workgroup that has the compute unit for itself
    latency: float
    #: one tile, besides its iterations, on a compute unit with enough workgroups
    tile: float
    #: one iteration on a compute unit with enough workgroups
    loop: float
    #: handing over a tile to which other workgroups add as well
    meeting: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The parts of a predicted time, in microseconds."""

    #: launches and prologue: added to everything else
    fixed: Value
    #: the kernel is never faster
    floor: Value
    #: one workgroup on its own, iteration after iteration
    waiting: Value
    #: compute units that are busy with all of their workgroups
    computing: Value
    #: memory delivers every tensor once
    memory: Value
    #: caches deliver rows that are gathered in chunks; ``None`` for kernels that take no notice of runs
    gathering: Value | None
    #: zeroing, adding parts, workspaces; ``None`` without such traffic
    extra: Value | None
    #: what the sum of all is multiplied by, see :func:`trend`
    factor: Value = 1

    @property
    def powers(self) -> Value:
        """The sum of the fourth powers of the terms that overlap."""
        powers = fourth_power(self.floor) + fourth_power(self.memory)
        if self.gathering is not None:
            powers = powers + fourth_power(self.gathering)
        return powers + fourth_power(self.waiting) + fourth_power(self.computing)

    @property
    def total(self) -> Value:
        """The predicted time."""
        time = self.fixed + square_root(square_root(self.powers))
        return (time if self.extra is None else time + self.extra) * self.factor

    @property
    def limit(self) -> str:
        """What takes most of the time, for people."""
        parts = ["fixed", "floor", "waiting", "computing", "memory"]
        parts += [name for name in ("gathering", "extra") if getattr(self, name) is not None]
        return max(parts, key=lambda name: float(getattr(self, name)))


def terms(work: KernelWork, shared: SharedParameters, own: KernelParameters) -> Terms:
    """Return the parts of the time: numbers, arrays or symbols, as what it is given."""
    busy = work.load
    if work.rounds is not None:
        busy = work.load + shared.tail * (work.rounds - work.load)
    crowded = 1 + shared.contention * minimum(work.load, 1.0)
    fixed = shared.launch * work.launches + own.prologue
    waiting = work.steps * crowded
    looping = work.loops
    gathering = None
    if work.ragged is not None:
        slow = 1 + shared.short * work.short
        rough = 1 + shared.ragged * work.ragged
        waiting = waiting * slow
        looping = looping * (slow * rough)
        gathering = work.gathered_bytes * rough / shared.gathering
    return Terms(
        fixed=fixed + own.meeting if work.splits else fixed,
        floor=own.floor,
        waiting=waiting * own.latency,
        computing=busy * (own.tile + looping * own.loop),
        memory=work.tensor_bytes / shared.bandwidth,
        gathering=gathering,
        extra=None if isinstance(work.extra_bytes, float) else work.extra_bytes / shared.merging,
    )


def trend(middle: Sequence[float], coefficients: Sequence[float], sizes: Sizes) -> Value:
    """Return by what a kernel's time differs from its formula where problems are small or large: a factor.

    Each part is between 0 and its coefficient, half of it at the middle: so does a trend end where problems
    are far from all that were measured.

    :param middle: m, n, k and batch of a usual problem.
    :param coefficients: a constant, then one for each of :func:`positions`; empty without a trend.
    """
    if not coefficients:
        return 1
    parts = zip(coefficients[1:], positions(middle, sizes), strict=True)
    return (1 + coefficients[0]) + sum(coefficient * position for coefficient, position in parts)


#: numbers of a trend
TREND = 5


def least_trend(coefficients: Sequence[float]) -> float:
    """Return what no trend falls below."""
    return 1 + coefficients[0] + sum(min(one, 0.0) for one in coefficients[1:])


def positions(middle: Sequence[float], sizes: Sizes) -> tuple[Value, ...]:
    """Return where a problem is along m, n, k and its multiply-adds: 0 far below a usual one, 1 far above.

    :param middle: m, n, k and batch of that.
    """
    m, n, k, batch = (
        size / usual for size, usual in zip((sizes.m, sizes.n, sizes.k, sizes.batch), middle, strict=True)
    )
    return tuple(ratio / (ratio + 1) for ratio in (m, n, k, m * n * k * batch))


def stacked(problems: Sequence[Sizes]) -> Sizes:
    """Return the sizes of several problems as arrays, for training and searches."""
    import numpy as np

    names = Sizes.__dataclass_fields__
    return Sizes(
        **{name: np.array([float(getattr(problem, name)) for problem in problems]) for name in names}
    )
