"""Convolutions whose results are changed element by element, and the option that asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.errors import InputError
from ckprof.model.problem_types import sizes
from ckprof.model.tensor import TensorSpec
from ckprof_plugins.directions._convolution.convolution import Convolution, image_axes, reordered, sizes_of
from ckprof_plugins.directions._convolution.layout import CHANNEL_AXES, TENSORS
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import DExtent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.problem_case import ProblemCase, ProblemLine
    from ckprof.model.tensor import Layout
    from ckprof.model.types import TypeSet
    from ckprof_plugins.directions._convolution.layout import ConvLayout


#: the result of a convolution that computes no gradient
_OUTPUT: Final = "output"
#: its operands -> what they are combined with before they are multiplied
_FURTHER: Final = {"input": "input1", "weight": "weight1"}
#: least number that is not converted to an integer of 32 bits
_FIRST_TOO_LARGE: Final = 2.0**31


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedConvProblem(Convolution):
    """A convolution that combines its result with further tensors, or changes it by itself: forward.

    Or it combines both operands with further tensors before it multiplies them.

    :raises InputError: as for every convolution.
    """

    elementwise: Combination

    @classmethod
    def of(
        cls, convolution: Convolution, elementwise: Combination, result: str = _OUTPUT
    ) -> FusedConvProblem:
        """Return a convolution with an element-wise operation in the place of the one that it has, if any.

        :param result: which of its tensors is computed.
        :raises InputError: the result cannot have such D tensors.
        """
        values = sizes_of(convolution)
        if result == _OUTPUT:
            return FusedConvProblem(**values, elementwise=elementwise)
        return FusedGradientProblem(**values, elementwise=elementwise, gradient_of=result)

    @property
    def result(self) -> str:
        """Which tensor is computed: what D tensors with an element for each of its elements are like."""
        return _OUTPUT

    @property
    def result_elements(self) -> int:
        """Elements of the result."""
        elements: int = getattr(self, f"{self.result}_elements")
        return elements

    @property
    def result_channels(self) -> int:
        """Elements of a D tensor with one for each channel of the result."""
        return self.groups * (self.out_channels if self.result == _OUTPUT else self.in_channels)

    @property
    def convolution(self) -> ConvProblem:
        """The convolution alone."""
        return ConvProblem(**sizes_of(self))

    @property
    def unfused(self) -> ConvProblem:
        """The convolution alone."""
        return self.convolution

    @property
    def operand_tensors(self) -> tuple[str, ...]:
        """Names of the tensors that operands are combined with."""
        return tuple(_FURTHER.values()) if self.elementwise.changes_operands else ()

    @property
    def further_tensors(self) -> tuple[str, ...]:
        """Names of all tensors beside those of the convolution, in the order in which kernels take them."""
        return (*self.elementwise.d_tensors, *self.operand_tensors)

    @property
    def flop(self) -> int:
        """Those of the convolution, and those of the operation for each element that it works on."""
        return self.convolution.flop + self._elementwise_flop

    @property
    def real_flop(self) -> int:
        """As :attr:`flop`, without the products with padding."""
        return self.convolution.real_flop + self._elementwise_flop

    @property
    def _elementwise_flop(self) -> int:
        of_operands = zip(self._operand_sizes, self.elementwise.operand_flop, strict=True)
        return self.result_elements * self.elementwise.flop + sum(size * flop for size, flop in of_operands)

    @property
    def further_elements(self) -> int:
        """Elements of all tensors beside those of the convolution."""
        return sum(self._further_sizes)

    @property
    def _operand_sizes(self) -> tuple[int, ...]:
        """Elements of each tensor that an operand is combined with: as many as the operand has."""
        return (self.input_elements, self.weight_elements) if self.elementwise.changes_operands else ()

    @property
    def _further_sizes(self) -> tuple[int, ...]:
        """Elements of each of :attr:`further_tensors`."""
        of_result = (
            self.result_elements if extent is DExtent.FULL else self.result_channels
            for extent in self.elementwise.extents
        )
        return (*of_result, *self._operand_sizes)

    def typed_bytes(self, types: TypeSet) -> int:
        """Each tensor once, further ones among them."""
        sizes = self._further_sizes
        sized = zip(sizes, types.further_of(len(sizes)), strict=True)
        further = sum(size * dtype.properties.size_bytes for size, dtype in sized)
        return self.convolution.typed_bytes(types) + further

    def moved_bytes(self, element_bytes: int) -> int:
        """Each tensor once, further ones among them."""
        return self.convolution.moved_bytes(element_bytes) + element_bytes * self.further_elements

    def tensor(self, name: str, layout: Layout) -> TensorSpec:
        """Return ``input``, ``weight``, ``output`` or one of :attr:`further_tensors`."""
        if name in TENSORS:
            return Convolution.tensor(self, name, layout)
        if name in self.operand_tensors:
            operand = next(own for own, further in _FURTHER.items() if further == name)
            position = len(TENSORS) + self.further_tensors.index(name)
            return replace(Convolution.tensor(self, operand, layout), name=name, position=position)
        number = self.elementwise.d_tensors.index(name)
        result = Convolution.tensor(self, self.result, layout)
        lengths = dict(zip(result.axes, result.shape, strict=True))
        full = self.elementwise.extents[number] is DExtent.FULL
        axes = result.axes if full else CHANNEL_AXES[self.result]
        d_tensors = self.elementwise.operation.properties.d_tensors
        return TensorSpec(
            name=name,
            axes=axes,
            shape=tuple(lengths[axis] for axis in axes),
            drawing_order=result.drawing_order if full else axes,
            position=len(TENSORS) + number,
            least=d_tensors[number].least if d_tensors else 0.0,
        )

    def values(self) -> tuple[int, ...]:
        """Return those of every convolution, then those of the operation."""
        return (*Convolution.values(self), *self.elementwise.numbers())

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, the output lengths and the FLOPs."""
        return {**sizes(self), "output": self.output, "flop": self.flop}

    def describe(self) -> str:
        """Return one line for people, the operation at its end."""
        return f"{Convolution.describe(self)} {self.elementwise.text}"

    def brief(self) -> str:
        """Return the sizes that have an effect, and the operation."""
        return f"{self.convolution.brief()} {self.elementwise.text}"

    column_types: ClassVar[Mapping[str, type[int] | type[str]]] = MappingProxyType(
        {**ConvProblem.column_types, "elementwise": str}
    )

    def columns(self) -> dict[str, int | str]:
        """Return those of every convolution, and the operation."""
        return {**self.convolution.columns(), "elementwise": self.elementwise.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedGradientProblem(FusedConvProblem):
    """A gradient of a convolution that is combined with further tensors, or changed by itself.

    :raises InputError: as for every convolution; or there is no such gradient, or it has no channels and a D
        tensor shall have an element for each.
    """

    #: which tensor's gradient is computed
    gradient_of: str

    def __post_init__(self) -> None:
        Convolution.__post_init__(self)
        gradients = [name for name in TENSORS if name != _OUTPUT]
        if self.gradient_of not in gradients:
            raise InputError(f"gradient_of is {self.gradient_of!r}, expected {' or '.join(gradients)}")
        if self.elementwise.changes_operands:
            raise InputError(
                f"{self.elementwise.operation.value} changes operands before they are multiplied, which only "
                f"forward convolutions do, not the gradient of the {self.gradient_of}"
            )
        if self.gradient_of in CHANNEL_AXES:
            return
        for role, extent in zip(self.elementwise.roles, self.elementwise.extents, strict=True):
            if extent is not DExtent.FULL:
                raise InputError(
                    f"{role} is {extent.value}: the gradient of the {self.gradient_of} has no channels of "
                    f"its own, expected {DExtent.FULL.value}"
                )

    @property
    def result(self) -> str:
        """Which tensor is computed."""
        return self.gradient_of


def elementwise_of(problem: Convolution) -> Combination | None:
    """Return what a problem asks for beside the convolution; ``None``: nothing."""
    return problem.elementwise if isinstance(problem, FusedConvProblem) else None


def tensors_of(problem: Convolution, tensors: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a problem's tensors: operands, further ones, result.

    :param tensors: those of the convolution, the result last.
    """
    *operands, result = tensors
    return (*operands, *(problem.further_tensors if isinstance(problem, FusedConvProblem) else ()), result)


def multiplied(
    problem: Convolution, operands: Mapping[str, NDArray[np.float64]], types: TypeSet
) -> dict[str, NDArray[np.float64]]:
    """Return the operands that a problem makes of two tensors each, as they are multiplied.

    :param operands: all tensors but the result, as they are stored.
    """
    if not isinstance(problem, FusedConvProblem) or not problem.elementwise.changes_operands:
        return {}
    import numpy as np

    from ckprof.measure.verify.storage import decode, encode

    made = {}
    for number, ((name, further), dtype) in enumerate(zip(_FURTHER.items(), types.operands, strict=True)):
        values = problem.elementwise.changed_operand(number, operands[name], operands[further])
        if dtype.properties.is_integer:
            # as kernels, which are not to depend on what a processor makes of larger ones
            largest = np.nextafter(np.float32(_FIRST_TOO_LARGE), np.float32(0))
            values = np.clip(values, np.float32(-_FIRST_TOO_LARGE), largest)
        made[name] = decode(encode(values, dtype, ocp=types.ocp), dtype, ocp=types.ocp)
    return made


def combined(
    problem: Convolution,
    layout: ConvLayout,
    sums: NDArray[np.float64],
    operands: Mapping[str, NDArray[np.float64]],
    types: TypeSet | None,
) -> NDArray[np.float64]:
    """Return the result with what the problem asks for besides, in double precision.

    :param sums: the convolution, in the memory order of ``layout``.
    :param operands: the D tensors among them, in their memory order.
    :param types: what sums become first; ``None``: they stay as they are.
    """
    if not isinstance(problem, FusedConvProblem):
        return sums
    if types is not None and types.narrowed is not None:
        from ckprof.measure.verify.storage import decode, encode

        sums = decode(encode(sums, types.narrowed), types.narrowed)
    combination = problem.elementwise
    axes = f"N{image_axes(problem.ndim)}"
    d_arrays = []
    for name, extent in zip(combination.d_tensors, combination.extents, strict=True):
        array = operands[name]
        if extent is DExtent.CHANNEL:
            ones = array.reshape((1,) * len(axes) + array.shape)
            array = reordered(ones, f"{axes}{CHANNEL_AXES[problem.result]}", layout.order(problem.result))
        d_arrays.append(array)
    return combination.apply(sums, tuple(d_arrays))


def sum_deviation(
    problem: Convolution, length: int, operands: tuple[str, ...], mean_squares: Mapping[str, float]
) -> float:
    """Return the standard deviation of an element of the result.

    :param length: products that are accumulated into it.
    :param operands: names of the two operands.
    """
    of_sum = float((length * prod(mean_squares[name] for name in operands)) ** 0.5)
    combination = elementwise_of(problem)
    if combination is None:
        return of_sum
    return combination.deviation(of_sum, [mean_squares[name] for name in combination.d_tensors])


#: asks for an element-wise operation; the word after it says for which
OPTION: Final = "--elementwise-op"


def split_option(line: ProblemLine) -> tuple[ProblemLine, Combination | None]:
    """Return a line without the option, words in their columns, and what the option asks for.

    :raises InputError: it is given twice, has no value, or a wrong one.
    """
    tokens = line.tokens() if OPTION in line.text else []
    places = [index for index, token in enumerate(tokens) if token.text == OPTION]
    if not places:
        return line, None
    first = tokens[places[0]]
    if len(places) > 1:
        raise line.error(f"{OPTION} is given twice", tokens[places[1]].column)
    if places[0] + 1 == len(tokens):
        raise line.error(f"{OPTION} needs a value, e.g. AddClamp,floor=0,ceiling=6", first.column)
    value = tokens[places[0] + 1]
    with line.at(value.column):
        combination = Combination.parse(value.text)
    start, end = first.column - 1, value.column - 1 + len(value.text)
    blank = line.text[:start] + " " * (end - start) + line.text[end:]
    return replace(line, text=blank.rstrip()), combination


def with_combination(
    case: ProblemCase, combination: Combination, result: str, line: ProblemLine
) -> ProblemCase:
    """Return a case whose problem asks for an operation besides.

    :param result: which tensor of the convolution is computed.
    :raises InputError: the line itself asks for one already, or the result cannot have its D tensors.
    """
    problem = case.problem
    if not isinstance(problem, Convolution):
        return case
    own = elementwise_of(problem)
    if own is not None:
        raise line.error(f"the line asks for {own.text} already, {OPTION} for {combination.text}")
    with line.at():
        return replace(case, problem=FusedConvProblem.of(problem, combination, result))


def option_of(problem: Convolution) -> str:
    """Return what :func:`split_option` reads, with a blank in front; empty for a convolution alone."""
    combination = elementwise_of(problem)
    return f" {OPTION} {combination.text}" if combination else ""
