"""What a device gets so that it fills operands and computes a reference: loops, offsets and indices.

The classes have the fields of the structures in ``ckprof_checks.h``; they travel to workers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ckprof.measure.verify.operands import Drawing, InitKind
from ckprof.model.computation import AffineIndex
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.measure.verify.operands import OperandValues
    from ckprof.model.computation import Contraction
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import TypeSet

#: ``CKPROF_MAX_AXES``, ``CKPROF_MAX_LOOPS``, ``CKPROF_MAX_CHECKED``
MAX_AXES: Final = 8
MAX_LOOPS: Final = 16
MAX_CHECKED: Final = 3
#: operands of a product
_OPERANDS: Final = 2
#: checked indices are 32-bit integers
_LARGEST_INDEX: Final = 2**31 - 1

#: ``ckprof_element``; 8-bit floating-point types have two variants
_ELEMENTS: Final = {DataType.FP32: 0, DataType.FP16: 1, DataType.BF16: 2, DataType.INT8: 7, DataType.INT32: 8}
_FLOAT8_ELEMENTS: Final = {
    (DataType.FP8, True): 3,
    (DataType.BF8, True): 4,
    (DataType.FP8, False): 5,
    (DataType.BF8, False): 6,
}
#: ``ckprof_values``
_VALUES: Final = {InitKind.ZEROS: 0, InitKind.INTEGER: 1, InitKind.DECIMAL: 2, InitKind.EXACT: 3}

#: side of the tile of the result that a block of threads computes, for sizing slices
_TILE: Final = 64
#: blocks that keep a device busy; with fewer, long sums are cut into slices
_BLOCKS: Final = 1024
#: products that a slice has at least, and of which it has a multiple
_LEAST_SLICE: Final = 1024
_DEPTH: Final = 16
#: doubles that the sums of all slices may take
_MOST_PARTIAL: Final = 2**27


#: infinity is none of the numbers that messages hold
_LARGEST_FP32: Final = (2 - 2.0**-23) * 2.0**127


class NotExpressibleError(ValueError):
    """Devices cannot be told of this sum; the message says why."""


def element_number(dtype: DataType, *, ocp: bool) -> int:
    """Return the value of ``ckprof_element`` that stands for a type."""
    number = _FLOAT8_ELEMENTS.get((dtype, ocp))
    return _ELEMENTS[dtype] if number is None else number


def bytes_of(element: int) -> int:
    """Return the size of an element, by its ``ckprof_element``."""
    sizes = {number: dtype.properties.size_bytes for dtype, number in _ELEMENTS.items()}
    sizes |= {number: dtype.properties.size_bytes for (dtype, _), number in _FLOAT8_ELEMENTS.items()}
    return sizes[element]


class IntegerFill(msgspec.Struct, frozen=True, kw_only=True):
    """``ckprof_integers``."""

    lowest: int
    count: int
    kept: int
    exponent: int
    direction: int
    step: int
    length: int
    period: int
    largest: float
    less: int

    @classmethod
    def of(cls, drawing: Drawing) -> IntegerFill:
        """Return the integers of an operand."""
        integers = drawing.integers
        return cls(
            lowest=integers.lowest,
            count=integers.count,
            kept=drawing.kept,
            exponent=integers.exponent,
            direction=integers.direction,
            step=drawing.step,
            length=drawing.length,
            period=integers.period,
            largest=min(integers.largest, _LARGEST_FP32),
            less=int(integers.less),
        )


class OperandFill(msgspec.Struct, frozen=True, kw_only=True):
    """``ckprof_operand``: how a device fills an operand."""

    element: int
    values: int
    key: int
    lowest: float
    low: int
    high: int
    integers: IntegerFill
    lengths: tuple[int, ...]
    numbers: tuple[int, ...]
    line: int

    @classmethod
    def of(cls, spec: TensorSpec, dtype: DataType, wanted: OperandValues, *, ocp: bool) -> OperandFill:
        """Return how an operand is filled with what ``make_operand`` of ``verify.operands`` returns.

        :param ocp: which variant of the 8-bit floating-point types is meant.
        :raises NotExpressibleError: it has too many axes.
        """
        if len(spec.axes) > MAX_AXES:
            raise NotExpressibleError(f"{spec.name} has {len(spec.axes)} axes, at most {MAX_AXES} are filled")
        drawing = Drawing.of(spec, dtype, wanted)
        lengths = dict(zip(spec.axes, spec.shape, strict=True))
        numbers: dict[str, int] = {}
        step = 1
        for axis in reversed(spec.drawing_order):
            numbers[axis] = step
            step *= lengths[axis]
        return cls(
            element=element_number(dtype, ocp=ocp),
            values=_VALUES[drawing.kind],
            key=drawing.key,
            lowest=drawing.lowest,
            low=drawing.low,
            high=drawing.high,
            integers=IntegerFill.of(drawing),
            lengths=spec.shape,
            numbers=tuple(numbers[axis] for axis in spec.axes),
            line=spec.stored_shape[-1],
        )


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """``ckprof_loop``."""

    length: int
    result: int
    offset: tuple[int, int]
    checked: tuple[tuple[int, ...], tuple[int, ...]]


class CheckedIndex(msgspec.Struct, frozen=True, kw_only=True):
    """``ckprof_checked_index``."""

    start: int
    divisor: int
    length: int
    stride: int


class ContractionWork(msgspec.Struct, frozen=True, kw_only=True):
    """``ckprof_contraction``."""

    elements: tuple[int, int]
    batches: tuple[Loop, ...]
    rows: tuple[Loop, ...]
    columns: tuple[Loop, ...]
    sums: tuple[Loop, ...]
    checks: tuple[tuple[CheckedIndex, ...], tuple[CheckedIndex, ...]]
    slices: int
    slice: int
    #: elements of the result, with and without gaps
    stored: int
    packed: int
    #: ``ckprof_element`` of the result
    result_element: int


class _Use(NamedTuple):
    """What a step along an axis of the result, or along a summed one, means for an operand."""

    offset: int
    checked: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operand:
    """How an operand is reached."""

    #: by letter; axes that do not matter to it are missing
    uses: Mapping[str, _Use]
    checks: tuple[CheckedIndex, ...]


def lower(contraction: Contraction, specs: Sequence[TensorSpec], types: TypeSet) -> ContractionWork:
    """Return a sum of products as loops over memory.

    :param specs: the operands and, as the last one, the result.
    :raises NotExpressibleError: it has too many loops, or indices that are too large.
    """
    *operands, result = specs
    if types.result.properties.size_bytes == 1:
        raise NotExpressibleError(f"results of {types.result.value} are compared on the host")
    lengths = _axis_lengths(contraction, operands, result)
    # what has one element needs no loop
    looped = {letter: length for letter, length in lengths.items() if length > 1}
    if len(looped) > MAX_LOOPS:
        raise NotExpressibleError(f"it has {len(looped)} loops, devices take {MAX_LOOPS}")
    first, second = (_reach(contraction, spec, lengths) for spec in operands)
    loops = _Loops(
        lengths=looped, results=dict(zip(result.axes, result.strides, strict=True)), reach=(first, second)
    )
    of_result = [letter for letter in result.axes if letter in looped]
    both = [letter for letter in of_result if letter in first.uses and letter in second.uses]
    columns = [letter for letter in of_result if letter in second.uses and letter not in both]
    rows = [letter for letter in of_result if letter not in both and letter not in columns]
    summed = [letter for letter, _ in contraction.summed if letter in looped]
    total = math.prod(looped[letter] for letter in summed)
    count, length = _slices(
        [math.prod(looped[axis] for axis in group) for group in (both, rows, columns)],
        total,
        result.stored_elements,
    )
    return ContractionWork(
        elements=(
            element_number(types.operands[0], ocp=types.ocp),
            element_number(types.operands[1], ocp=types.ocp),
        ),
        batches=loops.of(both),
        rows=loops.of(rows),
        columns=loops.of(columns),
        sums=loops.of(summed),
        checks=(first.checks, second.checks),
        slices=count,
        slice=length,
        stored=result.stored_elements,
        packed=result.elements,
        result_element=element_number(types.result, ocp=types.ocp),
    )


def _axis_lengths(
    contraction: Contraction, operands: Sequence[TensorSpec], result: TensorSpec
) -> dict[str, int]:
    """Return the elements along each axis of the sums: those of the result, then what is summed.

    :raises NotExpressibleError: the sums have a form that devices do not take.
    """
    if contraction.is_changed:
        raise NotExpressibleError("sums of products are changed element by element")
    if len(operands) > _OPERANDS:
        raise NotExpressibleError(f"sums of products are combined with {operands[2].name}")
    if any(spec.has_blocks for spec in (*operands, result)):
        raise NotExpressibleError("its products lie at distances of their own")
    lengths = dict(zip(result.axes, result.shape, strict=True)) | dict(contraction.summed)
    if len(lengths) != len(result.axes) + len(contraction.summed):
        raise NotExpressibleError("an axis of the result is summed as well")
    return lengths


class _Loops(NamedTuple):
    """What loops over axes are made of."""

    #: axis -> elements
    lengths: Mapping[str, int]
    #: axis -> distance of neighbours in the result
    results: Mapping[str, int]
    #: of both operands
    reach: tuple[_Operand, _Operand]

    def of(self, letters: Sequence[str]) -> tuple[Loop, ...]:
        """Return the loops over some axes, in their order."""
        nothing = _Use(0, (0,) * MAX_CHECKED)
        first, second = self.reach
        uses = [(first.uses.get(letter, nothing), second.uses.get(letter, nothing)) for letter in letters]
        return tuple(
            Loop(
                length=self.lengths[letter],
                result=self.results.get(letter, 0),
                offset=(a.offset, b.offset),
                checked=(a.checked, b.checked),
            )
            for letter, (a, b) in zip(letters, uses, strict=True)
        )


def _slices(sizes: Sequence[int], total: int, stored: int) -> tuple[int, int]:
    """Return into how many slices sums are cut, and how many products each has.

    That depends on the problem alone: the order of additions is the same on every device.

    :param sizes: of batch, rows and columns.
    """
    batches, rows, columns = sizes
    blocks = batches * math.ceil(rows / _TILE) * math.ceil(columns / _TILE)
    wanted = min(math.ceil(_BLOCKS / blocks), math.ceil(total / _LEAST_SLICE), _MOST_PARTIAL // stored)
    if wanted <= 1:
        return 1, total
    length = math.ceil(total / wanted / _DEPTH) * _DEPTH
    return math.ceil(total / length), length


def _reach(contraction: Contraction, spec: TensorSpec, lengths: Mapping[str, int]) -> _Operand:
    """Return how an operand is reached from the axes of the result and the summed ones."""
    indices = contraction.indices.get(spec.name, {})
    offsets: dict[str, int] = {}
    checked: dict[str, list[int]] = {}
    checks: list[CheckedIndex] = []
    for axis, length, stride in zip(spec.axes, spec.shape, spec.strides, strict=True):
        index = indices.get(axis, AffineIndex(terms=((axis, 1),)))
        unknown = [letter for letter, _ in index.terms if letter not in lengths]
        if unknown:
            raise NotExpressibleError(f"axis {axis} of {spec.name} is reached from no axis {unknown[0]}")
        lowest, highest = _range(index, lengths)
        if index.divisor == 1 and index.offset == 0 and lowest >= 0 and highest < length:
            for letter, factor in index.terms:
                offsets[letter] = offsets.get(letter, 0) + factor * stride
            continue
        if len(checks) == MAX_CHECKED or max(-lowest, highest) > _LARGEST_INDEX:
            raise NotExpressibleError(
                f"{spec.name} has more than {MAX_CHECKED} indices to check, or too large ones"
            )
        for letter, factor in index.terms:
            checked.setdefault(letter, [0] * MAX_CHECKED)[len(checks)] += factor
        checks.append(CheckedIndex(start=index.offset, divisor=index.divisor, length=length, stride=stride))
    uses = {
        letter: _Use(offsets.get(letter, 0), tuple(checked.get(letter, [0] * MAX_CHECKED)))
        for letter in (*offsets, *checked)
    }
    return _Operand(uses=uses, checks=tuple(checks))


def _range(index: AffineIndex, lengths: Mapping[str, int]) -> tuple[int, int]:
    """Return the least and the largest value of an index before it is divided."""
    ends = [sorted((0, factor * (lengths[letter] - 1))) for letter, factor in index.terms]
    return index.offset + sum(low for low, _ in ends), index.offset + sum(high for _, high in ends)
