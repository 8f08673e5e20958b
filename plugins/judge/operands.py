"""What a candidate is launched on: problems, and operands that no small part of them tells apart.

Who keeps results of earlier launches has to know operands again. So those of a launch may differ from those
of another one in a single element, in their order, or in their magnitude alone.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.errors import InputError
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.prepare import InsufficientMemoryError, prepare_problem
from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.verify.operands import InitKind
from ckprof.measure.verify.storage import decode, encode
from ckprof.measure.worker.audit import sign_bits, word_type
from ckprof.measure.worker.sampling import SignedAxis
from ckprof.model.types import DataType, SplitSum
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import Layout
    from ckprof.model.types import TypeSet

#: exponents of what operands are multiplied by; less would be subnormal in fp16
_EXPONENTS: Final = {DataType.FP32: (-20, 20), DataType.BF16: (-20, 20), DataType.FP16: (1, 3)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What candidates are judged by: an operation, with types and a layout."""

    operation: Operation
    types: TypeSet
    layout: Layout
    #: names of operands and result
    names: tuple[str, ...] = ()
    #: below which operands are written; ``None`` for where the system keeps temporary files
    folder: Path | None = None
    #: how partial sums of splits meet, which results may be off by
    split_sum: SplitSum = SplitSum.RESULT_TYPE


@dataclass(frozen=True, slots=True)
class Place:
    """A problem with a number of splits of its reduction."""

    problem: Problem
    split_k: int = 1


class Variation(Enum):
    """How operands differ from those that their seed gives."""

    #: not at all
    NONE = ""
    #: a single element is negated
    ONE = "one element negated"
    #: two elements have changed places
    SWAPPED = "two elements exchanged"
    #: the same elements in another order
    SHUFFLED = "shuffled"
    #: every element lies one further
    MOVED = "moved by one"
    #: multiplied by a power of two
    SCALED = "scaled"


@dataclass(frozen=True, slots=True)
class Operands:
    """What the operands of a launch hold."""

    #: with sums that are exact, or the usual ones
    exact: bool
    seed: int
    variation: Variation = Variation.NONE
    #: of what is varied; the same number changes the same elements, of the first operand if it is even and of
    #: the second one otherwise
    number: int = 0

    @property
    def text(self) -> str:
        """How messages call them."""
        varied = f", {self.variation.value}" if self.variation.value else ""
        return f"{'exact' if self.exact else 'usual'} operands of seed {self.seed}{varied}"


class NoRoomError(InputError):
    """Operands and reference of a problem do not fit: that says nothing of a candidate."""


def untimed(timeout_s: float, seed: int = 0) -> RunOptions:
    """Return how a candidate is launched once and verified."""
    return RunOptions(
        timeout_s=timeout_s,
        min_samples=0,
        rounds=1,
        passes=1,
        cache=CacheMode.WARM,
        second_problem=False,
        seed=seed,
        init=InitKind.DECIMAL,
    )


@contextmanager
def prepared(task: Task, place: Place, operands: Operands, options: RunOptions) -> Iterator[PreparedProblem]:
    """Have operands and reference of a problem inside of a block.

    :raises NoRoomError: they do not fit.
    :raises CkprofError: see :func:`ckprof.measure.prepare.prepare_problem`.
    """
    roundings = task.operation.roundings(place.problem)
    exact = None
    if operands.exact:
        exact = ExactKind.of(place.split_k, task.split_sum, roundings)
    dtypes = dict(zip(task.operation.tensors_of(place.problem), task.types.of_tensors, strict=False))

    def change(stored: dict[str, NDArray[Any]]) -> None:
        vary(stored, dtypes, operands)

    with TemporaryDirectory(prefix="operands-", dir=task.folder) as folder:
        try:
            made = prepare_problem(
                task.operation,
                place.problem,
                task.layout,
                task.types,
                replace(options, seed=operands.seed),
                Path(folder),
                exact=exact,
                change=None if operands.variation is Variation.NONE else change,
            )
        except InsufficientMemoryError as exc:
            raise NoRoomError(f"{place.problem.describe()}: {exc}", "--problem") from exc
        try:
            yield made
        finally:
            made.close()


def variations(task: Task, problem: Problem, *, exact: bool) -> tuple[Variation, ...]:
    """Return how operands of a task can be varied so that what is known of their results still holds.

    What exact operands are made of depends on where it lies; a sign does not change that.
    """
    if exact:
        return (Variation.ONE,)
    can_be = {*task.types.operands} <= {*_EXPONENTS} and not task.types.changes_sums
    scaled = (Variation.SCALED,) if can_be and task.operation.roundings(problem) == 1 else ()
    one = (Variation.ONE,) if task.types.is_exact else ()
    return (*one, Variation.SHUFFLED, Variation.MOVED, Variation.SWAPPED, *scaled)


def vary(stored: dict[str, NDArray[Any]], dtypes: dict[str, DataType], operands: Operands) -> None:
    """Change operands, one of them as the number says.

    :param stored: by name, without gaps.
    :param dtypes: by name.
    """
    draw = np.random.default_rng((operands.seed, operands.number))
    # the first two are multiplied; others are added later
    name = [*stored][operands.number % min(2, len(stored))]
    values, dtype = stored[name], dtypes[name]
    flat = values.reshape(-1)
    words = flat.view(word_type(flat.itemsize))
    if operands.variation is Variation.ONE:
        nonzero = np.flatnonzero(words)
        if nonzero.size:
            at = nonzero[draw.integers(nonzero.size)]
            if dtype.properties.is_integer:
                flat[at] = -flat[at]
            else:
                words[at] ^= sign_bits(words[at : at + 1])[0]
    elif operands.variation is Variation.SWAPPED:
        # those that differ most of some, so that it matters
        some = draw.choice(flat.size, min(flat.size, 4096), replace=False)
        order = np.argsort(decode(flat[some], dtype))
        first, last = some[order[0]], some[order[-1]]
        flat[[first, last]] = flat[[last, first]]
    elif operands.variation is Variation.SHUFFLED:
        draw.shuffle(flat)
    elif operands.variation is Variation.MOVED:
        flat[...] = np.roll(flat, 1)
    elif operands.variation is Variation.SCALED:
        stored[name] = encode(np.ldexp(decode(values, dtype), int(draw.choice(_EXPONENTS[dtype]))), dtype)


def exchanges(task: Task, problem: Problem) -> tuple[SignedAxis, ...]:
    """Return an axis of each operand whose indices may be exchanged, and those of the result with them.

    That is one that the result has, and no other operand: its index decides about nothing else.
    """
    operation = task.operation
    if not offers(operation, Operation.contraction):
        return ()
    sums = operation.contraction(problem)
    *operands, result = (problem.tensor(name, task.layout) for name in operation.tensors_of(problem))
    if sums.is_changed or not all(spec.is_packed for spec in (*operands, result)):
        return ()
    steps, found = dict(zip(result.axes, result.strides, strict=True)), []
    for spec in operands:
        indices = sums.indices.get(spec.name, {})
        used = {letter for index in indices.values() for letter, _ in index.terms}
        taken = {*indices, *used, *(axis for other in operands if other is not spec for axis in other.axes)}
        axes = [
            SignedAxis(operand=spec.name, length=length, operand_step=step, result_step=steps[letter])
            for letter, length, step in zip(spec.axes, spec.shape, spec.strides, strict=True)
            if letter in steps and letter not in taken
        ]
        found += [max(axes, key=lambda axis: axis.length)] if axes else []
    return tuple(found)
