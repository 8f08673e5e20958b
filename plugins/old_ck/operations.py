"""Element-wise operations of the old library: their types, and how a problem's parameters make them."""

from __future__ import annotations

from typing import Final

from ckprof.errors import InputError
from ckprof_plugins.elementwise.operation import UNARY
from ckprof_plugins.elementwise.operations import COMBINED_OPERATIONS, PLAIN_OPERATIONS, ElementwiseOp

_ELEMENT: Final = "ck::tensor_operation::element_wise::"

#: operation that lines call combined -> what it is made of, each with its arguments. Of three factors two are
#: one: they are powers of two by default, with which that changes no result
_COMBINED: Final = {
    ElementwiseOp.CONV_SCALE: (
        ("Scale", "e.scale_in * e.scale_wei"),
        ("Scale", "e.scale_out"),
        ("PassThrough", ""),
    ),
    ElementwiseOp.CONV_SCALE_RELU: (
        ("Scale", "e.scale_in * e.scale_wei"),
        ("Scale", "e.scale_out"),
        ("Relu", ""),
    ),
}
#: what functions of ``DynamicUnaryOp`` are made of; of none where they are not named
_UNARY_ARGUMENTS: Final = {
    "Swish": "e.beta",
    "SoftRelu": "e.alpha",
    "Power": "e.alpha, e.beta, e.gamma",
    "ClippedRelu": "e.alpha, e.beta",
    "LeakyRelu": "e.alpha",
    "Elu": "e.alpha",
    "Logistic": "e.alpha",
}


def cpp_operation(said: str, operation: ElementwiseOp | None) -> str:
    """Return the type of an operation.

    :param said: its name in a line.
    :param operation: what it is where the name says that it is combined of others.
    :raises InputError: nothing says of which.
    """
    if said not in COMBINED_OPERATIONS:
        return f"{_ELEMENT}{said}"
    parts = _COMBINED.get(operation) if operation is not None else None
    if parts is None:
        raise InputError(f"{said} does not say what it combines")
    return f"{_ELEMENT}{said}<{', '.join(f'{_ELEMENT}{part}' for part, _ in parts)}>"


def made_of(said: str, operation: ElementwiseOp | None, place: int) -> tuple[str, ...]:
    """Return the statements that return an operation, made of the parameters ``e``.

    :param said: its name in a line.
    :param operation: what the kernel does beside the convolution, if anything.
    :param place: 0 for the operation on the first operand, 1 and 2 for the others.
    :raises InputError: as :func:`cpp_operation`.
    """
    kind = cpp_operation(said, operation)
    if operation is None or said in PLAIN_OPERATIONS:
        return (f"return {kind}{{}};",)
    if operation is ElementwiseOp.DYNAMIC_UNARY_OP:
        made = (f"{kind}{{{_ELEMENT}{name}{{{_UNARY_ARGUMENTS.get(name, '')}}}}}" for name in UNARY)
        cases = (f"case {number}: return {one};" for number, one in enumerate(made))
        otherwise = f"default: return {kind}{{{_ELEMENT}PassThrough{{}}}};"
        return ("switch(static_cast<int>(e.function))", "{", *cases, otherwise, "}")
    properties = operation.properties
    if parts := _COMBINED.get(operation) if said in COMBINED_OPERATIONS else None:
        arguments = ", ".join(f"{_ELEMENT}{name}{{{given}}}" for name, given in parts)
    elif properties.operands:
        arguments = f"e.{properties.parameters[place].name}"
    else:
        arguments = ", ".join(f"e.{parameter.name}" for parameter in properties.parameters)
    return (f"return {kind}{{{arguments}}};",)
