"""Backward weight: the gradient of the weight from the gradient of the output and the input."""

from __future__ import annotations

from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from ckprof.plugin.protocols import DispatcherForm, PositionalForm
from ckprof_plugins.directions.arrays import filter_axes, image_axes, padded, reordered, taps
from ckprof_plugins.directions.default_problems import DEFAULT_PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.layout import ConvLayout
    from ckprof.model.problem import ConvProblem


class BackwardWeight:
    """Each element of the weight's gradient sums, over images and windows, output gradient times input.

    Along an axis, output ``o`` meets input ``o * stride + tap * dilation - left pad``.
    """

    id = "bwd_weight"
    label = "backward weight: the weight's gradient from the output's gradient and the input"
    aliases = ("backward_weight",)
    miopen_flag = 4
    tensors = ("output", "input", "weight")
    host_args_type = "GroupedConvBwdWeightHostArgs"

    #: The numbers are this operation's own. Number 2, bf16 with a weight in fp32, is no single data type.
    positional_form = PositionalForm(
        operations=("grouped_conv_bwd_weight", "grouped_conv_bwd_weight_tile"),
        leading=("dtype", "layout", "verify", "init", "log", "time", "ndim"),
        trailing=("split_k",),
        dtypes=MappingProxyType({0: "fp32", 1: "fp16", 5: "bf16"}),
        layouts=MappingProxyType({2: ("nwgc", "nhwgc", "ndhwgc")}),
    )

    dispatcher_form = DispatcherForm(number=2, buffers=("input", "output", "weight"))

    default_problem = DEFAULT_PROBLEMS

    def reduction_length(self, problem: ConvProblem) -> int:
        """Return the products per element of the gradient: N * prod(output)."""
        return problem.batch * prod(problem.output)

    def reference(
        self,
        problem: ConvProblem,
        layout: ConvLayout,
        operands: Mapping[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Compute the weight's gradient in double precision: one batched matrix product per tap.

        :param operands: ``output`` (the gradient) and ``input`` in the memory order of ``layout``.
        :returns: the gradient of the weight in the memory order of ``layout``.
        """
        import numpy as np

        image, window = image_axes(problem.ndim), filter_axes(problem.ndim)
        positions = problem.batch * prod(problem.output)
        gradient = reordered(operands["output"], layout.output, f"GKN{image}")
        rows = gradient.reshape(problem.groups, problem.out_channels, positions)
        frame = padded(reordered(operands["input"], layout.input, f"GN{image}C"), problem)

        result = np.empty((*problem.filter, problem.groups, problem.out_channels, problem.in_channels))
        whole = slice(None)
        for tap, met in taps(problem):
            index = (whole, whole, *met, whole)
            columns = frame[index]
            result[tap] = rows @ columns.reshape(problem.groups, positions, problem.in_channels)
        return np.ascontiguousarray(reordered(result, f"{window}GKC", layout.weight))
