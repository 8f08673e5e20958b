"""Layouts of convolutions, and which element types their tensors can have together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import SHARED_TYPES, DataType, TypeSet, accumulator_of, spellings

if TYPE_CHECKING:
    from ckprof.model.tensor import Layout
    from ckprof_plugins.directions._convolution.convolution import Convolution


#: The three tensors of every convolution.
TENSORS = ("input", "weight", "output")

#: Tensor -> axes of one element per channel of all groups; a weight has no channels of its own.
CHANNEL_AXES: Final[Mapping[str, str]] = MappingProxyType({"input": "GC", "output": "GK"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvLayout:
    """The memory orders of the three tensors, last letter fastest.

    ``name`` is the spelling of catalogs and file names: that of the input tensor, in lower case.
    The three orders are the names of CK Tile's layout tags.
    """

    name: str
    ndim: int
    input: str
    weight: str
    output: str

    def order(self, tensor: str) -> str:
        """Return the letters of a tensor's axes, slowest first.

        :param tensor: one of :data:`TENSORS`.
        """
        return {"input": self.input, "weight": self.weight, "output": self.output}[tensor]


#: Every layout that a catalog can name.
LAYOUTS = (
    ConvLayout(name="nwgc", ndim=1, input="NWGC", weight="GKXC", output="NWGK"),
    ConvLayout(name="nhwgc", ndim=2, input="NHWGC", weight="GKYXC", output="NHWGK"),
    ConvLayout(name="ndhwgc", ndim=3, input="NDHWGC", weight="GKZYXC", output="NDHWGK"),
    ConvLayout(name="ngchw", ndim=2, input="NGCHW", weight="GKCYX", output="NGKHW"),
)

_BY_NAME = {layout.name: layout for layout in LAYOUTS}


def find_layout(name: str) -> ConvLayout | None:
    """Return the layout called ``name`` (any case), or ``None``."""
    return _BY_NAME.get(name.lower())


def layout_of_tensors(input_order: str, weight_order: str, output_order: str) -> ConvLayout | None:
    """Return the layout whose three tensors have these orders, or ``None``."""
    for layout in LAYOUTS:
        if (layout.input, layout.weight, layout.output) == (input_order, weight_order, output_order):
            return layout
    return None


def name_of_tags(tags: str, problem: Convolution) -> str:
    """Return the name of the layout that two-dimensional tags stand for in a problem's dimensions.

    It is that of the input alone where the weight has its channels in the same place, as layouts of
    catalogs do; with one channel there is only one place.

    :param tags: of input, weight and output, e.g. ``NGCHW/GKYXC/NGKHW``.
    """
    image, window = "DHW"[3 - problem.ndim :], "ZYX"[3 - problem.ndim :]
    orders = [tag.replace("HW", image).replace("YX", window) for tag in tags.split("/")]
    source, weight, _ = orders
    alike = source.endswith("C") == weight.endswith("C") or problem.in_channels == 1
    return (source if alike else "_".join(orders)).lower()


def tensor_shape(problem: Convolution, layout: Layout, tensor: str) -> tuple[int, ...]:
    """Return the packed shape of ``tensor``, slowest axis first, one entry per letter of its order.

    :param tensor: one of :data:`TENSORS`.
    """
    lengths = {
        "N": problem.batch,
        "G": problem.groups,
        "C": problem.in_channels,
        "K": problem.out_channels,
    }
    spatial = {"input": problem.input, "weight": problem.filter, "output": problem.output}[tensor]
    spatial_letters = "ZYX" if tensor == "weight" else "DHW"
    lengths.update(zip(spatial_letters[3 - problem.ndim :], spatial, strict=True))
    return tuple(lengths[letter] for letter in layout.order(tensor))


_FLOAT8: Final = (DataType.FP8, DataType.BF8)

#: type of the input -> types that the result can have, the usual one first
_RESULTS: Final[Mapping[DataType, tuple[DataType, ...]]] = MappingProxyType(
    {
        **{dtype: (dtype,) for dtype in SHARED_TYPES},
        DataType.FP8: (DataType.FP8, DataType.FP32),
        DataType.BF8: (DataType.FP8, DataType.FP32),
        DataType.INT8: (DataType.INT8,),
    }
)

#: types that the input can have
CONVOLUTION_TYPES: Final = tuple(_RESULTS)


def weight_types(dtype: DataType) -> tuple[DataType, ...]:
    """Return the types that the weight can have, by that of the input, the usual one first."""
    return (dtype, *(other for other in _FLOAT8 if other is not dtype)) if dtype in _FLOAT8 else (dtype,)


def result_types(dtype: DataType) -> tuple[DataType, ...]:
    """Return the types that the result can have, by that of the input, the usual one first."""
    return _RESULTS[dtype]


def d_tensor_types(result: DataType) -> tuple[DataType, ...]:
    """Return the types that D tensors can have, by that of the result, the usual one first."""
    return (result, DataType.FP32) if result.properties.size_bytes == 1 else (result,)


# rule sets ask the same few questions for each of thousands of kernels
@cache
def types_of(
    dtype: DataType,
    weight: DataType | None = None,
    result: DataType | None = None,
    d_tensors: tuple[DataType, ...] = (),
) -> TypeSet:
    """Return the types of a convolution.

    :param dtype: of the input.
    :param weight: of the weight; ``None`` for the usual one.
    :param result: of the result; ``None`` for the usual one.
    :param d_tensors: of the first D tensors; the others have that of the result.
    :raises InputError: they do not go together.
    """
    if dtype not in _RESULTS:
        raise InputError(f"convolutions of {dtype.value}: expected one of {spellings(CONVOLUTION_TYPES)}")
    weight = weight or dtype
    result = result or _RESULTS[dtype][0]
    for name, said, known in (
        ("weight", weight, weight_types(dtype)),
        ("result", result, result_types(dtype)),
        *(("D tensor", one, d_tensor_types(result)) for one in d_tensors),
    ):
        if said not in known:
            raise InputError(
                f"a {name} of {said.value} with an input of {dtype.value}: expected {spellings(known)}"
            )
    return TypeSet(
        operands=(dtype, weight),
        acc=accumulator_of(dtype, weight),
        result=result,
        further=d_tensors if any(one is not result for one in d_tensors) else (),
    )
