"""From converted lists to the instances that are generated, in a fixed and numbered order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.model.conversion import Conversion
    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import Pipeline
    from ckprof.plugin.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An instance of a list with its names."""

    #: position among all instances of the lists, from 0: what ``--instance`` takes
    index: int
    instance: Instance
    pipeline: Pipeline
    name: str
    instance_string: str
    #: ``file:line`` of the list, or just the file for a catalog
    source: str


def list_candidates(conversions: Iterable[Conversion], registry: Registry) -> list[Candidate]:
    """Return all instances of the lists in list order; one that several lists hold is taken once.

    :raises UsageError: no pipeline plugin knows a record.
    :raises InputError: a record has a value without meaning.
    """
    candidates: dict[str, Candidate] = {}
    for conversion in conversions:
        for catalog in conversion.catalogs:
            direction = registry.variants.find(catalog.variant).direction
            for record in catalog.records:
                pipeline = registry.pipeline_of(catalog, record)
                instance = pipeline.make_instance(catalog, direction, record)
                key = instance.key
                if key in candidates:
                    continue
                line = conversion.source_lines.get((catalog.variant, instance.id))
                candidates[key] = Candidate(
                    index=len(candidates),
                    instance=instance,
                    pipeline=pipeline,
                    name=pipeline.kernel_name(instance),
                    instance_string=pipeline.instance_string(instance),
                    source=f"{conversion.path}:{line}" if line else str(conversion.path),
                )
    return list(candidates.values())


def select(
    candidates: Sequence[Candidate],
    *,
    indices: Sequence[int] = (),
    filters: Sequence[str] = (),
    excludes: Sequence[str] = (),
    pipelines: Sequence[str] = (),
) -> list[Candidate]:
    """Return the candidates that pass all options.

    :param indices: keep these positions; empty keeps all.
    :param filters: keep those whose kernel name or instance string one of these expressions finds.
    :param excludes: drop those that one of these expressions finds.
    :param pipelines: keep those of these pipelines; empty keeps all.
    :raises UsageError: an expression is wrong, or a position does not exist.
    """
    for index in indices:
        if not 0 <= index < len(candidates):
            raise UsageError(f"--instance {index}: there are {len(candidates)} instances, from 0")
    keep = [_compile("--filter", text) for text in filters]
    drop = [_compile("--exclude", text) for text in excludes]

    def wanted(candidate: Candidate) -> bool:
        texts = (candidate.name, candidate.instance_string)
        return (
            (not indices or candidate.index in indices)
            and (not pipelines or candidate.pipeline.id in pipelines)
            and (not keep or any(p.search(text) for p in keep for text in texts))
            and not any(p.search(text) for p in drop for text in texts)
        )

    return [candidate for candidate in candidates if wanted(candidate)]


def _compile(option: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as exc:
        raise UsageError(f"{option} {text!r} is not a regular expression: {exc}") from None
