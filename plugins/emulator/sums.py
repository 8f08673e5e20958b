"""Sums of products for some elements of a result, by offsets that no 32-bit integer holds."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.measure.verify.exact import roundings_of
from ckprof.measure.verify.storage import decode, encode, rounded
from ckprof.measure.worker.check_work import drawing_steps
from ckprof.model.computation import AffineIndex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.measure.verify.operands import Drawing
    from ckprof.model.computation import Contraction
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import DataType

#: elements of the result at a time, products of a sum likewise, and doubles of a matrix of sums
_BLOCK: Final = 2**14
_PRODUCTS: Final = 2**12
_MOST_SUMS: Final = 2**24


class SumsOfProducts:
    """The sums that a result consists of.

    :param specs: both operands and the result.
    :param drawings: operand -> how its values are drawn.
    """

    def __init__(
        self, contraction: Contraction, specs: Sequence[TensorSpec], drawings: Mapping[str, Drawing]
    ) -> None:
        self._contraction = contraction
        *self._operands, self._result = specs
        self._drawings = drawings
        letters, lengths = zip(*contraction.summed, strict=True) if contraction.summed else ((), ())
        self._summed = letters
        self._lengths: tuple[int, ...] = lengths

    def element_numbers(
        self, spec: TensorSpec, offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return by which numbers stored elements of a tensor are drawn, and whether they lie in no gap."""
        indices, inside = indices_of(spec, offsets)
        steps = drawing_steps(spec)
        number = sum((indices[axis] * steps[axis] for axis in spec.axes), np.zeros_like(offsets))
        return np.where(inside, number, 0), inside

    def at(self, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sums of stored elements of the result, NaN in gaps."""
        if offsets.size > _BLOCK:
            blocks = np.array_split(offsets, -(-offsets.size // _BLOCK))
            return np.concatenate([self.at(block) for block in blocks])
        indices, inside = indices_of(self._result, offsets)
        rows = [self._rows(spec, indices) for spec in self._operands]
        if prod(len(unique) for unique, _ in rows) > _MOST_SUMS and offsets.size > 1:
            return np.concatenate([self.at(half) for half in np.array_split(offsets, 2)])
        (first, of_first), (second, of_second) = rows
        sums = np.zeros((len(first), len(second)))
        for start in range(0, prod(self._lengths), _PRODUCTS):
            numbers = np.arange(start, min(start + _PRODUCTS, prod(self._lengths)))
            summed = dict(zip(self._summed, np.unravel_index(numbers, self._lengths or (1,)), strict=False))
            one, other = (
                self._values(spec, unique, summed)
                for spec, unique in zip(self._operands, (first, second), strict=True)
            )
            sums += one @ other.T
        return np.where(inside, sums[of_first, of_second], np.nan)

    def are_right(
        self, offsets: NDArray[np.int64], values: NDArray[np.float64], dtype: DataType, *, ocp: bool
    ) -> NDArray[np.bool_]:
        """Say which elements of the result are their sum, rounded once."""
        sums = self.at(offsets)
        right = np.zeros(offsets.size, dtype=bool)
        for rounding in roundings_of(dtype):
            stored = encode(rounded(np.nan_to_num(sums), dtype, rounding, ocp=ocp), dtype, ocp=ocp)
            right |= decode(stored, dtype, ocp=ocp) == values
        return right & ~np.isnan(sums)

    def described(self, offset: int, got: float) -> str:
        """Return a few words on a wrong element."""
        index = ",".join(map(str, self._result.index(offset)))
        expected = float(self.at(np.array([offset]))[0])
        return f"{self._result.name}[{index}] is {got:g}, expected {expected:g}"

    def _index(self, spec: TensorSpec, axis: str) -> AffineIndex:
        return self._contraction.indices.get(spec.name, {}).get(axis, AffineIndex(terms=((axis, 1),)))

    def _rows(
        self, spec: TensorSpec, indices: Mapping[str, NDArray[np.int64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the different indices of the result that an operand depends on, and which an element has."""
        letters = self._letters(spec)
        if not letters:
            size = next(iter(indices.values())).size
            return np.zeros((1, 0), dtype=np.int64), np.zeros(size, dtype=np.int64)
        columns = np.stack([indices[letter] for letter in letters], axis=1)
        unique, which = np.unique(columns, axis=0, return_inverse=True)
        return unique, which.ravel()

    def _letters(self, spec: TensorSpec) -> list[str]:
        """Return the axes of the result that an operand depends on."""
        used = {letter for axis in spec.axes for letter, _ in self._index(spec, axis).terms}
        return [letter for letter in self._result.axes if letter in used and letter not in self._summed]

    def _values(
        self, spec: TensorSpec, rows: NDArray[np.int64], summed: Mapping[str, NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """Return the operand's values for rows of indices of the result and indices of what is summed."""
        known = {letter: rows[:, at, None] for at, letter in enumerate(self._letters(spec))}
        known |= {letter: index[None, :] for letter, index in summed.items()}
        number, valid = np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=bool)
        steps = drawing_steps(spec)
        for axis, length in zip(spec.axes, spec.shape, strict=True):
            index = self._index(spec, axis)
            value = sum(
                (factor * known[letter] for letter, factor in index.terms), np.array([[index.offset]])
            )
            quotient, rest = np.divmod(value, index.divisor)
            valid = valid & (rest == 0) & (quotient >= 0) & (quotient < length)
            number = number + quotient * steps[axis]
        shape = len(rows), next(iter(summed.values())).size if summed else 1
        number, valid = np.broadcast_to(np.where(valid, number, 0), shape), np.broadcast_to(valid, shape)
        drawn = self._drawings[spec.name].values(number.astype(np.uint64))
        return np.where(valid, drawn, 0.0)


def indices_of(
    spec: TensorSpec, offsets: NDArray[np.int64]
) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.bool_]]:
    """Return the index along each axis of stored elements, and whether they lie in no gap."""
    indices, inside, rest = {}, np.ones(offsets.size, dtype=bool), offsets
    for axis, length, stride in zip(spec.axes, spec.shape, spec.strides, strict=True):
        indices[axis], rest = np.divmod(rest, stride)
        inside &= indices[axis] < length
    return indices, inside
