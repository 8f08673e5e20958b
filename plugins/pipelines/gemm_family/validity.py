"""The rules that every GEMM instance must obey to be built."""

from __future__ import annotations

from ckprof.model.dtype import DataType
from ckprof_plugins.pipelines.gemm_family.instance import GemmInstance
from ckprof_plugins.pipelines.gemm_family.vocabulary import (
    Epilogue,
    GemmPipeline,
    Scheduler,
    SmemBuffering,
    Specialization,
)
from ckprof_plugins.pipelines.kernel_family.rules import API_LEVEL_RULE, Candidate, Rule, direction_rule

#: Largest number of groups that backward weight can merge.
_MOST_MERGED_GROUPS = 64

#: (tile, wave grid) of backward-weight kernels that are known to give wrong results with the interwave
#: scheduler in half types when a group has few products to add.
_WRONG_INTERWAVE = frozenset({((64, 64, 64), (2, 2)), ((64, 16, 64), (2, 1)), ((16, 32, 64), (1, 2))})


def _layout(candidate: Candidate[GemmInstance]) -> str | None:
    layout = candidate.instance.layout
    if layout.ndim != candidate.instance.ndim:
        return f"layout {layout.name} has {layout.ndim} spatial dimensions, not {candidate.instance.ndim}"
    if not layout.input.endswith("GC"):
        return f"layout {layout.name}: the channels of a group must be the fastest axis"
    return None


def _wave_divides_tile(candidate: Candidate[GemmInstance]) -> str | None:
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


def _vector_size(candidate: Candidate[GemmInstance]) -> str | None:
    wrong = [
        f"{name} is {size}"
        for name, size in zip("abc", candidate.instance.vector_sizes, strict=True)
        if size != 1 and size % 2
    ]
    return f"vector sizes must be 1 or even ({', '.join(wrong)})" if wrong else None


def _smem_buffering(candidate: Candidate[GemmInstance]) -> str | None:
    gemm_pipeline = candidate.instance.gemm_pipeline
    buffering = gemm_pipeline.facts.buffering
    doubled = candidate.instance.double_smem_buffer
    if buffering is SmemBuffering.DOUBLE and not doubled:
        return f"{gemm_pipeline.value} needs double_smem_buffer"
    if buffering is SmemBuffering.SINGLE and doubled:
        return f"{gemm_pipeline.value} has one LDS buffer, double_smem_buffer must not be set"
    return None


def _scheduler(candidate: Candidate[GemmInstance]) -> str | None:
    gemm_pipeline = candidate.instance.gemm_pipeline
    if candidate.instance.scheduler is Scheduler.INTERWAVE and not gemm_pipeline.facts.interwave:
        return f"{gemm_pipeline.value} has no interwave scheduler"
    return None


def _epilogue(candidate: Candidate[GemmInstance]) -> str | None:
    epilogue = candidate.instance.epilogue
    if epilogue is Epilogue.CSHUFFLE:
        return None
    return f"epilogue {epilogue.value} cannot be built: kernels always end in the CShuffle epilogue"


def _pads(candidate: Candidate[GemmInstance]) -> str | None:
    if all(candidate.instance.pads):
        return None
    return "kernels always pad M, N and K: a kernel without a pad would be the same kernel"


def _explicit_gemm(candidate: Candidate[GemmInstance]) -> str | None:
    instance = candidate.instance
    if not instance.explicit_gemm:
        return None
    if instance.direction == "bwd_data":
        return "backward data has no explicit GEMM"
    if instance.gemm_pipeline is GemmPipeline.WAVELET:
        return "explicit_gemm does not go with wavelet"
    if instance.specialization is not Specialization.FILTER1X1_STRIDE1_PAD0:
        return f"explicit_gemm needs filter1x1_stride1_pad0, not {instance.specialization.value}"
    if instance.num_groups_to_merge != 1:
        return f"explicit_gemm cannot merge groups (num_groups_to_merge is {instance.num_groups_to_merge})"
    return None


def _gemm_pipeline(candidate: Candidate[GemmInstance]) -> str | None:
    instance = candidate.instance
    if instance.gemm_pipeline is GemmPipeline.COMPV5 and instance.direction != "fwd":
        return f"compv5 is a forward pipeline, it is not available for {instance.direction}"
    return None


def _merged_groups(candidate: Candidate[GemmInstance]) -> str | None:
    instance = candidate.instance
    merged = instance.num_groups_to_merge
    if merged == 1:
        return None
    if instance.direction == "bwd_data":
        return f"backward data does not merge groups (num_groups_to_merge is {merged})"
    if instance.direction == "bwd_weight" and (merged & (merged - 1) or merged > _MOST_MERGED_GROUPS):
        return f"num_groups_to_merge is {merged}, expected a power of two up to {_MOST_MERGED_GROUPS}"
    return None


def _split_image(candidate: Candidate[GemmInstance]) -> str | None:
    instance = candidate.instance
    if instance.split_image and instance.direction != "fwd":
        return f"only forward kernels split the image, not {instance.direction}"
    return None


def _wrong_interwave(candidate: Candidate[GemmInstance]) -> str | None:
    instance = candidate.instance
    shape = (instance.tile.sizes, instance.wave_grid.sizes[:2])
    if (
        instance.direction == "bwd_weight"
        and instance.scheduler is Scheduler.INTERWAVE
        and instance.gemm_pipeline in (GemmPipeline.COMPV1, GemmPipeline.MEM)
        and instance.specialization is Specialization.DEFAULT
        and instance.dtype is not DataType.FP32
        and shape in _WRONG_INTERWAVE
    ):
        return (
            f"{instance.gemm_pipeline.value} interwave with tile {instance.tile} and waves "
            f"{instance.wave_grid} is known to give wrong weights in {instance.dtype.value}"
        )
    return None


def gemm_rules(directions: frozenset[str]) -> tuple[Rule, ...]:
    """Return the rules of a family with kernels for ``directions``.

    Rules that compare with tables of an architecture belong behind these.
    """
    return (
        API_LEVEL_RULE,
        direction_rule(directions),
        Rule(id="layout", check=_layout),
        Rule(id="wave-divides-tile", check=_wave_divides_tile),
        Rule(id="vector-size", check=_vector_size),
        Rule(id="gemm-pipeline", check=_gemm_pipeline),
        Rule(id="smem-buffering", check=_smem_buffering),
        Rule(id="scheduler", check=_scheduler),
        Rule(id="epilogue", check=_epilogue),
        Rule(id="pads", check=_pads),
        Rule(id="explicit-gemm", check=_explicit_gemm),
        Rule(id="merged-groups", check=_merged_groups),
        Rule(id="split-image", check=_split_image),
        Rule(id="wrong-interwave", check=_wrong_interwave),
    )
