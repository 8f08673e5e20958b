"""What a device gets so that it fills operands and computes a reference: loops, offsets and indices.

That is structures of ``ckprof_checks.h``, whose bytes travel to workers.
"""

from __future__ import annotations

import ctypes
import math
from ctypes import c_float, c_int32, c_int64, c_uint32, c_uint64
from typing import TYPE_CHECKING, ClassVar, Final

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


class CIntegers(ctypes.Structure):
    """``ckprof_integers``."""

    _fields_: ClassVar = [
        ("lowest", c_int32),
        ("count", c_int32),
        ("kept", c_uint64),
        ("exponent", c_int32),
        ("direction", c_int32),
        ("step", c_int64),
        ("length", c_int64),
        ("period", c_int64),
        ("largest", c_float),
        ("less", c_int32),
    ]


class COperand(ctypes.Structure):
    """``ckprof_operand``."""

    _fields_: ClassVar = [
        ("element", c_int32),
        ("values", c_int32),
        ("key", c_uint64),
        ("lowest", c_float),
        ("low", c_uint32),
        ("high", c_uint32),
        ("integers", CIntegers),
        ("axes", c_int32),
        ("lengths", c_int64 * MAX_AXES),
        ("numbers", c_int64 * MAX_AXES),
        ("line", c_int64),
    ]


class CLoop(ctypes.Structure):
    """``ckprof_loop``."""

    _fields_: ClassVar = [
        ("length", c_int64),
        ("result", c_int64),
        ("offset", c_int64 * 2),
        ("checked", (c_int32 * MAX_CHECKED) * 2),
    ]


class CCheckedIndex(ctypes.Structure):
    """``ckprof_checked_index``."""

    _fields_: ClassVar = [("start", c_int32), ("divisor", c_int32), ("length", c_int64), ("stride", c_int64)]


class CContraction(ctypes.Structure):
    """``ckprof_contraction``."""

    _fields_: ClassVar = [
        ("elements", c_int32 * 2),
        ("batches", c_int32),
        ("rows", c_int32),
        ("columns", c_int32),
        ("sums", c_int32),
        ("loop", CLoop * MAX_LOOPS),
        ("checks", c_int32 * 2),
        ("check", (CCheckedIndex * MAX_CHECKED) * 2),
        ("slices", c_int64),
        ("slice", c_int64),
        ("stored", c_int64),
    ]


class NotExpressibleError(ValueError):
    """Devices cannot be told of this sum; the message says why."""


def element_number(dtype: DataType, *, ocp: bool) -> int:
    """Return the value of ``ckprof_element`` that stands for a type."""
    number = _FLOAT8_ELEMENTS.get((dtype, ocp))
    return _ELEMENTS[dtype] if number is None else number


def drawing_steps(spec: TensorSpec) -> dict[str, int]:
    """Return axis -> by how much the numbers of elements grow from index to index as they are drawn."""
    lengths, order = dict(zip(spec.axes, spec.shape, strict=True)), spec.drawing_order
    return {axis: math.prod(lengths[one] for one in order[at + 1 :]) for at, axis in enumerate(order)}


def operand_fill(spec: TensorSpec, dtype: DataType, wanted: OperandValues, *, ocp: bool) -> COperand:
    """Return how an operand is filled with what ``make_operand`` of ``verify.operands`` returns.

    :param ocp: which variant of the 8-bit floating-point types is meant.
    :raises NotExpressibleError: it has too many axes.
    """
    if len(spec.axes) > MAX_AXES:
        raise NotExpressibleError(f"{spec.name} has {len(spec.axes)} axes, at most {MAX_AXES} are filled")
    drawing = Drawing.of(spec, dtype, wanted)
    integers = drawing.integers
    numbers = drawing_steps(spec)
    return COperand(
        element=element_number(dtype, ocp=ocp),
        values=_VALUES[drawing.kind],
        key=drawing.key,
        lowest=drawing.lowest,
        low=drawing.low,
        high=drawing.high,
        integers=CIntegers(
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
        ),
        axes=len(spec.axes),
        lengths=(c_int64 * MAX_AXES)(*spec.shape),
        numbers=(c_int64 * MAX_AXES)(*(numbers[axis] for axis in spec.axes)),
        line=spec.stored_shape[-1],
    )


