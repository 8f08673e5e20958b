"""The rule sets that pick from ``full``: ``full-tests`` every fifth kernel of a kind, ``tiny`` a handful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof_plugins.pipelines.depthwise_family import DepthwiseInstance
from ckprof_plugins.pipelines.gemm_families import StreamKInstance, TwoStageInstance
from ckprof_plugins.pipelines.gemm_instance import GemmInstance
from ckprof_plugins.rule_sets.full import FullRuleSet

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import RuleSetEntry, RuleSetRequest

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
        return _every_fifth(FullRuleSet().enumerate(request))


class TinyRuleSet:
    """At least ten kernels of ``full-tests``, with every category and number of dimensions."""

    id = "tiny"
    on_demand = True
    label = "at least ten kernels of full-tests, with every category"

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


def _every_fifth(entries: Sequence[RuleSetEntry]) -> list[RuleSetEntry]:
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
