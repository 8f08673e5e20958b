"""How a product is combined with further matrices of its shape: which of the operations products have."""

from __future__ import annotations

from typing import Final

from ckprof.errors import InputError
from ckprof.model.types import spellings
from ckprof_plugins.elementwise.combination import MOST_D_TENSORS
from ckprof_plugins.elementwise.operations import ElementwiseOp

#: host arguments of products hold no parameters: those without, of any number of D tensors
GEMM_OPERATIONS: Final = tuple(operation for operation in ElementwiseOp if operation.properties.variadic)

#: operations with one operand, which upstream's configuration lists beside those with several
_UNARY: Final = frozenset({"Relu", "Gelu"})


def elementwise_op_named(name: str) -> ElementwiseOp:
    """Return the operation of products with this name.

    :raises InputError: there is none with several operands.
    """
    expected = spellings(GEMM_OPERATIONS)
    if name in _UNARY:
        raise InputError(
            f"elementwise_op is {name}, which takes one operand and no D tensors, expected one of {expected} "
            "(unsupported-family)"
        )
    operation = next((one for one in GEMM_OPERATIONS if one.value == name), None)
    if operation is None:
        raise InputError(f"elementwise_op is {name}, expected one of {expected}")
    return operation


def check_d_tensors(count: int) -> int:
    """Return a number of D tensors.

    :raises InputError: no kernel has so many.
    """
    if not 1 <= count <= MOST_D_TENSORS:
        raise InputError(f"num_d_tensors is {count}, expected 1 to {MOST_D_TENSORS}")
    return count
