"""Values of the operands: seeded, independent of layout, representable in the data type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckprof.model.tensor import TENSORS, tensor_shape
from ckprof.run.inputs import InitKind
from ckprof.run.storage import encode

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import ConvLayout
    from ckprof.model.problem import ConvProblem

#: Order of axes in which values are drawn, whatever the layout.
_DRAWING_ORDER = "NGKCDHWZYX"

#: Lower end of the unit interval from which the decimals of a tensor are drawn, as with ckProfiler's init 2.
_DECIMAL_START = {"input": 0.0, "weight": -0.5, "output": -0.5}


def make_operand(
    problem: ConvProblem, layout: ConvLayout, tensor: str, dtype: DataType, kind: InitKind, seed: int
) -> NDArray[Any]:
    """Return the values of one operand as stored, in the memory order of ``layout``.

    The same problem, tensor, kind and seed give the same value to the same logical element in every layout,
    so that results of different layouts can be compared.

    :param tensor: one of :data:`~ckprof.model.tensor.TENSORS`.
    :returns: a C-contiguous array of the data type's storage type.
    """
    order = {"input": layout.input, "weight": layout.weight, "output": layout.output}[tensor]
    lengths = dict(zip(order, tensor_shape(problem, layout, tensor), strict=True))
    drawing_order = sorted(order, key=_DRAWING_ORDER.index)
    shape = tuple(lengths[axis] for axis in drawing_order)
    values = _draw(shape, tensor, kind, seed)
    stored = encode(values, dtype)
    del values  # as large as the tensor
    return np.ascontiguousarray(stored.transpose([drawing_order.index(axis) for axis in order]))


def _draw(shape: tuple[int, ...], tensor: str, kind: InitKind, seed: int) -> NDArray[np.float32]:
    if kind is InitKind.ZEROS:
        return np.zeros(shape, dtype=np.float32)
    # Each tensor has a stream of its own: no operand depends on the size of another one.
    generator = np.random.Generator(np.random.PCG64([seed, TENSORS.index(tensor)]))
    if kind is InitKind.INTEGER:
        return generator.integers(-5, 5, size=shape, dtype=np.int8).astype(np.float32)
    values = generator.random(size=shape, dtype=np.float32)
    values += np.float32(_DECIMAL_START[tensor])
    return values
