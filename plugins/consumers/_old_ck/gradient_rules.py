"""Conditions of kernels for both gradients."""

from __future__ import annotations

from math import ceil, gcd, prod
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers._old_ck.case import (
    AUTOMATIC,
    SIZES,
    addressable,
    enough_steps,
    has_atomics,
    known_arch,
    meets_specialization,
    merged_groups,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof_plugins.consumers._old_ck.case import Case


def _data_split(case: Case) -> str:
    if case.splits == AUTOMATIC or case.splits < 1:
        return "the number of splits must be at least 1: backward data does not choose it itself"
    if case.splits == 1:
        return ""
    size = SIZES.get(case.dtype, 4)
    width = case.number("CDEBlockTransferScalarPerVector_NPerBlock")
    if width is not None and width % 2 and size % 4:
        return f"splits need results of 4 bytes or vectors of an even number of elements, not {width}"
    return has_atomics(case)


def _data_vectors(case: Case) -> str:
    problem = case.problem
    return (
        case.divides("K", problem.out_channels, "the output is read", "ABlockTransferSrcScalarPerVector")
        or case.divides("C", problem.in_channels, "the weight is read", "BBlockTransferSrcScalarPerVector")
        or case.divides(
            "C", problem.in_channels, "the input is written", "CDEBlockTransferScalarPerVector_NPerBlock"
        )
    )


def _weight_split(case: Case) -> str:
    if case.splits == AUTOMATIC:
        if "TwoStage" in case.kind:
            return ""
        return "kernels with one stage do not choose the number of splits themselves"
    if case.splits < 1:
        return f"the number of splits is {case.splits}, expected at least 1, or -1 for an automatic one"
    one_stage = "TwoStage" not in case.kind
    always = one_stage and "V3" not in case.kind
    if one_stage and (always or case.splits > 1) and case.values.get("WeiDataType", case.dtype) == "bf16":
        return has_atomics(case)
    return ""


def _weight_loop(case: Case) -> str:
    problem = case.problem
    splits = max(case.splits, 1)
    if case.splits == AUTOMATIC:
        return ""
    return enough_steps(case, problem.batch * prod(problem.output), splits, "N x output")


def _weight_groups(case: Case) -> str:
    merged, problem = merged_groups(case), case.problem
    if merged == 1:
        return ""
    if problem.in_channels != 1 or problem.out_channels != 1:
        return f"{merged} merged groups need one input and one output channel per group"
    if problem.groups % merged:
        return f"{merged} merged groups do not divide {problem.groups} groups"
    m, n = case.number("MPerBlock"), case.number("NPerBlock")
    if m is not None and merged > m:
        return f"{merged} merged groups do not fit into a tile of {m} rows"
    if n is not None and merged * prod(problem.filter) > n:
        return f"{merged} merged groups of {prod(problem.filter)} taps do not fit into a tile of {n} columns"
    return ""


def _weight_vectors(case: Case) -> str:
    problem = case.problem
    output = case.divides("K", problem.out_channels, "the output is read", "ABlockTransferSrcScalarPerVector")
    read = case.divides("C", problem.in_channels, "the input is read", "BBlockTransferSrcScalarPerVector")
    if "TwoStage" in case.kind:
        width = case.number("BBlockTransferSrcScalarPerVector") or 1
        unpadded = not problem.left_pads[-1] and not problem.right_pads[-1]
        if read and problem.groups == 1 and unpadded and not problem.in_channels * problem.filter[-1] % width:
            read = ""
        # of merged groups, one channel each lies beside the next
        if merged_groups(case) > 1 and problem.in_channels == problem.out_channels == 1:
            output = read = ""
    return (
        output
        or read
        or case.divides(
            "C",
            problem.in_channels,
            "the weight is written",
            "CBlockTransferScalarPerVector_NWaveNPerXdl",
        )
    )


def _pointwise(case: Case) -> str:
    case.specialization = "Filter1x1Stride1Pad0"
    return meets_specialization(case)


def _product(case: Case) -> str:
    """Weight gradients as a product of matrices: M = K, N = C, reduction over batch and output."""
    problem, padding = case.problem, case.values.get("GemmSpec", "Default").removesuffix("Padding")
    sizes = {"M": problem.out_channels, "N": problem.in_channels, "K": problem.batch * prod(problem.output)}
    splits = max(case.splits, 1)
    for axis in "MN":
        tile = case.number(f"{axis}PerBlock")
        if tile and axis not in padding and sizes[axis] % tile:
            return f"without padding, tiles of {tile} do not divide {axis} = {sizes[axis]}"
    step = case.number("KPerBlock")
    if step and "K" not in padding:
        if sizes["K"] % (splits * step):
            return f"without padding, {splits} x {step} does not divide N x output = {sizes['K']}"
    elif "K" in padding:
        first, second = case.number("AK1"), case.number("BK1")
        if first and second:
            vector = first * second // gcd(first, second)
            part = ceil(sizes["K"] / (splits * vector)) * vector
            if part * (splits - 1) >= sizes["K"]:
                return (
                    f"{splits} splits of {part} leave nothing of N x output = {sizes['K']} for the last one"
                )
    return (
        case.divides("K", sizes["M"], "the output is read", "ABlockTransferSrcScalarPerVector")
        or case.divides("C", sizes["N"], "the input is read", "BBlockTransferSrcScalarPerVector")
        or case.divides("C", sizes["N"], "the weight is written", "CVectors")
    )


def _explicit_split(case: Case) -> str:
    if case.splits < 1 and case.splits != AUTOMATIC:
        return f"the number of splits is {case.splits}, expected at least 1, or -1 for an automatic one"
    return ""


#: in the order of the library
BACKWARD_DATA: Final[tuple[Callable[[Case], str], ...]] = (
    known_arch,
    _data_split,
    meets_specialization,
    _data_vectors,
    addressable,
)
BACKWARD_WEIGHT: Final[tuple[Callable[[Case], str], ...]] = (
    known_arch,
    _weight_split,
    _weight_loop,
    meets_specialization,
    _weight_groups,
    _weight_vectors,
    addressable,
)
EXPLICIT_PRODUCT: Final[tuple[Callable[[Case], str], ...]] = (
    known_arch,
    _explicit_split,
    _pointwise,
    _product,
    _weight_loop,
    addressable,
)
