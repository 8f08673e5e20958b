"""How a product is combined with further matrices of its shape."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import spellings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: what the dispatcher calls a product that is stored as it is
STORED_AS_IT_IS: Final = "PassThrough"

#: most matrices that a kernel combines a product with
MOST_D_TENSORS: Final = 2

#: operations with one operand, which upstream's configuration lists beside those with several
_UNARY: Final = frozenset({"Relu", "Gelu"})


class ElementwiseOp(Enum):
    """What is done with an element of the product and those of the D tensors; the value is CK Tile's name."""

    MULTI_D_ADD = "MultiDAdd"
    MULTI_D_MULTIPLY = "MultiDMultiply"

    @property
    def number(self) -> int:
        """How kernel libraries are told; 0 is none."""
        return 1 + list(ElementwiseOp).index(self)

    def combine(self, product: NDArray[np.float64], d: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a product with one D tensor."""
        return product + d if self is ElementwiseOp.MULTI_D_ADD else product * d


def elementwise_op_named(name: str) -> ElementwiseOp:
    """Return the operation with this name.

    :raises InputError: there is none with several operands.
    """
    expected = spellings(ElementwiseOp)
    if name in _UNARY:
        raise InputError(
            f"elementwise_op is {name}, which takes one operand and no D tensors, expected one of {expected} "
            "(unsupported-family)"
        )
    try:
        return ElementwiseOp(name)
    except ValueError:
        raise InputError(f"elementwise_op is {name}, expected one of {expected}") from None


def check_d_tensors(count: int) -> int:
    """Return a number of D tensors.

    :raises InputError: no kernel has so many.
    """
    if not 1 <= count <= MOST_D_TENSORS:
        raise InputError(f"num_d_tensors is {count}, expected 1 to {MOST_D_TENSORS}")
    return count
