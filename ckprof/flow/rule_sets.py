"""From a rule set, or instances given by hand, to candidates: what is valid, and what is left out and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.flow.candidates import Candidate, list_candidates
from ckprof.flow.list_files import read_list
from ckprof.paths import conf_root
from ckprof.plugin.protocols import RuleSetRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.arch.architecture import Architecture
    from ckprof.model.dtype import DataType
    from ckprof.model.instance import Instance
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.plugin.protocols import RuleSet, RuleSetEntry
    from ckprof.plugin.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidInstance:
    """An instance that is not valid for the architecture, and every reason."""

    candidate: Candidate
    unmet_requirements: tuple[UnmetRequirement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Instances in a fixed order, and those that were sorted out on the way."""

    candidates: tuple[Candidate, ...]
    invalid: tuple[InvalidInstance, ...] = field(default=())


def enumerate_rule_set(
    rule_set: RuleSet,
    registry: Registry,
    *,
    arch: Architecture,
    directions: Sequence[str],
    ndims: Sequence[int],
    dtypes: Sequence[DataType],
) -> Sequence[RuleSetEntry]:
    """Return the entries of a rule set, in one call for all directions."""

    def read_lists(folder: str) -> list[Instance]:
        root = conf_root() / folder
        conversions = [read_list(path, registry) for path in sorted(root.glob("*.conf"))]
        return [candidate.instance for candidate in list_candidates(conversions, registry)]

    return rule_set.enumerate(
        RuleSetRequest(
            arch=arch,
            directions=tuple(directions),
            ndims=tuple(ndims),
            dtypes=tuple(dtypes),
            read_lists=read_lists,
        )
    )


def check_validity(
    entries: Iterable[RuleSetEntry],
    registry: Registry,
    *,
    arch: Architecture,
    api_level: str,
    source: str,
    keep_defects: bool = False,
) -> Selection:
    """Ask the pipelines about each entry and sort out what is not valid.

    :param source: where the entries come from, for tables.
    :param keep_defects: keep what is not valid, too.
    """
    kept: list[Candidate] = []
    invalid: list[InvalidInstance] = []
    pipelines = registry.pipelines.as_mapping()
    for instance, defect in entries:
        pipeline = pipelines.get(instance.pipeline) or registry.pipelines.find(instance.pipeline)
        unmet_requirements: tuple[UnmetRequirement, ...] = ()
        if not keep_defects:
            unmet_requirements = tuple(pipeline.unmet_requirements(instance, arch.name, api_level))
            if defect is not None:
                unmet_requirements = (defect, *unmet_requirements)
        candidate = Candidate(
            index=len(invalid) if unmet_requirements else len(kept),
            instance=instance,
            pipeline=pipeline,
            name=pipeline.kernel_name(instance),
            source=source,
        )
        if unmet_requirements:
            invalid.append(InvalidInstance(candidate=candidate, unmet_requirements=unmet_requirements))
        else:
            kept.append(candidate)
    return Selection(candidates=tuple(kept), invalid=tuple(invalid))


def check_candidates(candidates: Iterable[Candidate], arch: Architecture, api_level: str) -> Selection:
    """Sort the candidates of lists into those that are valid and those that are not."""
    kept: list[Candidate] = []
    invalid: list[InvalidInstance] = []
    for candidate in candidates:
        unmet_requirements = tuple(
            candidate.pipeline.unmet_requirements(candidate.instance, arch.name, api_level)
        )
        if unmet_requirements:
            invalid.append(InvalidInstance(candidate=candidate, unmet_requirements=unmet_requirements))
        else:
            kept.append(candidate)
    return Selection(candidates=tuple(kept), invalid=tuple(invalid))