def lower(contraction: Contraction, specs: Sequence[TensorSpec], types: TypeSet) -> CContraction:
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
    first, second = (_Reach(contraction, spec, lengths) for spec in operands)
    of_result = [letter for letter in result.axes if letter in looped]
    both = [letter for letter in of_result if first.has(letter) and second.has(letter)]
    columns = [letter for letter in of_result if second.has(letter) and letter not in both]
    rows = [letter for letter in of_result if letter not in both and letter not in columns]
    summed = [letter for letter, _ in contraction.summed if letter in looped]
    total = math.prod(looped[letter] for letter in summed)
    count, length = _slices(
        [math.prod(looped[axis] for axis in group) for group in (both, rows, columns)],
        total,
        result.stored_elements,
    )
    results = dict(zip(result.axes, result.strides, strict=True))
    loops = (
        CLoop(
            length=looped[letter],
            result=results.get(letter, 0),
            offset=(first.offsets.get(letter, 0), second.offsets.get(letter, 0)),
            checked=(first.factors(letter), second.factors(letter)),
        )
        for letter in (*both, *rows, *columns, *summed)
    )
    return CContraction(
        elements=tuple(element_number(dtype, ocp=types.ocp) for dtype in types.operands[:_OPERANDS]),
        batches=len(both),
        rows=len(rows),
        columns=len(columns),
        sums=len(summed),
        loop=(CLoop * MAX_LOOPS)(*loops),
        checks=(len(first.checks), len(second.checks)),
        check=tuple((CCheckedIndex * MAX_CHECKED)(*one.checks) for one in (first, second)),
        slices=count,
        slice=length,
        stored=result.stored_elements,
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


class _Reach:
    """How an operand is reached from the axes of the result and the summed ones.

    :param lengths: elements along these axes.
    :raises NotExpressibleError: there are too many indices to check, or too large ones.
    """

    def __init__(self, contraction: Contraction, spec: TensorSpec, lengths: Mapping[str, int]) -> None:
        #: axis -> elements from index to index; axes that do not matter to the operand are missing
        self.offsets: dict[str, int] = {}
        self.checks: list[CCheckedIndex] = []
        self._factors: dict[str, list[int]] = {}
        indices = contraction.indices.get(spec.name, {})
        for axis, length, stride in zip(spec.axes, spec.shape, spec.strides, strict=True):
            index = indices.get(axis, AffineIndex(terms=((axis, 1),)))
            unknown = [letter for letter, _ in index.terms if letter not in lengths]
            if unknown:
                raise NotExpressibleError(f"axis {axis} of {spec.name} is reached from no axis {unknown[0]}")
            lowest, highest = _range(index, lengths)
            if index.divisor == 1 and index.offset == 0 and lowest >= 0 and highest < length:
                for letter, factor in index.terms:
                    self.offsets[letter] = self.offsets.get(letter, 0) + factor * stride
                continue
            if len(self.checks) == MAX_CHECKED or max(-lowest, highest) > _LARGEST_INDEX:
                raise NotExpressibleError(
                    f"{spec.name} has more than {MAX_CHECKED} indices to check, or too large ones"
                )
            for letter, factor in index.terms:
                self._factors.setdefault(letter, [0] * MAX_CHECKED)[len(self.checks)] += factor
            self.checks.append(CCheckedIndex(index.offset, index.divisor, length, stride))

    def has(self, axis: str) -> bool:
        """Say whether an axis matters to the operand."""
        return axis in self.offsets or axis in self._factors

    def factors(self, axis: str) -> ctypes.Array[c_int32]:
        """Return what a step along an axis adds to each index that is checked."""
        return (c_int32 * MAX_CHECKED)(*self._factors.get(axis, ()))


def _range(index: AffineIndex, lengths: Mapping[str, int]) -> tuple[int, int]:
    """Return the least and the largest value of an index before it is divided."""
    ends = [sorted((0, factor * (lengths[letter] - 1))) for letter, factor in index.terms]
    return index.offset + sum(low for low, _ in ends), index.offset + sum(high for _, high in ends)
