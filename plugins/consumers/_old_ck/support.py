"""Which problems the old library's device operations support: ``IsSupportedArgument``, without a device.

Conditions are those of the library in November 2025, for channels-last layouts, in its order; where a program
owns other layouts it transposes them first. The first condition that is not met is named. A condition on a
parameter that a line does not say is passed over, and :attr:`Verdict.partial` says so. That a workspace was
set is taken for granted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil, gcd, prod
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers._old_ck.kernels import EXPLICIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof_plugins.consumers._old_ck.kernels import OldKernel
    from ckprof_plugins.directions._convolution.problem import ConvProblem

#: bytes of an element
SIZES: Final[Mapping[str, int]] = {"fp16": 2, "bf16": 2, "fp32": 4, "s8": 1, "fp64": 8}
#: largest tensor that kernels can address
_LIMIT: Final = 1 << 31
#: architectures that add bf16 values in memory
_BF16_ATOMICS: Final = ("gfx942", "gfx950", "gfx12")
#: stages of prefetching of pipelines that always have the same number
_STAGES: Final = {"v1": 1, "v3": 2, "v4": 3, "v5": 3}
#: of tensors that no kernel of a direction can address
TOO_LARGE: Final = "is larger than 2 GiB"
#: automatic number of splits
AUTOMATIC: Final = -1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a kernel supports a problem."""

    #: the condition that is not met; empty if all are
    unmet: str = ""
    #: true where some conditions could not be judged
    partial: bool = False


@dataclass(slots=True)
class _Case:
    """One kernel and one problem."""

    values: Mapping[str, str]
    kind: str
    specialization: str
    problem: ConvProblem
    dtype: str
    splits: int
    arch: str
    partial: bool = False

    def number(self, *names: str) -> int | None:
        """Return a parameter by any of its names; ``None``, noted, where the line does not say it."""
        for name in names:
            if self.values.get(name, "").isdigit():
                return int(self.values[name])
        self.partial = True
        return None

    def divides(self, channels: str, count: int, what: str, *names: str) -> str:
        """Return the condition that a vector divides a number of channels, if it is not met."""
        width = self.number(*names)
        if width and count % width:
            return f"{what} by vectors of {width}, which do not divide {channels} = {count} per group"
        return ""


def support(kernel: OldKernel, problem: ConvProblem, dtype: str, splits: int, arch: str) -> Verdict:
    """Say whether a kernel supports a problem.

    :param dtype: name of the type of the operands, e.g. ``fp16``.
    :param splits: parts of the reduction, or :data:`AUTOMATIC`.
    :param arch: architecture; empty where it is not known, which no condition then depends on.
    """
    case = _Case(kernel.values, kernel.kind, kernel.specialization, problem, dtype, splits, arch)
    rules = _EXPLICIT_RULES if kernel.kind == EXPLICIT else _RULES[_direction(kernel.kind)]
    for rule in rules:
        unmet = rule(case)
        if unmet:
            return Verdict(unmet, case.partial)
    return Verdict("", case.partial)


