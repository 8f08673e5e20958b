"""Other operands whose result is known: some of their elements have the other sign.

An element of a sum of products changes its sign with all elements of one operand that its products have.
Along an axis of the result that one operand has as well, such as the images of a batch or the output
channels of a weight, any set of indices can be negated in that operand: the result is negated in the same
places, and every rounding is symmetric, so that not a bit of it is different otherwise. Which set it is
nobody can foresee, and the reference need not be computed again. Zeros keep their sign: a sum that cancels
is +0 either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.model.computation import AffineIndex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.computation import Contraction
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import TypeSet

#: operands of a product
_OPERANDS: Final = 2


class SignedAxis(msgspec.Struct, frozen=True, kw_only=True):
    """An axis along which indices of an operand, and of the result, may be negated."""

    #: name of the operand
    operand: str
    length: int
    #: elements from index to index in the operand, and in the result
    operand_step: int
    result_step: int


def signed_axes(
    contraction: Contraction, specs: Sequence[TensorSpec], types: TypeSet
) -> tuple[SignedAxis, ...]:
    """Return one axis of each operand, the one whose indices lie together best; none where there is none.

    :param specs: the operands and, as the last one, the result.
    """
    *operands, result = specs
    dtypes = types.of_so_many(len(specs))
    if (
        contraction.is_changed
        or len(operands) != _OPERANDS
        or any(dtype.properties.is_integer for dtype in dtypes)
        # many of their elements are rounded to a zero whose sign another rounding would not change
        or types.result.properties.size_bytes == 1
    ):
        return ()
    if not all(spec.is_packed for spec in specs):
        return ()
    found = (_axis_of(contraction, spec, result) for spec in operands)
    return tuple(axis for axis in found if axis is not None)


def _axis_of(contraction: Contraction, spec: TensorSpec, result: TensorSpec) -> SignedAxis | None:
    indices = contraction.indices.get(spec.name, {})
    steps = dict(zip(result.axes, result.strides, strict=True))
    axes = [
        SignedAxis(operand=spec.name, length=length, operand_step=step, result_step=steps[letter])
        for letter, length, step in zip(spec.axes, spec.shape, spec.strides, strict=True)
        if letter in steps and _is_alone(letter, indices)
    ]
    # an axis of one index leaves nothing to chance
    return max(axes, key=lambda axis: (axis.length > 1, axis.operand_step), default=None)


def _is_alone(letter: str, indices: Mapping[str, AffineIndex]) -> bool:
    """Say whether an axis of an operand is that of the result, which no other one of its axes depends on."""
    itself = AffineIndex(terms=((letter, 1),))
    return indices.get(letter, itself) == itself and not any(
        letter == used for axis, index in indices.items() if axis != letter for used, _ in index.terms
    )
