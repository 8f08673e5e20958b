"""Values of the operands: seeded, independent of layout, representable in the data type.

numpy is imported where it is used: command lines offer the kinds of values without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.dtype import DataType
    from ckprof.model.tensor import TensorSpec


class InitKind(Enum):
    """What the operands are filled with."""

    #: all zero: the result must be exactly zero
    ZEROS = "zeros"
    #: integers from -5 to 4
    INTEGER = "integer"
    #: what is given to the operation from 0 to 1, what it learns and gradients from -0.5 to 0.5; as
    #: ``INTEGER`` in tensors of integers
    DECIMAL = "decimal"
    #: -1, 0 and 1, so few of them not 0 that every sum is exact in every type, however it is split
    EXACT = "exact"


#: products that are not 0 in one element of a result of exact operands, on average; sums of up to 256 of them
#: are exact in bf16, which is 24 standard deviations more
_EXACT_TERMS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandValues:
    """What operands are filled with."""

    kind: InitKind
    seed: int
    #: products accumulated into one element of the result
    reduction_length: int


def make_operand(
    spec: TensorSpec, dtype: DataType, wanted: OperandValues, *, ocp: bool = True
) -> NDArray[Any]:
    """Return the values of one operand as stored, in the memory order of its layout, without gaps.

    The same sizes and wanted values give the same value to the same logical element in every layout, so that
    results of different layouts can be compared.

    :param ocp: which variant of the 8-bit floating-point types is meant.
    :returns: a C-contiguous array of the data type's storage type.
    """
    import numpy as np

    from ckprof.run.storage import encode

    lengths = dict(zip(spec.axes, spec.shape, strict=True))
    values = _draw(tuple(lengths[axis] for axis in spec.drawing_order), spec, dtype, wanted)
    stored = encode(values, dtype, ocp=ocp)
    del values  # as large as the tensor
    return np.ascontiguousarray(stored.transpose([spec.drawing_order.index(axis) for axis in spec.axes]))


def _draw(
    shape: tuple[int, ...], spec: TensorSpec, dtype: DataType, wanted: OperandValues
) -> NDArray[np.float32]:
    import numpy as np

    kind = wanted.kind
    if kind is InitKind.ZEROS:
        return np.zeros(shape, dtype=np.float32)
    # Each tensor has a stream of its own: no operand depends on the size of another one.
    generator = np.random.Generator(np.random.PCG64([wanted.seed, spec.position]))
    if kind is InitKind.INTEGER or (kind is InitKind.DECIMAL and dtype.properties.is_integer):
        return generator.integers(-5, 5, size=shape, dtype=np.int8).astype(np.float32)
    values = generator.random(size=shape, dtype=np.float32)
    if kind is InitKind.EXACT:
        # Both operands are not 0 at that share of all places.
        half = math.sqrt(min(1.0, _EXACT_TERMS / wanted.reduction_length)) / 2
        signs: NDArray[np.float32] = (values < half).astype(np.float32)
        signs -= values >= 1 - half
        return signs
    values += np.float32(spec.lowest_decimal)
    return values
