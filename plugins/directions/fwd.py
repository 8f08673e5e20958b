"""Forward convolution: the output from the input and the weight."""

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
from ckprof_plugins.directions._convolution.direction import Direction
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem, combined
from ckprof_plugins.directions._convolution.gemm_sizes import forward_product, forward_sums
from ckprof_plugins.directions._convolution.kernel import (
    KERNELS,
    ConvKernel,
    ConvOperation,
    Zeroing,
)
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
    variant="forward",
    kernel=ConvKernel.FORWARD,
    tensors=("input", "weight", "output"),
    string_kind=string_kinds.FORWARD,
    kernel_header=f"{KERNELS}/grouped_convolution_forward_kernel.hpp",
    host_args="GroupedConvFwdHostArgs<>",
    traits_suffix="Fwd",
    name_constant="CONV_FWD_KERNEL_NAME",
    selected_kernel="SelectedConvFwdKernel",
    selected_launcher="SelectedConvKernelLauncher",
    gemm_k_factor="C_",
    gemm_k_lengths="filter_spatial_lengths_",
    result_factors=("G_", "N_", "K_"),
    result_lengths="output_spatial_lengths_",
    zeroing=Zeroing.NEVER,
    split_k=(
        (
            "k_batch != 1",
            "split_k = {k_batch}: a forward kernel does not split its reduction",
        ),
    ),
)


class Forward(Direction):
    """Each output element is the sum of input times weight over the channels and the taps of the filter.

    Along an axis, output ``o`` meets input ``o * stride + tap * dilation - left pad``.
    """

    id = "fwd"
    label = "forward: the output from input and weight"
    aliases = ("forward",)
    miopen_flag = 1
    operation = OPERATION

    positional_form = ckprofiler_forms.FORWARD

    dispatcher_form = DispatcherForm(number=0, buffers=("input", "weight", "output"))

    problem_types = (ConvProblem, FusedConvProblem)

    product = staticmethod(forward_product)
    contraction = staticmethod(forward_sums)

    def reduction_length(self, problem: Convolution) -> int:
        """Return the products per output element: C * prod(filter)."""
        return problem.in_channels * prod(problem.filter)

    def reference(
        self,
        problem: Convolution,
        layout: ConvLayout,
        operands: Mapping[str, NDArray[np.float64]],
        types: TypeSet | None = None,
    ) -> NDArray[np.float64]:
        """Compute the output in double precision: one batched matrix product per tap of the filter.

        It shares nothing with the kernels, which walk tiles of one long product.

        :param operands: ``input`` and ``weight`` in the memory order of ``layout``.
        :returns: the output in the memory order of ``layout``.
        """
        import numpy as np

        image, window = image_axes(problem.ndim), filter_axes(problem.ndim)
        source = reordered(operands["input"], layout.input, f"GN{image}C")
        weight = reordered(operands["weight"], layout.weight, f"{window}GCK")
        frame = padded(source, problem)

        positions = problem.batch * prod(problem.output)
        total = np.zeros((problem.groups, positions, problem.out_channels))
        whole = slice(None)
        for tap, met in taps(problem):
            index = (whole, whole, *met, whole)
            columns = frame[index].reshape(problem.groups, positions, problem.in_channels)
            total += columns @ weight[tap]

        result = total.reshape(problem.groups, problem.batch, *problem.output, problem.out_channels)
        output = np.ascontiguousarray(reordered(result, f"GN{image}K", layout.output))
        return combined(problem, layout, output, operands, types)
