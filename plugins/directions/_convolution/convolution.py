"""What all problems of convolutions have: sizes, what follows from them, and tensors in one axis order."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import product
from math import log2, prod
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.model.gemm_work import alignment, stage_padding
from ckprof.model.problem import MAX_LENGTH
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.tensor import TensorSpec
from ckprof_plugins.directions._convolution.layout import TENSORS, tensor_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType, TypeSet


#: Names of the spatial axes, outermost first, of a 3D problem; a 2D one has the last two, a 1D one the last.
SPATIAL_AXES = ("D", "H", "W")

#: Order of axes in which values of tensors are drawn, whatever the layout.
_DRAWING_ORDER: Final = "NGKCDHWZYX"


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """The sizes of a grouped convolution.

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
        ndim, axes = self.ndim, self.axes
        if not 1 <= ndim <= 3:
            raise InputError(f"a problem has 1, 2 or 3 spatial dimensions, not {ndim}")
        for name in ("filter", "input", "strides", "dilations", "left_pads", "right_pads"):
            values = getattr(self, name)
            if len(values) != ndim:
                raise InputError(f"{name} has {len(values)} values, expected {ndim}")
            least = 0 if name[-4:] == "pads" else 1
            if min(values) < least or max(values) > MAX_LENGTH:
                for axis, value in zip(axes, values, strict=True):
                    _check_range(f"{name} along {axis}", value, least)
        for name in ("groups", "batch", "out_channels", "in_channels"):
            _check_range(name, getattr(self, name), 1)
        for index, (axis, length) in enumerate(zip(axes, self.output, strict=True)):
            if length < 1:
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
        return self._flop_of(prod(self.output) * prod(self.filter))

    @property
    def real_flop(self) -> int:
        """As :attr:`flop`, without the products with padding, which no kernel needs to compute."""
        pairs = prod(self._pairs_inside(axis) for axis in range(self.ndim))
        return self._flop_of(pairs)

    def _flop_of(self, pairs: int) -> int:
        """Return the operations of ``pairs`` of output and tap."""
        return 2 * self.groups * self.batch * self.out_channels * self.in_channels * pairs

    def _pairs_inside(self, axis: int) -> int:
        """Return how many pairs of an output and a tap read the image and not its padding."""
        stride, size = self.strides[axis], self.input[axis]
        pairs = 0
        for tap in range(self.filter[axis]):
            # what the first output reads
            start = tap * self.dilations[axis] - self.left_pads[axis]
            beyond = min(self.output[axis], (size - 1 - start) // stride + 1)
            pairs += max(0, beyond - max(0, -(start // stride)))
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

    def typed_bytes(self, types: TypeSet) -> int:
        """Return :meth:`moved_bytes` for tensors of several types, which only those of forward have."""
        input_, weight = (dtype.properties.size_bytes for dtype in types.operands)
        output = types.result.properties.size_bytes
        return input_ * self.input_elements + weight * self.weight_elements + output * self.output_elements

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

    def parts(self, most_elements: int) -> Sequence[tuple[slice, Self]]:
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

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, the output lengths and the FLOPs."""
        return {**sizes_of(self), "output": self.output, "flop": self.flop}

    def describe(self) -> str:
        """Return one line for people, e.g. ``2D G1 N4 K64 C64 in 28x28 filter 3x3 ...``."""
        pads = joined(self.left_pads)
        if self.left_pads != self.right_pads:
            pads += f"/{joined(self.right_pads)}"
        return (
            f"{self.ndim}D G{self.groups} N{self.batch} K{self.out_channels} C{self.in_channels} "
            f"in {joined(self.input)} filter {joined(self.filter)} out {joined(self.output)} "
            f"stride {joined(self.strides)} dilation {joined(self.dilations)} pad {pads}"
        )

    def brief(self) -> str:
        """Return the sizes that have an effect, e.g. ``N4 C64-K128 28x28 filter 3x3 stride 2 pad 1``.

        Channels are those of one group. Values that are equal along all axes are written once.
        """

        def axes(values: tuple[int, ...]) -> str:
            return str(values[0]) if len(set(values)) == 1 else joined(values)

        parts = [f"N{self.batch} C{self.in_channels}-K{self.out_channels}"]
        if self.groups > 1:
            parts.insert(0, f"G{self.groups}")
        parts += [joined(self.input), f"filter {joined(self.filter)}"]
        for name, values, usual in (("stride", self.strides, 1), ("dilation", self.dilations, 1)):
            if set(values) != {usual}:
                parts.append(f"{name} {axes(values)}")
        pads = axes(self.left_pads)
        if self.left_pads != self.right_pads:
            pads += f"/{axes(self.right_pads)}"
        return " ".join(parts if pads == "0" else [*parts, f"pad {pads}"])


#: Names of the fields of a :class:`Convolution`.
SIZE_NAMES: Final = tuple(field.name for field in fields(Convolution))


def sizes_of(record: object) -> dict[str, Any]:
    """Return the sizes of a problem, or of a record with fields of the same names, by name."""
    return {name: getattr(record, name) for name in SIZE_NAMES}


def joined(values: tuple[int, ...]) -> str:
    """Return lengths along the axes as one text."""
    return "x".join(map(str, values))


def _check_range(name: str, value: int, least: int) -> None:
    if not least <= value <= MAX_LENGTH:
        raise InputError(f"{name} is {value}, expected {least} to {MAX_LENGTH}")


#: Letters of the spatial axes, outermost first, of images and of filters.
_IMAGE_AXES = "DHW"
_FILTER_AXES = "ZYX"


def image_axes(ndim: int) -> str:
    """Return the letters of the spatial axes of input and output, e.g. ``HW`` for two."""
    return _IMAGE_AXES[3 - ndim :]


def filter_axes(ndim: int) -> str:
    """Return the letters of the spatial axes of the weight, e.g. ``YX`` for two."""
    return _FILTER_AXES[3 - ndim :]


def reordered(array: NDArray[np.float64], order: str, wanted: str) -> NDArray[np.float64]:
    """Return a view of ``array`` whose axes are in another order.

    :param order: one letter per axis of ``array``.
    :param wanted: the same letters in the order of the result.
    """
    view: NDArray[np.float64] = array.transpose([order.index(letter) for letter in wanted])
    return view


def padded(array: NDArray[np.float64], problem: Convolution) -> NDArray[np.float64]:
    """Return the input with its pads around the image, filled with zeros.

    :param array: the input with axes G, N, spatial axes, C.
    """
    import numpy as np

    pads = zip(problem.left_pads, problem.right_pads, strict=True)
    return np.pad(array, ((0, 0), (0, 0), *pads, (0, 0)))


def image_part(problem: Convolution) -> tuple[slice, ...]:
    """Return which part of the padded input is the image, one slice per spatial axis."""
    return tuple(
        slice(left, left + size) for left, size in zip(problem.left_pads, problem.input, strict=True)
    )


def taps(problem: Convolution) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Yield every tap of the filter and which elements of the padded input it meets.

    The slices have one entry per spatial axis and each gives as many elements as the output has:
    element ``o`` of the output meets ``o * stride + tap * dilation`` of the padded input.
    """
    axes = [
        [slice(tap * dilation, tap * dilation + (out - 1) * stride + 1, stride) for tap in range(count)]
        for count, dilation, stride, out in zip(
            problem.filter, problem.dilations, problem.strides, problem.output, strict=True
        )
    ]
    for tap in product(*map(range, problem.filter)):
        yield tap, tuple(axis[index] for axis, index in zip(axes, tap, strict=True))
