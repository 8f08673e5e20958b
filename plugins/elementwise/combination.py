"""How elements are combined with D tensors, and the C++ of it: a functor, as kernels of CK Tile call it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from math import frexp
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.kernels.c_interface import string_literal
from ckprof.model.types import spellings
from ckprof_plugins.elementwise.operation import BOUNDS, STORED_AS_IT_IS, DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


#: most D tensors that an operation with any number of them is used with
MOST_D_TENSORS: Final = 2


@dataclass(frozen=True, kw_only=True)
class Combination:
    """What a problem asks for beside its sums of products.

    :raises InputError: the operation takes other parameters or D tensors, or no such values.
    """

    operation: ElementwiseOp
    #: values of the operation's parameters, in order
    parameters: tuple[float, ...]
    #: of each D tensor
    extents: tuple[DExtent, ...]

    def __post_init__(self) -> None:
        properties = self.operation.properties
        name = self.operation.value
        if len(self.parameters) != len(properties.parameters):
            raise InputError(
                f"{name} has {len(properties.parameters)} parameters, got {len(self.parameters)}"
            )
        for parameter, value in zip(properties.parameters, self.parameters, strict=True):
            parameter.checked(value)
        wrong = properties.constraint(self.values)
        if wrong:
            raise InputError(f"{name}: {wrong}")
        least, most = (1, MOST_D_TENSORS) if properties.variadic else (len(properties.d_tensors),) * 2
        if not least <= len(self.extents) <= most:
            expected = f"{least} to {most}" if properties.variadic else str(least)
            raise InputError(f"{name} takes {expected} D tensors, got {len(self.extents)}")

    @classmethod
    def usual(cls, operation: ElementwiseOp, extents: Sequence[DExtent] | None = None) -> Combination:
        """Return an operation with the defaults of its parameters.

        :param extents: of its D tensors; those of the factories if ``None``.
        """
        properties = operation.properties
        if extents is None:
            full = [DExtent.FULL] if properties.variadic else []
            extents = [d.extent for d in properties.d_tensors] or full
        defaults = tuple(parameter.default for parameter in properties.parameters)
        return cls(operation=operation, parameters=defaults, extents=tuple(extents))

    @classmethod
    def parse(cls, text: str) -> Combination:
        """Return what e.g. ``AddClamp,floor=0,ceiling=6,bias=channel`` says; what is missing has its default.

        :raises InputError: the operation, a parameter or a D tensor is unknown, or a value is wrong.
        """
        name, *settings = text.split(",")
        operation = ElementwiseOp.parse(name)
        parameters = {parameter.name: parameter for parameter in operation.properties.parameters}
        usual = cls.usual(operation)
        roles = usual.roles
        if operation.properties.variadic:
            roles = tuple(f"d{number}" for number in range(MOST_D_TENSORS))
        values = dict(usual.values)
        extents = dict(zip(roles, usual.extents, strict=False))
        seen = set()
        for setting in settings:
            key, _, value = setting.partition("=")
            if key in seen:
                raise InputError(f"{key} is given twice")
            seen.add(key)
            if key in parameters:
                values[key] = parameters[key].parse(value)
            elif key in roles:
                extents[key] = _extent(key, value)
            else:
                known = ", ".join((*parameters, *roles)) or "nothing"
                raise InputError(f"{operation.value} has no {key or setting!r}, expected {known}")
        given = [role for role in roles if role in extents]
        if given != list(roles[: len(given)]):
            raise InputError(f"{given[-1]} is given, {roles[0]} is not")
        return cls(
            operation=operation,
            parameters=tuple(values.values()),
            extents=tuple(extents[role] for role in given),
        )

    @property
    def roles(self) -> tuple[str, ...]:
        """What each D tensor is."""
        named = tuple(d.role for d in self.operation.properties.d_tensors)
        return named or tuple(f"d{number}" for number in range(len(self.extents)))

    @property
    def d_tensors(self) -> tuple[str, ...]:
        """Names of the D tensors."""
        return tuple(f"d{number}" for number in range(len(self.extents)))

    @property
    def changes_operands(self) -> bool:
        """Whether operands are made from two tensors each; nothing is done with sums then."""
        return bool(self.operation.properties.operands)

    @property
    def values(self) -> Mapping[str, float]:
        """Parameter -> value."""
        names = (parameter.name for parameter in self.operation.properties.parameters)
        return MappingProxyType(dict(zip(names, self.parameters, strict=True)))

    @cached_property
    def _rounded(self) -> Mapping[str, float]:
        """Parameter -> value as kernels have it, in fp32."""
        return {name: struct.unpack("<f", struct.pack("<f", value))[0] for name, value in self.values.items()}

    @property
    def flop(self) -> int:
        """Floating-point operations per element of the result."""
        properties = self.operation.properties
        return properties.flop * (len(self.extents) if properties.variadic else 1)

    @property
    def operand_flop(self) -> tuple[int, ...]:
        """Floating-point operations per element of each operand that is changed."""
        return tuple(change.flop for change in self.operation.properties.operands)

    @property
    def is_exact(self) -> bool:
        """Whether results of integers are what double precision gives, rounded once."""
        factors = (value for name, value in self.values.items() if name not in BOUNDS)
        return self.operation.properties.exact and all(abs(frexp(factor)[0]) == 0.5 for factor in factors)

    @property
    def text(self) -> str:
        """What :meth:`parse` reads, as short as it can be."""
        usual = Combination.usual(self.operation)
        settings = [
            f"{parameter.name}={parameter.text(value)}"
            for parameter, value, default in zip(
                self.operation.properties.parameters, self.parameters, usual.parameters, strict=True
            )
            if value != default
        ]
        defaults = usual.extents if len(usual.extents) == len(self.extents) else (None,) * len(self.extents)
        settings += [
            f"{role}={extent.value}"
            for role, extent, default in zip(self.roles, self.extents, defaults, strict=True)
            if extent is not default
        ]
        return ",".join((self.operation.value, *settings))

    def numbers(self) -> tuple[int, ...]:
        """Return how kernel libraries are told: the operation's number, the number of further tensors, one
        bit for each that has an element per channel, and the bits of the parameters as numbers of 64 bits."""
        further = len(self.extents) + len(self.operation.properties.operands)
        flags = sum(2**index for index, extent in enumerate(self.extents) if extent is DExtent.CHANNEL)
        bits = (struct.unpack("<q", struct.pack("<d", value))[0] for value in self.parameters)
        return self.operation.number, further, flags, *bits

    def apply(self, sums: NDArray[np.float64], d: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        """Return the results in double precision.

        :param d: arrays that fit those of the sums.
        """
        return self.operation.properties.formula(sums, d, self._rounded)

    def changed_operand(
        self, number: int, operand: NDArray[np.float64], further: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Return what an operand is made from, before it is rounded to its type.

        :param number: 0 for the first operand, 1 for the second.
        :param further: the tensor that it is combined with, an array of the same shape.
        """
        import numpy as np

        change = self.operation.properties.operands[number]
        with np.errstate(over="ignore"):
            return change.formula(operand, further, self._rounded).astype(np.float32)

    def deviation(self, of_sum: float, mean_squares: Sequence[float]) -> float:
        """Return the standard deviation of an element of the result."""
        return self.operation.properties.deviation(of_sum, tuple(mean_squares), self._rounded)


