"""What the C++ text of a kernel says differently for each direction."""

from __future__ import annotations

from dataclasses import dataclass


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
    #: which of the Config's types are first operand, second operand and result
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


#: Direction id -> names; a direction that is not here cannot be built.
OPERATIONS = {
    "fwd": Operation(
        variant="forward",
        kernel_class="GroupedConvolutionForwardKernel",
        kernel_header="ck_tile/ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp",
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
    ),
}
