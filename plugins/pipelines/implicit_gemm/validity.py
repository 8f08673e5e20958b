"""The rules that an implicit-GEMM instance must obey to be built, as values with stable ids.

A rule sees the instance, the architecture and the API level of the CK Tile headers, and answers with a
sentence if it is broken. What depends on the problem is no business of a rule: the kernel's own support test
answers that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ckprof.model.refusal import Refusal
from ckprof_plugins.pipelines.implicit_gemm.instance import ImplicitGemmInstance
from ckprof_plugins.pipelines.implicit_gemm.operation import OPERATIONS
from ckprof_plugins.pipelines.implicit_gemm.vocabulary import (
    Epilogue,
    GemmPipeline,
    Scheduler,
    SmemBuffering,
    Specialization,
)

#: API levels of CK Tile's headers for which kernels can be written.
API_LEVELS = ("2026-06",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a rule judges: an instance and where it shall be built."""

    instance: ImplicitGemmInstance
    arch: str
    api_level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One reason not to build an instance."""

    id: str
    #: a sentence with the numbers if the rule is broken, else ``None``
    check: Callable[[Candidate], str | None]


def refusals(instance: ImplicitGemmInstance, arch: str, api_level: str) -> tuple[Refusal, ...]:
    """Return every rule that the instance breaks, in the order of :data:`RULES`."""
    candidate = Candidate(instance=instance, arch=arch, api_level=api_level)
    found = []
    for rule in RULES:
        message = rule.check(candidate)
        if message is not None:
            found.append(Refusal(rule=rule.id, message=message))
    return tuple(found)


def _api_level(candidate: Candidate) -> str | None:
    if candidate.api_level in API_LEVELS:
        return None
    known = ", ".join(API_LEVELS)
    return f"no kernel can be written for API level {candidate.api_level}, only for {known}"


def _direction(candidate: Candidate) -> str | None:
    if candidate.instance.direction in OPERATIONS:
        return None
    return f"no kernel can be written for direction {candidate.instance.direction}"


def _layout(candidate: Candidate) -> str | None:
    layout = candidate.instance.layout
    if layout.ndim != candidate.instance.ndim:
        return f"layout {layout.name} has {layout.ndim} spatial dimensions, not {candidate.instance.ndim}"
    if not layout.input.endswith("GC"):
        return f"layout {layout.name}: the channels of a group must be the fastest axis"
    return None


def _wave_divides_tile(candidate: Candidate) -> str | None:
    instance = candidate.instance
    misfits = [
        f"{axis}: {size} is no multiple of {waves} x {extent}"
        for axis, size, waves, extent in zip(
            "mnk", instance.tile.sizes, instance.wave_grid.sizes, instance.mma_tile.sizes, strict=True
        )
        if size % (waves * extent)
    ]
    if not misfits:
        return None
    return f"the waves' MMA tiles do not fill the block tile ({'; '.join(misfits)})"


def _vector_size(candidate: Candidate) -> str | None:
    wrong = [
        f"{name} is {size}"
        for name, size in zip("abc", candidate.instance.vector_sizes, strict=True)
        if size != 1 and size % 2
    ]
    return f"vector sizes must be 1 or even ({', '.join(wrong)})" if wrong else None


def _smem_buffering(candidate: Candidate) -> str | None:
    gemm_pipeline = candidate.instance.gemm_pipeline
    buffering = gemm_pipeline.facts.buffering
    doubled = candidate.instance.double_smem_buffer
    if buffering is SmemBuffering.DOUBLE and not doubled:
        return f"{gemm_pipeline.value} needs double_smem_buffer"
    if buffering is SmemBuffering.SINGLE and doubled:
        return f"{gemm_pipeline.value} has one LDS buffer, double_smem_buffer must not be set"
    return None


def _scheduler(candidate: Candidate) -> str | None:
    gemm_pipeline = candidate.instance.gemm_pipeline
    if candidate.instance.scheduler is Scheduler.INTERWAVE and not gemm_pipeline.facts.interwave:
        return f"{gemm_pipeline.value} has no interwave scheduler"
    return None


def _epilogue(candidate: Candidate) -> str | None:
    epilogue = candidate.instance.epilogue
    if epilogue is Epilogue.CSHUFFLE:
        return None
    return f"epilogue {epilogue.value} cannot be built: kernels always end in the CShuffle epilogue"


def _pads(candidate: Candidate) -> str | None:
    if all(candidate.instance.pads):
        return None
    return "kernels always pad M, N and K: a kernel without a pad would be the same kernel"


def _explicit_gemm(candidate: Candidate) -> str | None:
    instance = candidate.instance
    if not instance.explicit_gemm:
        return None
    if instance.gemm_pipeline is GemmPipeline.WAVELET:
        return "explicit_gemm does not go with wavelet"
    if instance.specialization is not Specialization.FILTER1X1_STRIDE1_PAD0:
        return f"explicit_gemm needs filter1x1_stride1_pad0, not {instance.specialization.value}"
    if instance.num_groups_to_merge != 1:
        return f"explicit_gemm cannot merge groups (num_groups_to_merge is {instance.num_groups_to_merge})"
    return None


#: All rules. Those that compare with tables of an architecture belong behind these.
RULES = (
    Rule(id="api-level", check=_api_level),
    Rule(id="direction", check=_direction),
    Rule(id="layout", check=_layout),
    Rule(id="wave-divides-tile", check=_wave_divides_tile),
    Rule(id="vector-size", check=_vector_size),
    Rule(id="smem-buffering", check=_smem_buffering),
    Rule(id="scheduler", check=_scheduler),
    Rule(id="epilogue", check=_epilogue),
    Rule(id="pads", check=_pads),
    Rule(id="explicit-gemm", check=_explicit_gemm),
)