def _extent(role: str, text: str) -> DExtent:
    try:
        return DExtent(text)
    except ValueError:
        raise InputError(f"{role} is {text!r}, expected one of {spellings(DExtent)}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Functor:
    """What ``functor.hpp.j2`` shows."""

    name: str
    #: how problems ask for it
    number: int
    #: (name, C++ literal of the functor's default) of its parameters
    parameters: tuple[tuple[str, str], ...]
    #: parameters of the C++ function of ``x``
    arguments: str
    statements: tuple[str, ...]
    #: C++ expressions of what the operands are made from; empty: the operation is one on sums
    operands: tuple[str, ...]
    variadic: bool
    #: ``constexpr`` with a blank behind it where there is no factor
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
        factors = {item.name for item in properties.parameters} - BOUNDS
        arguments = (
            ["const Floats... d"] if properties.variadic else [f"const float {name}" for name in names]
        )
        return cls(
            name=operation.value,
            number=operation.number,
            parameters=tuple((item.name, f"{item.functor!r}f") for item in properties.parameters),
            arguments=", ".join(("const float x", *arguments)),
            statements=properties.cpp,
            operands=tuple(change.cpp for change in properties.operands),
            variadic=properties.variadic,
            constant="constexpr " if properties.exact and not factors else "",
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
