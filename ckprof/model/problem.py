"""What an operation is asked to compute: what all problems have, and the problem of convolutions."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import islice
from math import log2, prod
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from ckprof.errors import InputError
from ckprof.model.features import alignment, stage_padding
from ckprof.model.layout import TENSORS, tensor_shape
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.tensor import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout

#: Names of the spatial axes, outermost first, of a 3D problem; a 2D one has the last two, a 1D one the last.
SPATIAL_AXES = ("D", "H", "W")

#: CK Tile's ``index_t`` is a 32-bit integer: no length may exceed it.
MAX_LENGTH = 2**31 - 1

#: Order of axes in which values of tensors are drawn, whatever the layout.
_DRAWING_ORDER: Final = "NGKCDHWZYX"


@runtime_checkable
class Problem(Protocol):
    """The sizes of one problem of an operation: a frozen dataclass of integers and tuples of integers.

    Equal problems are equal and hash alike: problems are keys of measurements.
    """

    def __hash__(self) -> int:
        """Return the same for equal problems."""

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions, 0 for operations that have none."""

    @property
    def flop(self) -> int:
        """Floating-point operations that rates count."""

    @property
    def real_flop(self) -> int:
        """Those among them that every kernel must execute."""

    @property
    def part_axis(self) -> str:
        """Letter of the axis along which :meth:`parts` divides; tensors without it belong to all parts."""

    def tensor(self, name: str, layout: Layout) -> TensorSpec:
        """Return one of the operation's tensors."""

    def unmet_by(self, layout: Layout) -> UnmetRequirement | None:
        """Return why no kernel of a layout can compute the problem; ``None``: kernels say it."""

    def parts(self, most_elements: int) -> Sequence[tuple[slice, Problem]]:
        """Divide the problem, so that its result can be computed in parts.

        :param most_elements: how many elements of the tensors that have :attr:`part_axis` a part may have.
        :returns: which part of the axis, and the problem of that part alone.
        """

    def traffic_bytes(self, dtype: DataType) -> int:
        """Return the bytes that rates count: each tensor once.

        :param dtype: of the operands; the operation decides about the other types.
        """

    def values(self) -> tuple[int, ...]:
        """Return all sizes as numbers, in the order in which kernel libraries take them."""

    def describe(self) -> str:
        """Return one line for people."""

    def as_dict(self) -> dict[str, Any]:
        """Return the sizes and what reports say besides as plain JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvProblem:
    """A grouped convolution.

    ``out_channels`` (K) and ``in_channels`` (C) are **per group**, as in ckProfiler: the input has
    ``groups * in_channels`` channels. Spatial tuples are ordered D, H, W and have ``ndim`` entries.

    :raises InputError: a size is not positive, a pad is negative, lengths differ, or the output is empty.
    """

    groups: int
    batch: int
    out_channels: int
    in_channels: int
    filter: tuple[int, ...]
    input: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    left_pads: tuple[int, ...]
    right_pads: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.ndim <= 3:
            raise InputError(f"a problem has 1, 2 or 3 spatial dimensions, not {self.ndim}")
        for name in ("filter", "input", "strides", "dilations", "left_pads", "right_pads"):
            values = getattr(self, name)
            if len(values) != self.ndim:
                raise InputError(f"{name} has {len(values)} values, expected {self.ndim}")
            least = 0 if name.endswith("pads") else 1
            for axis, value in zip(self.axes, values, strict=True):
                _check_range(f"{name} along {axis}", value, least)
        for name in ("groups", "batch", "out_channels", "in_channels"):
            _check_range(name, getattr(self, name), 1)
        for axis, index in zip(self.axes, range(self.ndim), strict=True):
            if self.output[index] < 1:
                reach = (self.filter[index] - 1) * self.dilations[index] + 1
                padded = self.input[index] + self.left_pads[index] + self.right_pads[index]
                raise InputError(
                    f"the output is empty along {axis}: the filter reaches over {reach} elements, "
                    f"the padded input has {padded}"
                )

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions."""
        return len(self.filter)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the spatial axes, outermost first."""
        return SPATIAL_AXES[3 - self.ndim :]

    @property
    def output(self) -> tuple[int, ...]:
        """Output lengths: floor((in + left + right - ((filter - 1) * dilation + 1)) / stride) + 1."""
        return tuple(
            (size + left + right - ((taps - 1) * dilation + 1)) // stride + 1
            for size, left, right, taps, dilation, stride in zip(
                self.input,
                self.left_pads,
                self.right_pads,
                self.filter,
                self.dilations,
                self.strides,
                strict=True,
            )
        )

    @property
    def flop(self) -> int:
        """2 * G * N * K * C * prod(output) * prod(filter), for every direction."""
        return (
            2
            * self.groups
            * self.batch
            * self.out_channels
            * self.in_channels
            * prod(self.output)
            * prod(self.filter)
        )

    @property
    def real_flop(self) -> int:
        """As :attr:`flop`, without the products with padding, which no kernel needs to compute."""
        pairs = prod(self._pairs_inside(axis) for axis in range(self.ndim))
        return 2 * self.groups * self.batch * self.out_channels * self.in_channels * pairs

    def _pairs_inside(self, axis: int) -> int:
        """Return how many pairs of an output and a tap read the image and not its padding."""
        stride, size = self.strides[axis], self.input[axis]
        pairs = 0
        for tap in range(self.filter[axis]):
            # what the first output reads
            place = tap * self.dilations[axis] - self.left_pads[axis]
            beyond = min(self.output[axis], (size - 1 - place) // stride + 1)
            pairs += max(0, beyond - max(0, -(place // stride)))
        return pairs

    @property
    def input_elements(self) -> int:
        """G * N * C * prod(input)."""
        return self.groups * self.batch * self.in_channels * prod(self.input)

    @property
    def weight_elements(self) -> int:
        """G * K * C * prod(filter)."""
        return self.groups * self.out_channels * self.in_channels * prod(self.filter)

    @property
    def output_elements(self) -> int:
        """G * N * K * prod(output)."""
        return self.groups * self.batch * self.out_channels * prod(self.output)

    def moved_bytes(self, element_bytes: int) -> int:
        """Each tensor once, for every direction; workspace and zeroing traffic are not counted."""
        return element_bytes * (self.input_elements + self.weight_elements + self.output_elements)

    def traffic_bytes(self, dtype: DataType) -> int:
        """Return :meth:`moved_bytes` for tensors that all have this type."""
        return self.moved_bytes(dtype.properties.size_bytes)

    def features(self) -> tuple[float, ...]:
        """Return what makes kernels fast or slow beside the sizes: taps, padding, alignment, strides."""
        return (
            0.7 * log2(prod(self.filter)),
            1.5 * stage_padding(self.in_channels),
            0.5 * stage_padding(self.out_channels),
            0.5 * alignment(self.in_channels),
            1.0 * (max(self.strides) > 1),
        )

    #: letter of the axis along which :meth:`parts` divides: the images
    part_axis = "N"

    def tensor(self, name: str, layout: Layout) -> TensorSpec:
        """Return ``input``, ``weight`` or ``output``."""
        order = layout.order(name)
        return TensorSpec(
            name=name,
            axes=order,
            shape=tensor_shape(self, layout, name),
            drawing_order="".join(sorted(order, key=_DRAWING_ORDER.index)),
            position=TENSORS.index(name),
            # as with ckProfiler's init 2
            lowest_decimal=0.0 if name == "input" else -0.5,
        )

    def unmet_by(self, layout: Layout) -> UnmetRequirement | None:
        """Return why no kernel of a layout can compute the problem: it has other dimensions."""
        if layout.ndim == self.ndim:
            return None
        message = f"a kernel for {layout.ndim}D problems, this one is {self.ndim}D"
        return UnmetRequirement(rule="dimensions", message=message)

    def parts(self, most_elements: int) -> Sequence[tuple[slice, ConvProblem]]:
        """Divide the problem into problems of some images each."""
        per_image = (self.input_elements + self.output_elements) // self.batch
        images = max(1, min(self.batch, most_elements // max(1, per_image)))
        starts = range(0, self.batch, images)
        return [
            (slice(first, first + count), replace(self, batch=count))
            for first, count in ((first, min(images, self.batch - first)) for first in starts)
        ]

    def values(self) -> tuple[int, ...]:
        """Return G, N, K, C, then three values per spatial field; unused ones are 0."""
        spatial = (self.filter, self.input, self.strides, self.dilations, self.left_pads, self.right_pads)
        filled = ((*values, 0, 0)[:3] for values in spatial)
        sizes = (self.groups, self.batch, self.out_channels, self.in_channels)
        return (*sizes, *(value for values in filled for value in values))

    @classmethod
    def from_values(cls, ndim: int, values: Sequence[int]) -> ConvProblem:
        """Return the problem that has these :meth:`values`."""
        sizes = iter(values)
        found: dict[str, Any] = {name: next(sizes) for name in SIZE_NAMES[:4]}
        found.update({name: tuple(islice(sizes, 3))[:ndim] for name in SIZE_NAMES[4:]})
        return cls(**found)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, the output lengths and the FLOPs."""
        return {
            **{name: getattr(self, name) for name in SIZE_NAMES},
            "output": self.output,
            "flop": self.flop,
        }

    def describe(self) -> str:
        """Return one line for people, e.g. ``2D G1 N4 K64 C64 in 28x28 filter 3x3 ...``."""

        def by_axis(values: tuple[int, ...]) -> str:
            return "x".join(map(str, values))

        pads = by_axis(self.left_pads)
        if self.left_pads != self.right_pads:
            pads += f"/{by_axis(self.right_pads)}"
        return (
            f"{self.ndim}D G{self.groups} N{self.batch} K{self.out_channels} C{self.in_channels} "
            f"in {by_axis(self.input)} filter {by_axis(self.filter)} out {by_axis(self.output)} "
            f"stride {by_axis(self.strides)} dilation {by_axis(self.dilations)} pad {pads}"
        )


def as_convolution(problem: Problem) -> ConvProblem:
    """Return a problem as what it must be where only convolutions are known.

    :raises InputError: it is one of another operation.
    """
    if not isinstance(problem, ConvProblem):
        raise InputError(f"{problem.describe()}: expected a problem of a convolution")
    return problem


#: Names of the fields of a :class:`ConvProblem`.
SIZE_NAMES: Final = tuple(field.name for field in fields(ConvProblem))


def sizes_of(record: object) -> dict[str, Any]:
    """Return the sizes of a problem, or of a record with fields of the same names, by name."""
    return {name: getattr(record, name) for name in SIZE_NAMES}


def _check_range(name: str, value: int, least: int) -> None:
    if not least <= value <= MAX_LENGTH:
        raise InputError(f"{name} is {value}, expected {least} to {MAX_LENGTH}")
