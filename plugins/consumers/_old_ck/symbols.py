"""Kernels of the old library by the symbols of their device functions.

A symbol names the matrix product inside a kernel with all of its numbers, but neither the convolution's
specialization nor its dimensions: instances that differ in these alone share it. The numbers of a list line
stand in the symbol in the same order, in groups that nothing interrupts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ckprof_plugins.consumers._old_ck.kernels import KernelIndex, OldKernel

#: name of a device function -> direction and classes whose kernels it is
_FUNCTIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffle": (
        "fwd",
        ("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",),
    ),
    "kernel_grouped_conv_fwd_xdl_cshuffle_v3": ("fwd", ("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3",)),
    "kernel_grouped_conv_fwd_xdl_cshuffle_v3_2lds": (
        "fwd",
        ("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3",),
    ),
    "kernel_grouped_conv_fwd_multiple_d_grouped_gemm_xdl_cshuffle": (
        "fwd",
        ("DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor",),
    ),
    "kernel_grouped_conv_bwd_data_multiple_d_xdl_cshuffle": (
        "bwd_data",
        ("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",),
    ),
    "kernel_batched_gemm_xdlops_bwd_weight": ("bwd_weight", ("DeviceGroupedConvBwdWeight_Xdl_CShuffle",)),
    "kernel_grouped_conv_bwd_weight_xdl_cshuffle_v3": (
        "bwd_weight",
        ("DeviceGroupedConvBwdWeight_Xdl_CShuffleV3", "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle"),
    ),
    "kernel_grouped_conv_bwd_weight_xdl_cshuffle_v3_2lds": (
        "bwd_weight",
        ("DeviceGroupedConvBwdWeight_Xdl_CShuffleV3", "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle"),
    ),
}
_FUNCTION: Final = re.compile(rf"\b({'|'.join(sorted(_FUNCTIONS, key=len, reverse=True))})\b")
#: C++ types of operands -> ours
_TYPES: Final = {"_Float16": "fp16", "unsigned short": "bf16", "float": "fp32", "signed char": "s8"}
_FIRST_TYPE: Final = re.compile(rf"\bGridwiseGemm\w*<.*?({'|'.join(_TYPES)})\b")
#: numbers of template arguments, not those of enumerators, of names or of types
_NUMBER: Final = re.compile(r"(?<![\w(:.)])-?\d+(?![\w.])|\b(?:true|false)\b")
_ENUMERATOR: Final = re.compile(r"\([\w:]+\)-?\d+")
_INTEGERS: Final = re.compile(r"-?\d+")
#: parameters that stand in a symbol one after the other; names of classes differ in their beginnings
_GROUPS: Final = (
    (r"BlockSize",),
    (r"MPerBlock", r"NPerBlock", r"K0?PerBlock"),
    (r"MPerXDL", r"NPerXDL"),
    (r"MXdlPerWave", r"NXdlPerWave"),
    *(
        (
            rf"{side}BlockTransferThreadClusterLengths_\w+",
            rf"{side}BlockTransferThreadClusterArrangeOrder",
            rf"{side}BlockTransferSrcAccessOrder",
            rf"{side}BlockTransferSrcVectorDim",
            rf"{side}BlockTransferSrcScalarPerVector",
            rf"{side}BlockTransferDstScalarPerVector_\w+",
        )
        for side in "AB"
    ),
    (r"CShuffleMXdlPerWavePerShuffle", r"CShuffleNXdlPerWavePerShuffle"),
    (r"C(?:DE)?BlockTransferClusterLengths_\w+",),
)


def kernels_of_symbol(symbol: str, index: KernelIndex) -> tuple[str, str, list[OldKernel]]:
    """Return direction, type and kernels of a readable symbol; empty texts for one of another function."""
    function = _FUNCTION.search(symbol)
    if function is None:
        return "", "", []
    direction, kinds = _FUNCTIONS[function[1]]
    typed = _FIRST_TYPE.search(symbol)
    dtype = _TYPES[typed[1]] if typed else ""
    numbers = _numbers(symbol)
    found = [
        kernel
        for ndim in (2, 3)
        for one in ([dtype] if dtype else _TYPES.values())
        for kernel in index.all_of((direction, ndim, one))
        if kernel.complete and kernel.kind in kinds and _contains(numbers, _groups(kernel))
    ]
    return direction, dtype, found


def _numbers(symbol: str) -> list[int]:
    plain = _ENUMERATOR.sub("", symbol)
    values = {"true": 1, "false": 0}
    return [values[text] if text in values else int(text) for text in _NUMBER.findall(plain)]


def _groups(kernel: OldKernel) -> Iterator[list[int]]:
    for patterns in _GROUPS:
        group: list[int] = []
        for pattern in patterns:
            text = next((value for name, value in kernel.values.items() if re.fullmatch(pattern, name)), "")
            group += map(int, _INTEGERS.findall(text))
        yield group


def _contains(numbers: Sequence[int], groups: Iterator[list[int]]) -> bool:
    """Say whether groups of numbers stand in a sequence in their order."""
    position = 0
    for group in groups:
        end = len(numbers) - len(group)
        while position <= end and list(numbers[position : position + len(group)]) != group:
            position += 1
        if position > end:
            return False
        position += len(group)
    return True
