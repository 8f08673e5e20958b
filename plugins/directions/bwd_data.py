"""Backward data: the gradient of the input from the gradient of the output and the weight."""

from __future__ import annotations

from math import gcd, prod
from typing import TYPE_CHECKING, Final

from ckprof_plugins.directions._convolution import ckprofiler_forms, string_kinds
from ckprof_plugins.directions._convolution.ckprofiler_forms import DispatcherForm
from ckprof_plugins.directions._convolution.convolution import (
    filter_axes,
    image_axes,
    image_part,
    reordered,
    taps,
)
from ckprof_plugins.directions._convolution.direction import Direction
from ckprof_plugins.directions._convolution.fused_problem import FusedGradientProblem, combined
from ckprof_plugins.directions._convolution.gemm_sizes import backward_data_product, backward_data_sums
from ckprof_plugins.directions._convolution.kernel import (
    KERNELS,
    ConvKernel,
    ConvOperation,
    Zeroing,
)
from ckprof_plugins.directions._convolution.problem import ConvProblem, default_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.types import TypeSet
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.layout import ConvLayout

#: The C++ names of the direction.
OPERATION: Final = ConvOperation(
    variant="bwd_data",
    kernel=ConvKernel.BACKWARD_DATA,
    tensors=("output", "weight", "input"),
    string_kind=string_kinds.BACKWARD_DATA,
    kernel_header=f"{KERNELS}/grouped_convolution_backward_data_kernel.hpp",
    host_args="GroupedConvBwdDataHostArgs",
    traits_suffix="BwdData",
    name_constant="CONV_BWD_DATA_KERNEL_NAME",
    selected_kernel="SelectedConvBwdDataKernel",
    selected_launcher="SelectedConvBwdDataLauncher",
    gemm_k_factor="K_",
    gemm_k_lengths="filter_spatial_lengths_",
    result_factors=("G_", "N_", "C_"),
    result_lengths="input_spatial_lengths_",
    zeroing=Zeroing.ALWAYS,
    split_k=(
        # CK Tile accepts these and launches an empty grid.
        (
            "k_batch < 1",
            "split_k = {k_batch}: a backward-data kernel does not choose it by itself",
        ),
        # CK Tile accepts these as well; some splits of every GEMM would have nothing to do.
        (
            "k_batch > 1 && k_batch > reduction_steps(param)",
            "split_k = {k_batch} is more than the {reduction_steps(param)} MMA steps of the "
            "longest reduction",
        ),
    ),
    counts_reduction_steps=True,
)


class BackwardData(Direction):
    """Each element of the input's gradient collects the output gradients of the windows that it is part of.

    Along an axis, output ``o`` reaches input ``o * stride + tap * dilation - left pad``. Input elements that
    no window reaches have the gradient 0.
    """

    id = "bwd_data"
    label = "backward data: the input's gradient from the output's gradient and the weight"
    aliases = ("backward_data",)
    miopen_flag = 2
    operation = OPERATION
    #: vectors of 16 along K occur in its lists alone
    default_problem = default_problems(out_channels=80)

    positional_form = ckprofiler_forms.BACKWARD_DATA

    dispatcher_form = DispatcherForm(number=1, buffers=("output", "weight", "input"))

    problem_types = (ConvProblem, FusedGradientProblem)

    product = staticmethod(backward_data_product)
    contraction = staticmethod(backward_data_sums)

    def reduction_length(self, problem: Convolution) -> int:
        """Return the products per element of the gradient, at most: K times the taps that can meet it.

        Along an axis, taps that meet the same element are ``stride / gcd(stride, dilation)`` apart.
        """
        return problem.out_channels * prod(
            -(-count // (stride // gcd(stride, dilation)))
            for count, stride, dilation in zip(
                problem.filter, problem.strides, problem.dilations, strict=True
            )
        )

    def reference(
        self,
        problem: Convolution,
        layout: ConvLayout,
        operands: Mapping[str, NDArray[np.float64]],
        types: TypeSet | None = None,
    ) -> NDArray[np.float64]:
        """Compute the input's gradient in double precision: one batched matrix product per tap of the filter.

        Products are scattered to where they belong; kernels gather them instead, in one product per residue
        of the stride.

        :param operands: ``output`` (the gradient) and ``weight`` in the memory order of ``layout``.
        :returns: the gradient of the input in the memory order of ``layout``.
        """
        import numpy as np

        image, window = image_axes(problem.ndim), filter_axes(problem.ndim)
        positions = problem.batch * prod(problem.output)
        source = reordered(operands["output"], layout.output, f"GN{image}K")
        rows = source.reshape(problem.groups, positions, problem.out_channels)
        weight = reordered(operands["weight"], layout.weight, f"{window}GKC")

        frame_lengths = tuple(
            left + size + right
            for left, size, right in zip(problem.left_pads, problem.input, problem.right_pads, strict=True)
        )
        frame = np.zeros((problem.groups, problem.batch, *frame_lengths, problem.in_channels))
        shape = (problem.groups, problem.batch, *problem.output, problem.in_channels)
        whole = slice(None)
        for tap, met in taps(problem):
            index = (whole, whole, *met, whole)
            frame[index] += (rows @ weight[tap]).reshape(shape)

        inner = (whole, whole, *image_part(problem), whole)
        result = frame[inner]
        gradient = np.ascontiguousarray(reordered(result, f"GN{image}C", layout.input))
        return combined(problem, layout, gradient, operands, types)
