"""From a rule set, or instances given on the command line, to candidates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.codegen.kernel_names import KernelNames
from ckprof.flow.candidates import Candidate, list_candidates
from ckprof.flow.list_files import read_list
from ckprof.flow.validity import CheckedInstances, InvalidInstance
from ckprof.paths import conf_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import RuleSetEntry
    from ckprof.plugin.registry import Registry


def shipped_list_reader(registry: Registry) -> Callable[[str], Sequence[Instance]]:
    """Return what a rule set reads lists that ship with ckprof by: the instances below a folder."""

    def read_lists(folder: str) -> list[Instance]:
        root = conf_root() / folder
        conversions = [read_list(path, registry) for path in sorted(root.glob("*.conf"))]
        return [candidate.instance for candidate in list_candidates(conversions, registry)]

    return read_lists


def entry_candidates(entries: Iterable[RuleSetEntry], registry: Registry, source: str) -> list[Candidate]:
    """Return the entries as candidates, numbered in their order.

    :param source: where the entries come from, for tables.
    :raises UsageError: no plugin provides the pipeline of an instance.
    """
    pipelines = registry.pipelines.as_mapping()
    candidates: list[Candidate] = []
    names = KernelNames()
    for index, (instance, defect) in enumerate(entries):
        pipeline = pipelines.get(instance.pipeline) or registry.pipelines.find(instance.pipeline)
        candidates.append(
            Candidate(
                index=index,
                instance=instance,
                pipeline=pipeline,
                name=names.take(pipeline.kernel_name(instance), instance),
                source=source,
                defect=defect,
            )
        )
    return candidates


def renumbered(checked: CheckedInstances) -> CheckedInstances:
    """Return the instances with positions of their own among the valid and among the invalid ones."""
    return CheckedInstances(
        valid=tuple(_at(candidate, index) for index, candidate in enumerate(checked.valid)),
        invalid=tuple(
            InvalidInstance(candidate=_at(one.candidate, index), unmet_requirements=one.unmet_requirements)
            for index, one in enumerate(checked.invalid)
        ),
    )


def _at(candidate: Candidate, index: int) -> Candidate:
    return candidate if candidate.index == index else replace(candidate, index=index)
