"""Kernels that support no problem on an architecture, whatever its sizes: rule sets leave them out.

The support tests of CK Tile contradict themselves for such a kernel: one condition allows a single channel,
another one needs a multiple of a vector. Lists may name them all the same: they say which kernels a library
has, not which are of use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.requirement import UnmetRequirement
from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.pipelines._gemm.instance import GemmInstance
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline, Specialization
from ckprof_plugins.pipelines.stream_k.instance import StreamKInstance

if TYPE_CHECKING:
    from ckprof.model.architecture import Architecture
    from ckprof.model.instance import Instance

RULE: Final = "no-problem"
#: pipelines that load from global into local memory directly
_ASYNC: Final = frozenset({GemmPipeline.COMP_ASYNC, GemmPipeline.BASIC_ASYNC_V1})
#: direction -> operands of which a vector runs along the input channels of one group
_ALONG_CHANNELS: Final = {"fwd": "ab", "bwd_data": "bc", "bwd_weight": "bc"}


def entry_of(instance: Instance, arch: Architecture, defect: UnmetRequirement | None = None) -> RuleSetEntry:
    """Return an instance as a kernel of a rule set.

    :param defect: what is wrong with it in any case.
    """
    return RuleSetEntry(instance, defect or _unmet(instance, arch))


def _unmet(instance: Instance, arch: Architecture) -> UnmetRequirement | None:
    if not isinstance(instance, GemmInstance):
        return None
    return _missing_capability(instance, arch) or _single_channel(instance)


def _missing_capability(instance: GemmInstance, arch: Architecture) -> UnmetRequirement | None:
    needed = {
        "direct_lds": instance.gemm_pipeline in _ASYNC,
        "stream_k": isinstance(instance, StreamKInstance),
    }
    for capability, is_needed in needed.items():
        if is_needed and capability not in arch.capabilities:
            return UnmetRequirement(
                rule=RULE,
                message=f"the kernel needs {capability}, which {arch.name} has not: it supports no problem",
                found=arch.name,
                allowed=capability,
            )
    return None


def _single_channel(instance: GemmInstance) -> UnmetRequirement | None:
    merges = instance.num_groups_to_merge != 1 and instance.direction == "fwd"
    if instance.specialization is Specialization.FILTER3X3:
        who = instance.specialization.value
    elif merges:
        who = f"merging {instance.num_groups_to_merge} groups"
    else:
        return None
    for name in _ALONG_CHANNELS.get(instance.direction, ""):
        # merged groups have their channels side by side in A
        if merges and name == "a":
            continue
        width = getattr(instance, f"vector_size_{name}")
        if width > 1:
            return UnmetRequirement(
                rule=RULE,
                message=f"{who} allows one input channel, vector_size_{name} needs a multiple of {width}: "
                "the kernel supports no problem",
                found=width,
                allowed=1,
            )
    return None
