"""The rule sets but ``full``: ten tiles, parts of ``full``, and CK Builder's lists as they are shipped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from ckprof_plugins.pipelines.depthwise_family import DepthwiseInstance
from ckprof_plugins.pipelines.gemm_families import StreamKInstance, TwoStageInstance
from ckprof_plugins.pipelines.gemm_instance import GemmInstance
from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline, Scheduler
from ckprof_plugins.rule_sets.full import full_entries
from ckprof_plugins.rule_sets.gemm_config import (
    Features,
    GemmConfig,
    StreamK,
    entry_of,
    make_instance,
    upstream_accepts,
)
from ckprof_plugins.rule_sets.rdna import rdna_configs
from ckprof_plugins.rule_sets.tiles import ROWS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from ckprof.model.architecture import Architecture
    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import RuleSetEntry, RuleSetRequest


_VECTORS: Final = (4, 8, 8)


_BACKWARD: Final = (
    (GemmPipeline.COMPV3, Epilogue.CSHUFFLE),
    (GemmPipeline.MEM, Epilogue.DEFAULT),
)

#: Direction -> its GEMM pipelines and epilogues, in order.
_GEMM_PIPELINES: Final = {
    "fwd": ((GemmPipeline.COMPV3, Epilogue.CSHUFFLE), (GemmPipeline.COMPV4, Epilogue.CSHUFFLE)),
    "bwd_data": _BACKWARD,
    "bwd_weight": _BACKWARD,
}


class DefaultRuleSet:
    """A few dozen kernels per direction."""

    id = "default"
    label = "ten tiles, one wave grid and one MMA tile each"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels; every configuration exists for each data type."""
        configs = chain(
            (
                config
                for direction in request.directions
                for ndim in request.ndims
                for config in _configs(direction, ndim, request)
            ),
            rdna_configs(request),
        )
        return [
            entry_of(make_instance(config, number), request.arch) for number, config in enumerate(configs)
        ]


def _configs(direction: str, ndim: int, request: RuleSetRequest) -> Iterator[GemmConfig]:
    stages = (False, True) if direction == "bwd_weight" else (False,)
    for gemm_pipeline, epilogue in _GEMM_PIPELINES.get(direction, ()):
        doubled = gemm_pipeline is GemmPipeline.COMPV4
        for tile, wave_grid, mma_tile, double_buffered in ROWS:
            if doubled and not double_buffered:
                continue
            m, n, k = tile
            for two_stage in stages:
                for dtype in request.dtypes:
                    config = GemmConfig(
                        direction=direction,
                        ndim=ndim,
                        dtype=dtype,
                        tile=(m, n, 2 * k if doubled else k),
                        wave_grid=wave_grid,
                        mma_tile=mma_tile,
                        vectors=_VECTORS,
                        gemm_pipeline=gemm_pipeline,
                        scheduler=Scheduler.INTRAWAVE,
                        epilogue=epilogue,
                        features=Features(two_stage=two_stage),
                        double_smem_buffer=doubled,
                    )
                    if upstream_accepts(config, request.arch, tagged=False):
                        yield config


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


_STEP: Final = 5
_TINY: Final = 10


class FullTestsRuleSet:
    """Every fifth kernel of ``full`` of each category and type, and every GEMM pipeline at least once."""

    id = "full-tests"
    label = "a fifth of full, with every category and GEMM pipeline"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels, in the order of ``full``.

        What is picked depends on all directions of the request together.
        """
        entries = full_entries(request)
        chosen: set[int] = set()
        for group in _positions(category(entry.instance) for entry in entries):
            chosen.update(group[_STEP - 1 :: _STEP] or group[:1])
        covered = {_schedule(entries[position].instance) for position in chosen}
        for position, entry in enumerate(entries):
            schedule = _schedule(entry.instance)
            if schedule not in covered:
                covered.add(schedule)
                chosen.add(position)
        return [entries[position] for position in sorted(chosen)]


class TinyRuleSet:
    """At least ten kernels of ``full-tests``, with every category and number of dimensions.

    They are counted as upstream counts them: before what is not valid for the architecture is left out.
    """

    id = "tiny"
    on_demand = True
    label = "every category of full-tests, at least ten kernels before those that are not valid are excluded"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels, in the order of ``full``."""
        entries = FullTestsRuleSet().enumerate(request)
        groups = _positions((category(e.instance), e.instance.ndim) for e in entries)
        chosen: set[int] = set()
        for turn in range(max(map(len, groups), default=0)):
            # the first of each group in any case
            for group in groups:
                if turn < len(group) and (turn == 0 or len(chosen) < _TINY):
                    chosen.add(group[turn])
        return [entries[position] for position in sorted(chosen)]


def category(instance: Instance) -> str:
    """Return what an instance is an example of, with its data type."""
    return f"{_feature(instance)}_{instance.dtype.value}"


def _feature(instance: Instance) -> str:
    if isinstance(instance, DepthwiseInstance):
        return "depthwise"
    if isinstance(instance, StreamKInstance):
        return "streamk"
    if not isinstance(instance, GemmInstance):
        raise TypeError(f"the rule set full has no {type(instance).__name__}")
    if instance.split_image:
        return "split_image"
    if instance.num_groups_to_merge != 1:
        return "merged_groups"
    if isinstance(instance, TwoStageInstance):
        return "two_stage"
    return "explicit_gemm" if instance.explicit_gemm else "regular"


def _schedule(instance: Instance) -> tuple[object, ...]:
    """Return what must occur per direction and type: GEMM pipeline and scheduler, if the family has them."""
    gemm = (
        (instance.gemm_pipeline, instance.scheduler) if isinstance(instance, GemmInstance) else ("depthwise",)
    )
    return (instance.direction, instance.dtype, *gemm)


def _positions(groups: Iterable[Hashable]) -> list[list[int]]:
    """Return the positions of equal items, in the order of their first."""
    positions: dict[Hashable, list[int]] = {}
    for position, group in enumerate(groups):
        positions.setdefault(group, []).append(position)
    return list(positions.values())
