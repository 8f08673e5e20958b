"""The C++ of an element-wise operation: a functor, as kernels of CK Tile call it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.kernels.c_interface import string_literal
from ckprof_plugins.elementwise.operation import STORED_AS_IT_IS
from ckprof_plugins.elementwise.operations import ElementwiseOp

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Functor:
    """What ``functor.hpp.j2`` shows."""

    name: str
    #: how problems ask for it
    number: int
    #: (name, C++ literal of the default) of its parameters
    parameters: tuple[tuple[str, str], ...]
    #: parameters of the C++ function of ``x``
    arguments: str
    statements: tuple[str, ...]
    #: C++ expressions of what the operands are made from; empty: the operation is one on sums
    operands: tuple[str, ...]
    variadic: bool
    #: ``constexpr`` with a blank behind it where nothing but arithmetic is done
    constant: str
    #: results are integers
    to_integers: bool = False

    @classmethod
    def of(cls, operation: ElementwiseOp, *, to_integers: bool = False) -> Functor:
        """Return the C++ of an operation.

        :param to_integers: results are integers: cut towards zero, and of too large ones the low bits.
        """
        properties = operation.properties
        names = [f"d{number}" for number in range(len(properties.d_tensors))]
        arguments = (
            ["const Floats... d"] if properties.variadic else [f"const float {name}" for name in names]
        )
        return cls(
            name=operation.value,
            number=operation.number,
            parameters=tuple((item.name, f"{item.default!r}f") for item in properties.parameters),
            arguments=", ".join(("const float x", *arguments)),
            statements=properties.cpp,
            operands=tuple(change.cpp for change in properties.operands),
            variadic=properties.variadic,
            constant="constexpr " if properties.exact else "",
            to_integers=to_integers,
        )


def names_header() -> str:
    """Return C++ that says what the numbers of operations stand for, for messages."""

    def lines() -> Iterator[str]:
        yield "namespace ckprof::entry {"
        yield "inline constexpr const char* elementwise_names[] = {"
        for name in (STORED_AS_IT_IS, *(operation.value for operation in ElementwiseOp)):
            yield f"    {string_literal(name)},"
        yield "};"
        yield "} // namespace ckprof::entry"

    return "\n".join(lines())