#: parameters that conditions depend on
_READ: Final = re.compile(
    r".*(?:ScalarPerVector.*|SrcVectorDim|Specialization)|NumGroupsToMerge|BlkGemmPipelineVer|DirectLoad|stages"
    r"|K0?PerBlock|NumGemmKPrefetchStage|WeiDataType|GemmSpec|CVectors|[AB]K1"
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


def _direction(kind: str) -> str:
    return next(part for part in _RULES if part in kind)


def _arch(case: _Case) -> str:
    if case.values.get("DirectLoad") in ("true", "1") and case.arch and case.arch != "gfx950":
        return f"direct loads need gfx950, not {case.arch}"
    if case.arch and not case.arch.startswith("gfx9"):
        return f"matrix instructions of the XDL kind are not known on {case.arch}"
    return ""


def _specialization(case: _Case) -> str:
    problem, wanted = case.problem, case.specialization
    pads = any(problem.left_pads) or any(problem.right_pads)
    if wanted in ("Filter1x1Pad0", "Filter1x1Stride1Pad0"):
        if set(problem.filter) != {1}:
            return f"{wanted} needs a filter of 1"
        if pads:
            return f"{wanted} needs pads of 0"
    if wanted == "Filter1x1Stride1Pad0" and set(problem.strides) != {1}:
        return f"{wanted} needs strides of 1"
    if wanted == "Filter3x3":
        if problem.in_channels != 1:
            return f"Filter3x3 needs one input channel per group, not {problem.in_channels}"
        if set(problem.filter) != {3}:
            return "Filter3x3 needs a filter of 3"
    return ""


def _merged(case: _Case) -> int:
    """Return how many groups a tile of the kernel holds."""
    text = case.values.get("NumGroupsToMerge", "1")
    return int(text) if text.isdigit() else 1


def _forward_groups(case: _Case) -> str:
    merged, problem = _merged(case), case.problem
    if merged > 1 and problem.in_channels != 1:
        return f"{merged} merged groups need one input channel per group, not {problem.in_channels}"
    if merged > 1 and problem.groups % merged:
        return f"{merged} merged groups do not divide {problem.groups} groups"
    return ""


def _forward_input(case: _Case) -> str:
    problem = case.problem
    name = "ABlockTransferSrcScalarPerVector"
    width, axis = case.number(name), case.number("ABlockTransferSrcVectorDim")
    if width is None:
        return ""
    if axis is None:
        axis = 2 if problem.in_channels % width == 0 else 1
    along_groups = axis == 1 and (problem.in_channels == 1 or _merged(case) == 1) and "_V3" not in case.kind
    if axis == 2 and problem.in_channels % width == 0:
        return ""
    if along_groups and problem.groups % width == 0:
        return ""
    return case.divides("C", problem.in_channels, "the input is read", name) or (
        "the input is read along another axis than its channels"
    )


def _forward_weight(case: _Case) -> str:
    return case.divides(
        "C", case.problem.in_channels, "the weight is read", "BBlockTransferSrcScalarPerVector"
    )


def _forward_output(case: _Case) -> str:
    name = "CDEBlockTransferScalarPerVector_NPerBlock"
    return case.divides("K", case.problem.out_channels, "the output is written", name)


def _image_size(case: _Case) -> str:
    """Kernels divide a batch that is too large; one image has to fit."""
    problem, size = case.problem, SIZES.get(case.dtype, 4)
    divided = "_V3" not in case.kind
    batch = 1 if divided else problem.batch
    for name, channels, lengths in (
        ("input", problem.in_channels, problem.input),
        ("output", problem.out_channels, problem.output),
    ):
        if batch * problem.groups * channels * prod(lengths) * size > _LIMIT:
            what = f"one image of the {name} {TOO_LARGE}" if divided else f"the batch's {name} is above 2 GiB"
            return what
    return ""


def _forward_loop(case: _Case) -> str:
    problem = case.problem
    return _loop(case, problem.in_channels * prod(problem.filter), 1, "C x filter")


def _loop(case: _Case, length: int, splits: int, what: str) -> str:
    """Return what is wrong with the number of steps along the reduction, for pipelines that prefetch."""
    version = case.values.get("BlkGemmPipelineVer", "")
    step = case.number("KPerBlock", "K0PerBlock")
    if not version or version == "v1" or step is None:
        return ""
    steps = ceil(length / (step * splits))
    stages = _stages(case, version)
    if stages is not None and steps <= stages:
        return (
            f"pipeline {version} prefetches {stages} steps of {step} and needs more than that: "
            f"{what} = {length}" + (f" in {splits} splits" if splits > 1 else "") + f" has {steps}"
        )
    return ""


def _stages(case: _Case, version: str) -> int | None:
    """Return the steps that a pipeline reads ahead; of ``v2`` so many that the memory is kept busy."""
    if case.values.get("stages", "").isdigit():
        return int(case.values["stages"])
    if version == "v4" and case.values.get("DirectLoad") in ("true", "1"):
        return 2
    if version != "v2":
        return _STAGES.get(version)
    sizes = [case.number(name) for name in ("BlockSize", "MPerBlock", "NPerBlock")]
    block, m, n = sizes
    k = case.number("KPerBlock", "K0PerBlock")
    if block is None or m is None or n is None or k is None:
        return None
    waves = max(1, 256 // block)
    full = ceil(32768 // waves / ((m + n) * SIZES.get(case.dtype, 4) * k))
    return min(max(full, 2), 8)


def _two_steps(case: _Case) -> str:
    """Kernels that prefetch twice need an even number of steps."""
    problem = case.problem
    step = case.number("KPerBlock", "K0PerBlock")
    if case.values.get("NumGemmKPrefetchStage") != "2" or step is None or "Bwd" in case.kind:
        return ""
    steps = ceil(problem.in_channels * prod(problem.filter) / step)
    return f"two stages of prefetching need an even number of steps, not {steps}" if steps % 2 else ""


def _data_split(case: _Case) -> str:
    if case.splits == AUTOMATIC or case.splits < 1:
        return "the number of splits must be at least 1: backward data does not choose it itself"
    if case.splits == 1:
        return ""
    size = SIZES.get(case.dtype, 4)
    width = case.number("CDEBlockTransferScalarPerVector_NPerBlock")
    if width is not None and width % 2 and size % 4:
        return f"splits need results of 4 bytes or vectors of an even number of elements, not {width}"
    return _atomics(case)


def _atomics(case: _Case) -> str:
    if case.dtype == "bf16" and case.arch and not case.arch.startswith(_BF16_ATOMICS):
        return f"{case.arch} cannot add bf16 values in memory"
    return ""


def _data_vectors(case: _Case) -> str:
    problem = case.problem
    return (
        case.divides("K", problem.out_channels, "the output is read", "ABlockTransferSrcScalarPerVector")
        or case.divides("C", problem.in_channels, "the weight is read", "BBlockTransferSrcScalarPerVector")
        or case.divides(
            "C", problem.in_channels, "the input is written", "CDEBlockTransferScalarPerVector_NPerBlock"
        )
    )


def _tensor_sizes(case: _Case) -> str:
    problem, size = case.problem, SIZES.get(case.dtype, 4)
    for name, channels, lengths in (
        ("input", problem.in_channels, problem.input),
        ("output", problem.out_channels, problem.output),
    ):
        if problem.batch * problem.groups * channels * prod(lengths) * size > _LIMIT:
            return f"the {name} {TOO_LARGE}"
    return ""


def _weight_split(case: _Case) -> str:
    if case.splits == AUTOMATIC:
        if "TwoStage" in case.kind:
            return ""
        return "kernels with one stage do not choose the number of splits themselves"
    if case.splits < 1:
        return f"the number of splits is {case.splits}, expected at least 1, or -1 for an automatic one"
    one_stage = "TwoStage" not in case.kind
    always = one_stage and "V3" not in case.kind
    if one_stage and (always or case.splits > 1) and case.values.get("WeiDataType", case.dtype) == "bf16":
        return _atomics(case)
    return ""


def _weight_loop(case: _Case) -> str:
    problem = case.problem
    splits = max(case.splits, 1)
    if case.splits == AUTOMATIC:
        return ""
    return _loop(case, problem.batch * prod(problem.output), splits, "N x output")


def _weight_groups(case: _Case) -> str:
    merged, problem = _merged(case), case.problem
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


def _weight_vectors(case: _Case) -> str:
    problem = case.problem
    output = case.divides("K", problem.out_channels, "the output is read", "ABlockTransferSrcScalarPerVector")
    read = case.divides("C", problem.in_channels, "the input is read", "BBlockTransferSrcScalarPerVector")
    if "TwoStage" in case.kind:
        width = case.number("BBlockTransferSrcScalarPerVector") or 1
        unpadded = not problem.left_pads[-1] and not problem.right_pads[-1]
        if read and problem.groups == 1 and unpadded and not problem.in_channels * problem.filter[-1] % width:
            read = ""
        # of merged groups, one channel each lies beside the next
        if _merged(case) > 1 and problem.in_channels == problem.out_channels == 1:
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


def _pointwise(case: _Case) -> str:
    case.specialization = "Filter1x1Stride1Pad0"
    return _specialization(case)


def _product(case: _Case) -> str:
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


def _explicit_split(case: _Case) -> str:
    if case.splits < 1 and case.splits != AUTOMATIC:
        return f"the number of splits is {case.splits}, expected at least 1, or -1 for an automatic one"
    return ""


#: part of the names of classes -> their conditions
_RULES: Final[Mapping[str, tuple[Callable[[_Case], str], ...]]] = {
    "ConvFwd": (
        _arch,
        _specialization,
        _forward_groups,
        _forward_input,
        _forward_weight,
        _forward_output,
        _image_size,
        _forward_loop,
        _two_steps,
    ),
    "ConvBwdData": (_arch, _data_split, _specialization, _data_vectors, _tensor_sizes),
    "ConvBwdWeight": (
        _arch,
        _weight_split,
        _weight_loop,
        _specialization,
        _weight_groups,
        _weight_vectors,
        _tensor_sizes,
    ),
}
_EXPLICIT_RULES: Final[tuple[Callable[[_Case], str], ...]] = (
    _arch,
    _explicit_split,
    _pointwise,
    _product,
    _weight_loop,
    _tensor_sizes,
)
