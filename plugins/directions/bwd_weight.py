"""Backward weight: the gradient of the weight from the gradient of the output and the input."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from ckprof_plugins.directions._convolution import ckprofiler_forms, string_kinds
from ckprof_plugins.directions._convolution.ckprofiler_forms import DispatcherForm
from ckprof_plugins.directions._convolution.convolution import (
    filter_axes,
    image_axes,
    padded,
    reordered,
    taps,
)
from ckprof_plugins.directions._convolution.direction import EMBED_DIR, Direction
from ckprof_plugins.directions._convolution.fused_problem import FusedGradientProblem, combined
from ckprof_plugins.directions._convolution.gemm_sizes import backward_weight_product, backward_weight_sums
from ckprof_plugins.directions._convolution.kernel import KERNELS, ConvKernel, ConvOperation, Zeroing
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.types import TypeSet
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.layout import ConvLayout


#: The C++ names of the direction.
OPERATION: Final = ConvOperation(
    variant="bwd_weight",
    kernel=ConvKernel.BACKWARD_WEIGHT,
    tensors=("output", "input", "weight"),
    string_kind=string_kinds.BACKWARD_WEIGHT,
    kernel_header=f"{KERNELS}/grouped_convolution_backward_weight_kernel.hpp",
    host_args="GroupedConvBwdWeightHostArgs",
    traits_suffix="BwdWeight",
    name_constant="CONV_BWD_WEIGHT_KERNEL_NAME",
    selected_kernel="SelectedConvBwdWeightKernel",
    selected_launcher="SelectedConvBwdWeightLauncher",
    gemm_k_factor="N_",
    gemm_k_lengths="output_spatial_lengths_",
    result_factors=("G_", "K_", "C_"),
    result_lengths="filter_spatial_lengths_",
    zeroing=Zeroing.IF_SPLIT,
    deduces_split_k=True,
)


class BackwardWeight(Direction):
    """Each element of the weight's gradient sums, over images and windows, output gradient times input.

    Along an axis, output ``o`` meets input ``o * stride + tap * dilation - left pad``.
    """

    id = "bwd_weight"
    label = "backward weight: the weight's gradient from the output's gradient and the input"
    aliases = ("backward_weight",)
    miopen_flag = 4
    operation = OPERATION

    positional_form = ckprofiler_forms.BACKWARD_WEIGHT

    dispatcher_form = DispatcherForm(
        number=2,
        buffers=("input", "output", "weight"),
        # programs that were written before the dispatcher had other directions
        header=EMBED_DIR / "ckprof_conv_bwdw.h",
        source=EMBED_DIR / "ckprof_conv_bwdw.cpp",
    )

    problem_types = (ConvProblem, FusedGradientProblem)

    product = staticmethod(backward_weight_product)
    contraction = staticmethod(backward_weight_sums)

    def reduction_length(self, problem: Convolution) -> int:
        """Return the products per element of the gradient: N * prod(output)."""
        return problem.batch * prod(problem.output)

    def reference(
        self,
        problem: Convolution,
        layout: ConvLayout,
        operands: Mapping[str, NDArray[np.float64]],
        types: TypeSet | None = None,
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
        weight = np.ascontiguousarray(reordered(result, f"{window}GKC", layout.weight))
        return combined(problem, layout, weight, operands, types)
