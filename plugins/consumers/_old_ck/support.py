"""Which problems the old library's device operations support: ``IsSupportedArgument``, without a device.

Conditions are those of the library in November 2025, for channels-last layouts, in its order; where a program
owns other layouts it transposes them first. The first condition that is not met is named. A condition on a
parameter that a line does not say is passed over, and :attr:`Case.partial` says so. That a
workspace was set is taken for granted.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from math import ceil, gcd, prod
from operator import methodcaller
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers._old_ck.kernels import (
    AUTOMATIC,
    EXPLICIT,
    SIZES,
    TOO_LARGE,
    Case,
    addressable,
    enough_steps,
    has_atomics,
    known_arch,
    meets_specialization,
    merged_groups,
    too_large,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof_plugins.consumers._old_ck.kernels import Family, KernelIndex, OldKernel
    from ckprof_plugins.directions._convolution.problem import ConvProblem


def _data_split(case: Case) -> str:
    if case.splits == AUTOMATIC or case.splits < 1:
        return "the number of splits must be at least 1: backward data does not choose it itself"
    if case.splits == 1:
        return ""
    size = SIZES.get(case.dtype, 4)
    width = case.number("CDEBlockTransferScalarPerVector_NPerBlock")
    if width is not None and width % 2 and size % 4:
        return f"splits need results of 4 bytes or vectors of an even number of elements, not {width}"
    operation = case.kernel.values.get("CDEElementwiseOp", "PassThrough")
    if operation != "PassThrough":
        return f"splits are added up in memory, where {operation} would be done for each of them"
    return has_atomics(case)


def _data_vectors(case: Case) -> str:
    return (
        case.divides("K", "the output is read", "ABlockTransferSrcScalarPerVector")
        or case.divides("C", "the weight is read", "BBlockTransferSrcScalarPerVector")
        or case.divides("C", "the input is written", "CDEBlockTransferScalarPerVector_NPerBlock")
    )


def _weight_split(case: Case) -> str:
    if case.splits == AUTOMATIC:
        if "TwoStage" in case.kernel.kind:
            return ""
        return "kernels with one stage do not choose the number of splits themselves"
    if case.splits < 1:
        return f"the number of splits is {case.splits}, expected at least 1, or -1 for an automatic one"
    # kernels with D tensors add splits up in a workspace of fp32
    one_stage = not any(part in case.kernel.kind for part in ("TwoStage", "MultipleD"))
    always = one_stage and "V3" not in case.kernel.kind
    if (
        one_stage
        and (always or case.splits > 1)
        and case.kernel.values.get("WeiDataType", case.dtype) == "bf16"
    ):
        return has_atomics(case)
    return ""


def _weight_loop(case: Case) -> str:
    problem = case.problem
    splits = max(case.splits, 1)
    if case.splits == AUTOMATIC:
        # how many steps a part has follows from the device
        case.partial |= case.kernel.values.get("BlkGemmPipelineVer", "v1") != "v1"
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


def _reads_on(case: Case) -> bool:
    """Say whether vectors of two stages may go on in the next column of the filter, where the image does."""
    problem, width = case.problem, case.number("BBlockTransferSrcScalarPerVector") or 1
    unpadded = not problem.left_pads[-1] and not problem.right_pads[-1]
    return problem.groups == 1 and unpadded and not problem.in_channels * problem.filter[-1] % width


def _weight_vectors(case: Case) -> str:
    problem = case.problem
    output = case.divides("K", "the output is read", "ABlockTransferSrcScalarPerVector")
    read = case.divides("C", "the input is read", "BBlockTransferSrcScalarPerVector")
    if "TwoStage" in case.kernel.kind:
        if _reads_on(case):
            read = ""
        # of merged groups, one channel each lies beside the next
        if merged_groups(case) > 1 and problem.in_channels == problem.out_channels == 1:
            output = read = ""
    written = "the weight is written", "CBlockTransferScalarPerVector_NWaveNPerXdl"
    return output or read or case.divides("C", *written)


def _product(case: Case) -> str:
    """Weight gradients as a product of matrices: M = K, N = C, reduction over batch and output."""
    problem, padding = case.problem, case.kernel.values.get("GemmSpec", "Default").removesuffix("Padding")
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
        case.divides("K", "the output is read", "ABlockTransferSrcScalarPerVector")
        or case.divides("C", "the input is read", "BBlockTransferSrcScalarPerVector")
        or case.divides("C", "the weight is written", "CVectors")
    )


def _explicit_split(case: Case) -> str:
    if case.splits < 1 and case.splits != AUTOMATIC:
        return f"the number of splits is {case.splits}, expected at least 1, or -1 for an automatic one"
    return ""


def _forward_groups(case: Case) -> str:
    merged, problem = merged_groups(case), case.problem
    if merged > 1 and problem.in_channels != 1:
        return f"{merged} merged groups need one input channel per group, not {problem.in_channels}"
    if merged > 1 and problem.groups % merged:
        return f"{merged} merged groups do not divide {problem.groups} groups"
    return ""


def _forward_input(case: Case) -> str:
    problem = case.problem
    name = "ABlockTransferSrcScalarPerVector"
    width, axis = case.number(name), case.number("ABlockTransferSrcVectorDim")
    if width is None:
        return ""
    if axis is None:
        axis = 2 if problem.in_channels % width == 0 else 1
    along_groups = (
        axis == 1 and (problem.in_channels == 1 or merged_groups(case) == 1) and "_V3" not in case.kernel.kind
    )
    if axis == 2 and problem.in_channels % width == 0:
        return ""
    if along_groups and problem.groups % width == 0:
        return ""
    return case.divides("C", "the input is read", name) or (
        "the input is read along another axis than its channels"
    )


def _image_size(case: Case) -> str:
    """Kernels divide a batch that is too large; one image has to fit."""
    divided = "_V3" not in case.kernel.kind
    name = too_large(case, 1 if divided else case.problem.batch)
    if not name:
        return ""
    return f"one image of the {name} {TOO_LARGE}" if divided else f"the batch's {name} is above 2 GiB"


def _forward_loop(case: Case) -> str:
    problem = case.problem
    return enough_steps(case, problem.in_channels * prod(problem.filter), 1, "C x filter")


def _two_steps(case: Case) -> str:
    """Kernels that prefetch twice need an even number of steps."""
    problem = case.problem
    step = case.number("KPerBlock", "K0PerBlock")
    if case.kernel.values.get("NumGemmKPrefetchStage") != "2" or step is None or "Bwd" in case.kernel.kind:
        return ""
    steps = ceil(problem.in_channels * prod(problem.filter) / step)
    return f"two stages of prefetching need an even number of steps, not {steps}" if steps % 2 else ""


#: part of the names of classes -> their conditions in the order of the library, each of which returns what is
#: not met; the first part that fits holds
_RULES: Final[Mapping[str, tuple[Callable[[Case], str], ...]]] = {
    EXPLICIT: (
        *(known_arch, _explicit_split, partial(meets_specialization, wanted="Filter1x1Stride1Pad0")),
        *(_product, _weight_loop, addressable),
    ),
    "ConvFwd": (
        *(known_arch, meets_specialization, _forward_groups, _forward_input),
        methodcaller("divides", "C", "the weight is read", "BBlockTransferSrcScalarPerVector"),
        methodcaller("divides", "K", "the output is written", "CDEBlockTransferScalarPerVector_NPerBlock"),
        *(_image_size, _forward_loop, _two_steps),
    ),
    "ConvBwdData": (known_arch, _data_split, meets_specialization, _data_vectors, addressable),
    "ConvBwdWeight": (
        *(known_arch, _weight_split, _weight_loop, meets_specialization, _weight_groups),
        *(_weight_vectors, addressable),
    ),
}


def support(kernel: OldKernel, problem: ConvProblem, dtype: str, splits: int, arch: str) -> Case:
    """Say whether a kernel supports a problem.

    :param dtype: name of the type of the operands, e.g. ``fp16``.
    :param splits: parts of the reduction, or :data:`AUTOMATIC`.
    :param arch: architecture; empty where it is not known, which no condition then depends on.
    """
    case = Case(kernel, problem, dtype, splits, arch)
    rules = next(rules for part, rules in _RULES.items() if part in kernel.kind)
    case.unmet = next(filter(None, (rule(case) for rule in rules)), "")
    return case


def wrong_elements(case: Case) -> str:
    """Return what a kernel reads wrongly of a problem that its own test supports; empty if nothing is known.

    Seen on the emulated device (``docs/old-ck.md`` of the package of old kernels).
    """
    problem, width = case.problem, case.number("BBlockTransferSrcScalarPerVector") or 1
    across = "TwoStage" in case.kernel.kind and problem.in_channels % width and _reads_on(case)
    if not across or problem.dilations[-1] == 1:
        return ""
    return (
        f"vectors of {width}, which do not divide C = {problem.in_channels}, take elements of the "
        f"filter's next column from the input's next one, although the dilation is {problem.dilations[-1]}"
    )


#: parameters that conditions depend on
_READ: Final = re.compile(
    r".*(?:ScalarPerVector.*|SrcVectorDim|Specialization)|NumGroupsToMerge|BlkGemmPipelineVer|DirectLoad|stages"
    r"|K0?PerBlock|NumGemmKPrefetchStage|WeiDataType|GemmSpec|CVectors|[AB]K1|CDEElementwiseOp"
)
#: those that conditions of some kernels alone depend on
_READ_OF_SOME: Final = ("BlockSize", "MPerBlock", "NPerBlock")


def demands_of(kernel: OldKernel) -> tuple[str, ...]:
    """Return all that conditions of a kernel depend on: kernels with equal ones support the same."""
    values = kernel.values
    some = (
        values.get("NumGroupsToMerge", "1") != "1"
        or values.get("BlkGemmPipelineVer") == "v2"
        or kernel.kind == EXPLICIT
    )
    read = [f"{name}={text}" for name, text in values.items() if _READ.fullmatch(name)]
    return (kernel.kind, *read, *([values.get(name, "") for name in _READ_OF_SOME] if some else ()))


@lru_cache(maxsize=1 << 14)
def why_none(
    index: KernelIndex, family: Family, problem: ConvProblem, arch: str, is_large: bool = False
) -> str:
    """Return why no kernel of a family supports a problem; empty if one does.

    :param is_large: whether kernels for large tensors alone count.
    """
    least = "no list has kernels for large tensors" if is_large else ""
    for kernel in _by_demand(index, family):
        if is_large and "Large_Tensor" not in kernel.kind:
            continue
        unmet = support(kernel, problem, family[2], 1, arch).unmet
        if not unmet:
            return ""
        least = least or unmet
        if TOO_LARGE in unmet:
            break
    return f"no kernel supports the problem; the one that demands least: {least}" if least else ""


@lru_cache(maxsize=64)
def _by_demand(index: KernelIndex, family: Family) -> list[OldKernel]:
    """Return a kernel of each kind of demands, those first that demand least: most problems have one."""
    alike = {demands_of(kernel): kernel for kernel in index.all_of(family)}
    return sorted(alike.values(), key=_demand)


def _demand(kernel: OldKernel) -> tuple[bool, bool, int]:
    """Return by what kernels are ordered: specialization, pipeline, widths of all vectors."""
    widths = [
        int(text) for name, text in kernel.values.items() if "ScalarPerVector" in name and text.isdigit()
    ]
    late = kernel.values.get("BlkGemmPipelineVer", "v1") != "v1"
    return kernel.specialization not in ("Default", "OddC"), late, sum(widths)
