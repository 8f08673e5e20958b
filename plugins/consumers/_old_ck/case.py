"""One kernel and one problem, and the conditions that kernels of several directions have."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_plugins.directions._convolution.problem import ConvProblem

#: bytes of an element
SIZES: Final[Mapping[str, int]] = {"fp16": 2, "bf16": 2, "fp32": 4, "s8": 1, "fp64": 8}
#: largest tensor that kernels can address
LIMIT: Final = 1 << 31
#: architectures that add bf16 values in memory
_BF16_ATOMICS: Final = ("gfx942", "gfx950", "gfx12")
#: stages of prefetching of pipelines that always have the same number
_STAGES: Final = {"v1": 1, "v3": 2, "v4": 3, "v5": 3}
#: of tensors that no kernel of a direction can address
TOO_LARGE: Final = "is larger than 2 GiB"
#: automatic number of splits
AUTOMATIC: Final = -1


@dataclass(slots=True)
class Case:
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


def known_arch(case: Case) -> str:
    if case.values.get("DirectLoad") in ("true", "1") and case.arch and case.arch != "gfx950":
        return f"direct loads need gfx950, not {case.arch}"
    if case.arch and not case.arch.startswith("gfx9"):
        return f"matrix instructions of the XDL kind are not known on {case.arch}"
    return ""


def meets_specialization(case: Case) -> str:
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


def merged_groups(case: Case) -> int:
    """Return how many groups a tile of the kernel holds."""
    text = case.values.get("NumGroupsToMerge", "1")
    return int(text) if text.isdigit() else 1


def enough_steps(case: Case, length: int, splits: int, what: str) -> str:
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


def _stages(case: Case, version: str) -> int | None:
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


def has_atomics(case: Case) -> str:
    if case.dtype == "bf16" and case.arch and not case.arch.startswith(_BF16_ATOMICS):
        return f"{case.arch} cannot add bf16 values in memory"
    return ""


def addressable(case: Case) -> str:
    problem, size = case.problem, SIZES.get(case.dtype, 4)
    for name, channels, lengths in (
        ("input", problem.in_channels, problem.input),
        ("output", problem.out_channels, problem.output),
    ):
        if problem.batch * problem.groups * channels * prod(lengths) * size > LIMIT:
            return f"the {name} {TOO_LARGE}"
    return ""
