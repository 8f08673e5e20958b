"""The rule sets ``profiler`` and ``tests``: CK Builder's instance lists, as they ship with ckprof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof_plugins.pipelines.gemm_families import StreamKInstance
from ckprof_plugins.pipelines.gemm_instance import GemmInstance
from ckprof_plugins.pipelines.vocabulary import GemmPipeline
from ckprof_plugins.rule_sets.gemm_config import Features, GemmConfig, StreamK, entry_of, upstream_accepts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.architecture import Architecture
    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import RuleSetEntry, RuleSetRequest

#: Direction -> folder of its lists.
_FOLDERS: Final = {"fwd": "forward", "bwd_data": "backward_data", "bwd_weight": "backward_weight"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRuleSet:
    """The lists of one kind, of all layouts and types."""

    #: also the name of the folder below that of a direction
    id: str
    label: str

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels of the lists that upstream's generator takes, in the order of the lists."""
        instances: dict[Instance, None] = {}
        for direction in request.directions:
            if direction not in _FOLDERS:
                continue
            for instance in request.read_lists(f"{_FOLDERS[direction]}/{self.id}"):
                wanted = instance.ndim in request.ndims and instance.dtype in request.dtypes
                if wanted and _upstream_accepts(instance, request.arch):
                    instances.setdefault(replace(instance, id=0))
        return [
            entry_of(replace(instance, id=number), request.arch) for number, instance in enumerate(instances)
        ]


def _upstream_accepts(instance: Instance, arch: Architecture) -> bool:
    if not isinstance(instance, GemmInstance):
        return True
    if instance.direction == "bwd_weight" and instance.gemm_pipeline is GemmPipeline.COMPV2:
        return False
    stream_k = (
        StreamK(instance.strategy, instance.persistent) if isinstance(instance, StreamKInstance) else None
    )
    config = GemmConfig(
        direction=instance.direction,
        ndim=instance.ndim,
        dtype=instance.dtype,
        tile=instance.tile.sizes,
        wave_grid=instance.wave_grid.sizes,
        mma_tile=instance.mma_tile.sizes,
        vectors=instance.vector_sizes,
        gemm_pipeline=instance.gemm_pipeline,
        scheduler=instance.scheduler,
        features=Features(stream_k=stream_k),
    )
    return upstream_accepts(config, arch, tagged=True)


#: the rule sets that are lists
RULE_SETS: Final = (
    ListRuleSet(id="profiler", label="CK Builder's lists for the profiler"),
    ListRuleSet(id="tests", label="CK Builder's lists for its tests"),
)
