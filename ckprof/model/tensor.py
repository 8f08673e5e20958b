"""Shapes of the three tensors in the memory order of a layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.model.layout import ConvLayout
    from ckprof.model.problem import ConvProblem

#: The three tensors of every convolution.
TENSORS = ("input", "weight", "output")


def tensor_shape(problem: ConvProblem, layout: ConvLayout, tensor: str) -> tuple[int, ...]:
    """Return the packed shape of ``tensor``, slowest axis first, one entry per letter of its order.

    :param tensor: one of :data:`TENSORS`.
    """
    order = {"input": layout.input, "weight": layout.weight, "output": layout.output}[tensor]
    lengths = {
        "N": problem.batch,
        "G": problem.groups,
        "C": problem.in_channels,
        "K": problem.out_channels,
    }
    spatial = {"input": problem.input, "weight": problem.filter, "output": problem.output}[tensor]
    spatial_letters = "ZYX" if tensor == "weight" else "DHW"
    lengths.update(zip(spatial_letters[3 - problem.ndim :], spatial, strict=True))
    return tuple(lengths[letter] for letter in order)
