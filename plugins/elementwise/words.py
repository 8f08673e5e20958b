"""How instance strings spell element-wise operations."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ckprof.model.strings.argument_kinds import words
from ckprof.model.strings.fields import Field
from ckprof_plugins.elementwise.operations import ElementwiseOp

#: those that leave values as they are, but for their type
PLAIN_OPERATIONS: Final = frozenset({"PassThrough", "UnaryConvert"})

#: those that are named alike whatever they are made from
COMBINED_OPERATIONS: Final = frozenset(
    {"BinaryWithUnaryCombinedOp", "TrinaryWithUnaryCombinedOp", "UnaryCombinedOp"}
)

#: those of the old library that no kernel of CK Tile has for its results
_OTHERS: Final = (
    *("AddHardswish", "AddHardswishAdd", "AddRelu", "AddReluAdd", "AddSigmoid", *sorted(COMBINED_OPERATIONS)),
    *("ConvertBF16RTN", "ConvertF8RNE", "ConvertF8SR", "Elu", "LeakyRelu", "Logistic", "PassThroughPack2"),
    *("Power", "Relu", "Sigmoid", "SoftRelu", "Swish", "TanH", "UnaryAbs"),
)

#: name of an element-wise operation
ELEMENT_OPERATION: Final = replace(
    words((*sorted(PLAIN_OPERATIONS), *(operation.value for operation in ElementwiseOp), *_OTHERS)),
    expected="the name of an operation",
)


def operations(*roles: str) -> tuple[Field, ...]:
    """Return the fields of the element-wise operations on operands and result."""
    return tuple(Field(f"operation_{role}", ELEMENT_OPERATION) for role in roles)
