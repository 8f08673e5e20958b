"""What the C++ text of a kernel says differently for each direction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_KERNELS = "ck_tile/ops/grouped_convolution/kernel"


class Zeroing(Enum):
    """When a launcher must fill the result with zeros before the kernel runs."""

    #: every element is stored
    NEVER = "never"
    #: some elements may not be reached at all
    ALWAYS = "always"
    #: the splits of the reduction add to what is there
    IF_SPLIT = "if_split"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitKRule:
    """Values of ``k_batch`` that a direction rejects."""

    #: C++ condition on ``k_batch`` and ``param``, the problem
    rejected_if: str
    #: sentence with C++ expressions in braces
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The C++ names of one direction."""

    #: spelling of the direction in comments, as in a catalog's ``variant``
    variant: str
    kernel_class: str
    kernel_header: str
    host_args: str
    #: ending of the members of ``GroupedConvTraits`` that exist once per direction
    traits_suffix: str
    #: which of a launcher's types are first operand, second operand and result
    a_type: str
    b_type: str
    c_type: str
    name_constant: str
    selected_kernel: str
    selected_launcher: str
    #: the reduction length is this member of the host arguments ...
    gemm_k_factor: str
    #: ... times all entries of this one
    gemm_k_lengths: str
    #: pointer to the result among the host arguments
    result_pointer: str
    #: the result has as many elements as the product of these members of the problem ...
    result_factors: tuple[str, ...]
    #: ... times all entries of this one
    result_lengths: str
    zeroing: Zeroing
    split_k: tuple[SplitKRule, ...]
    #: whether the header has ``reduction_steps()``, for a rule that asks it
    counts_reduction_steps: bool
    #: whether the kernel replaces a ``k_batch`` of -1 by a number of its own
    deduces_split_k: bool


#: Direction id -> names; no kernel can be written for a direction that is not here.
OPERATIONS = {
    "fwd": Operation(
        variant="forward",
        kernel_class="GroupedConvolutionForwardKernel",
        kernel_header=f"{_KERNELS}/grouped_convolution_forward_kernel.hpp",
        host_args="GroupedConvFwdHostArgs<>",
        traits_suffix="Fwd",
        a_type="InDataType",
        b_type="WeiDataType",
        c_type="OutDataType",
        name_constant="CONV_FWD_KERNEL_NAME",
        selected_kernel="SelectedConvFwdKernel",
        selected_launcher="SelectedConvKernelLauncher",
        gemm_k_factor="C_",
        gemm_k_lengths="filter_spatial_lengths_",
        result_pointer="out_ptr",
        result_factors=("G_", "N_", "K_"),
        result_lengths="output_spatial_lengths_",
        zeroing=Zeroing.NEVER,
        split_k=(
            SplitKRule(
                rejected_if="k_batch != 1",
                reason="split_k = {k_batch}: a forward kernel does not split its reduction",
            ),
        ),
        counts_reduction_steps=False,
        deduces_split_k=False,
    ),
    "bwd_data": Operation(
        variant="bwd_data",
        kernel_class="GroupedConvolutionBackwardDataKernel",
        kernel_header=f"{_KERNELS}/grouped_convolution_backward_data_kernel.hpp",
        host_args="GroupedConvBwdDataHostArgs",
        traits_suffix="BwdData",
        a_type="OutDataType",
        b_type="WeiDataType",
        c_type="InDataType",
        name_constant="CONV_BWD_DATA_KERNEL_NAME",
        selected_kernel="SelectedConvBwdDataKernel",
        selected_launcher="SelectedConvBwdDataLauncher",
        gemm_k_factor="K_",
        gemm_k_lengths="filter_spatial_lengths_",
        result_pointer="in_ptr",
        result_factors=("G_", "N_", "C_"),
        result_lengths="input_spatial_lengths_",
        zeroing=Zeroing.ALWAYS,
        split_k=(
            # CK Tile accepts these and launches an empty grid.
            SplitKRule(
                rejected_if="k_batch < 1",
                reason="split_k = {k_batch}: a backward-data kernel does not choose it by itself",
            ),
            # CK Tile accepts these as well; some splits of every GEMM would have nothing to do.
            SplitKRule(
                rejected_if="k_batch > 1 && k_batch > reduction_steps(param)",
                reason="split_k = {k_batch} is more than the {reduction_steps(param)} MMA steps of the "
                "longest reduction",
            ),
        ),
        counts_reduction_steps=True,
        deduces_split_k=False,
    ),
    "bwd_weight": Operation(
        variant="bwd_weight",
        kernel_class="GroupedConvolutionBackwardWeightKernel",
        kernel_header=f"{_KERNELS}/grouped_convolution_backward_weight_kernel.hpp",
        host_args="GroupedConvBwdWeightHostArgs",
        traits_suffix="BwdWeight",
        a_type="OutDataType",
        b_type="InDataType",
        c_type="WeiDataType",
        name_constant="CONV_BWD_WEIGHT_KERNEL_NAME",
        selected_kernel="SelectedConvBwdWeightKernel",
        selected_launcher="SelectedConvBwdWeightLauncher",
        gemm_k_factor="N_",
        gemm_k_lengths="output_spatial_lengths_",
        result_pointer="wei_ptr",
        result_factors=("G_", "K_", "C_"),
        result_lengths="filter_spatial_lengths_",
        zeroing=Zeroing.IF_SPLIT,
        split_k=(),
        counts_reduction_steps=False,
        deduces_split_k=True,
    ),
}
