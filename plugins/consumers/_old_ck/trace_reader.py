"""The old library's kernels in traces and logs: symbols, type strings, instance strings.

A symbol names the matrix product inside a kernel with all of its numbers, but neither the convolution's
specialization nor its dimensions: instances that differ in these alone share it. The numbers of a list line
stand in the symbol in the same order, in groups that nothing interrupts.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

from ckprof.model.types import DataType
from ckprof_plugins.consumers._old_ck.kernels import DIRECTIONS, index_of, kernels_of
from ckprof_plugins.consumers.log_lines import calls_in, heads_of
from ckprof_plugins.consumers.records import Sighting
from ckprof_plugins.extract.mangling import ManglingError, decode

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_plugins.consumers._old_ck.kernels import KernelIndex, OldKernel
    from ckprof_plugins.consumers.records import KernelList


_FWD_V3: Final = ("fwd", ("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3",))
_FWD_LARGE: Final = ("fwd", ("DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor",))
_BWD_DATA: Final = ("bwd_data", ("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",))
_BWD_WEIGHT_V3: Final = (
    "bwd_weight",
    ("DeviceGroupedConvBwdWeight_Xdl_CShuffleV3", "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle"),
)
#: name of a device function -> direction and classes whose kernels it is
_FUNCTIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffle": (
        "fwd",
        ("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",),
    ),
    "kernel_grouped_conv_fwd_xdl_cshuffle_v3": _FWD_V3,
    "kernel_grouped_conv_fwd_xdl_cshuffle_v3_2lds": _FWD_V3,
    "kernel_grouped_conv_fwd_multiple_d_grouped_gemm_xdl_cshuffle": _FWD_LARGE,
    "kernel_grouped_conv_bwd_data_multiple_d_xdl_cshuffle": _BWD_DATA,
    "kernel_batched_gemm_xdlops_bwd_weight": ("bwd_weight", ("DeviceGroupedConvBwdWeight_Xdl_CShuffle",)),
    "kernel_grouped_conv_bwd_weight_xdl_cshuffle_v3": _BWD_WEIGHT_V3,
    "kernel_grouped_conv_bwd_weight_xdl_cshuffle_v3_2lds": _BWD_WEIGHT_V3,
}
_FUNCTION: Final = re.compile(rf"\b({'|'.join(sorted(_FUNCTIONS, key=len, reverse=True))})\b")
#: C++ types of operands -> ours
_TYPES: Final = {"_Float16": "fp16", "unsigned short": "bf16", "float": "fp32", "signed char": "s8"}
_GRIDWISE: Final = re.compile(r"\bGridwiseGemm\w*<")
_TYPE: Final = re.compile(rf"({'|'.join(_TYPES)})\b")
#: characters of a symbol, at most; those of templates have some thousands
_SYMBOL_MOST: Final = 1 << 15
#: numbers of a symbol that are compared, at most; kernels have some hundreds
_NUMBERS_MOST: Final = 1000
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
    symbol = symbol[function.start() : function.start() + _SYMBOL_MOST]
    product = _GRIDWISE.search(symbol)
    typed = _TYPE.search(symbol, product.end()) if product else None
    dtype = _TYPES[typed[1]] if typed else ""
    words = _NUMBER.findall(_ENUMERATOR.sub("", symbol))[:_NUMBERS_MOST]
    numbers = [{"true": 1, "false": 0}[word] if word.isalpha() else int(word) for word in words]
    found = [
        kernel
        for ndim in (2, 3)
        for one in ([dtype] if dtype else _TYPES.values())
        for kernel in index.all_of((direction, ndim, one))
        if kernel.complete and kernel.kind in kinds and _contains(numbers, _groups(kernel))
    ]
    return direction, dtype, found


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


_MANGLED: Final = re.compile(r"\b_Z[A-Za-z0-9_]+")
_NAMED: Final = re.compile(rf"{'|'.join(_FUNCTIONS)}|DeviceGroupedConv")
#: an operation of the library, with its arguments, anywhere in a text
_PREFIX: Final = "DeviceGroupedConv"
_OPERATION: Final = heads_of(rf"{_PREFIX}\w+")


class ComposableKernel:
    """The library itself: what traces of any program show of its kernels."""

    id = "ck"
    label = "Composable Kernel: device functions and operations in traces and logs"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say that no file is the library's: it has no databases."""
        return False

    def sightings(self, text: str, lists: Sequence[KernelList]) -> Sequence[Sighting]:
        """Return what a text says about grouped convolutions of the old library."""
        # names of functions and classes stand in symbols as they are
        readable = text
        if "_Z" in text and _NAMED.search(text):
            readable = _MANGLED.sub(lambda found: readable_name(found[0]), text)
        function = _FUNCTION.search(readable)
        names = [] if function else operations_in(readable)
        if not function and not names:
            return []
        # it takes a second to make: most lines of logs need none
        index = index_of(tuple(lists))
        direction, dtype, kernels = kernels_of_symbol(readable, index)
        if direction:
            note = "the symbol says neither specialization nor dimensions" if len(kernels) > 1 else ""
            return [
                Sighting(
                    what="device function of the old library",
                    direction=direction,
                    dtype=DataType(dtype) if dtype else None,
                    lines=tuple(kernel.source for kernel in kernels),
                    note=note if kernels else "no list has a kernel with its numbers",
                )
            ]
        return [_named(name, index) for name in names]


def operations_in(text: str) -> list[str]:
    """Return the operations with their arguments that a text has."""
    return calls_in(text, _OPERATION) if _PREFIX in text else []


def _named(name: str, index: KernelIndex) -> Sighting:
    """Return what is known of a type string or an instance string."""
    kernels = [kernel for family in index.elsewhere(name) for kernel in index.find(family, name)]
    what = "type string of an operation"
    if not kernels:
        own = kernels_of(name, "text", 0)
        if own and own[0][1].complete:
            what = "instance string of an operation"
            family, kernel = own[0]
            kernels = [
                one for one in index.find(family, kernel.names[0]) if dict(one.values) == dict(kernel.values)
            ]
    return Sighting(
        what=what,
        direction=next((id_ for part, id_ in DIRECTIONS.items() if f"Grouped{part}" in name), ""),
        lines=tuple(kernel.source for kernel in kernels),
        note="" if kernels else "no list has it",
    )


@cache
def _demangler() -> str | None:
    return ctypes.util.find_library("stdc++") or ctypes.util.find_library("c++abi")


@cache
def readable_name(mangled: str) -> str:
    """Return the readable form of a symbol; as it is where nothing can make one."""
    if len(mangled) > _SYMBOL_MOST:
        return mangled
    if not _NAMED.search(mangled):
        return mangled
    library = _demangler()
    if library:
        with suppress(OSError, AttributeError):
            demangle = ctypes.CDLL(library).__cxa_demangle
            demangle.restype = ctypes.c_void_p
            address = demangle(mangled.encode(), None, None, ctypes.byref(ctypes.c_int()))
            if address:
                text = ctypes.string_at(address).decode(errors="replace")
                ctypes.CDLL(None).free(ctypes.c_void_p(address))
                return text
    try:
        return decode(mangled)
    except (ManglingError, RecursionError):
        return mangled
