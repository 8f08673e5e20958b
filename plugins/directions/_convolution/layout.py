"""Layouts of the tensors of convolutions, and the shapes of the tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

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
