"""Conditions of forward kernels."""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers._old_ck.case import (
    LIMIT,
    SIZES,
    TOO_LARGE,
    enough_steps,
    known_arch,
    meets_specialization,
    merged_groups,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof_plugins.consumers._old_ck.case import Case


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
        axis == 1 and (problem.in_channels == 1 or merged_groups(case) == 1) and "_V3" not in case.kind
    )
    if axis == 2 and problem.in_channels % width == 0:
        return ""
    if along_groups and problem.groups % width == 0:
        return ""
    return case.divides("C", problem.in_channels, "the input is read", name) or (
        "the input is read along another axis than its channels"
    )


def _forward_weight(case: Case) -> str:
    return case.divides(
        "C", case.problem.in_channels, "the weight is read", "BBlockTransferSrcScalarPerVector"
    )


def _forward_output(case: Case) -> str:
    name = "CDEBlockTransferScalarPerVector_NPerBlock"
    return case.divides("K", case.problem.out_channels, "the output is written", name)


def _image_size(case: Case) -> str:
    """Kernels divide a batch that is too large; one image has to fit."""
    problem, size = case.problem, SIZES.get(case.dtype, 4)
    divided = "_V3" not in case.kind
    batch = 1 if divided else problem.batch
    for name, channels, lengths in (
        ("input", problem.in_channels, problem.input),
        ("output", problem.out_channels, problem.output),
    ):
        if batch * problem.groups * channels * prod(lengths) * size > LIMIT:
            what = f"one image of the {name} {TOO_LARGE}" if divided else f"the batch's {name} is above 2 GiB"
            return what
    return ""


def _forward_loop(case: Case) -> str:
    problem = case.problem
    return enough_steps(case, problem.in_channels * prod(problem.filter), 1, "C x filter")


def _two_steps(case: Case) -> str:
    """Kernels that prefetch twice need an even number of steps."""
    problem = case.problem
    step = case.number("KPerBlock", "K0PerBlock")
    if case.values.get("NumGemmKPrefetchStage") != "2" or step is None or "Bwd" in case.kind:
        return ""
    steps = ceil(problem.in_channels * prod(problem.filter) / step)
    return f"two stages of prefetching need an even number of steps, not {steps}" if steps % 2 else ""


#: in the order of the library
FORWARD: Final[tuple[Callable[[Case], str], ...]] = (
    known_arch,
    meets_specialization,
    _forward_groups,
    _forward_input,
    _forward_weight,
    _forward_output,
    _image_size,
    _forward_loop,
    _two_steps,
)
