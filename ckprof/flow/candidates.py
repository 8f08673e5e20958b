"""From converted lists to the instances that are generated, in a fixed and numbered order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.codegen.kernel_names import KernelNames
from ckprof.errors import UsageError
from ckprof.flow.expression import Expression, is_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ckprof.model.conversion import Conversion
    from ckprof.model.instance import Instance
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.plugin.protocols import Pipeline
    from ckprof.plugin.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An instance of a list with its names."""

    #: position among all instances of the lists, from 0: what ``--instance`` takes
    index: int
    instance: Instance
    pipeline: Pipeline
    #: final: tables, manifest and library have it
    name: str
    #: ``file:line`` of the list, just the file for a catalog, or the rule set
    source: str
    #: why a rule set should not have it, beside what the rules of its pipeline say
    defect: UnmetRequirement | None = None

    @property
    def instance_string(self) -> str:
        """CK Builder's text for the instance."""
        return self.pipeline.instance_string(self.instance)


def list_candidates(conversions: Iterable[Conversion], registry: Registry) -> list[Candidate]:
    """Return all instances of the lists in list order; one that several lists hold is taken once.

    :raises UsageError: no pipeline plugin knows a record.
    :raises InputError: a record has a value without meaning.
    """
    candidates: dict[str, Candidate] = {}
    names = KernelNames()
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
                    name=names.take(pipeline.kernel_name(instance), instance),
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
    :param filters: keep those that one of these chooses: an expression over their fields (see
        :mod:`ckprof.flow.expression`), or a regular expression that finds their kernel name or instance
        string.
    :param excludes: drop those that one of these chooses.
    :param pipelines: keep those of these pipelines; empty keeps all.
    :raises UsageError: an expression is wrong, or a position does not exist.
    """
    for index in indices:
        if not 0 <= index < len(candidates):
            raise UsageError(f"--instance {index}: there are {len(candidates)} instances, from 0")
    fields = _fields(candidates)
    keep = [_test("--filter", text, fields) for text in filters]
    drop = [_test("--exclude", text, fields) for text in excludes]

    def wanted(candidate: Candidate) -> bool:
        return (
            (not indices or candidate.index in indices)
            and (not pipelines or candidate.pipeline.id in pipelines)
            and (not keep or any(test(candidate) for test in keep))
            and not any(test(candidate) for test in drop)
        )

    return [candidate for candidate in candidates if wanted(candidate)]


def filter_values(candidate: Candidate) -> dict[str, Any]:
    """Return what a filter expression can ask of a candidate, second names included."""
    fields = candidate.instance.fields()
    second = {alias: fields[name] for alias, name in candidate.instance.field_aliases.items()}
    return {"name": candidate.name, **second, **fields}


def _fields(candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Return all fields of the candidates, each with a value that one of them has."""
    examples = {type(candidate.instance): candidate for candidate in candidates}
    return {name: value for example in examples.values() for name, value in filter_values(example).items()}


def _test(option: str, text: str, fields: Mapping[str, Any]) -> Callable[[Candidate], bool]:
    """Return what a filter asks of a candidate.

    :raises UsageError: the text is neither an expression nor a regular expression.
    """
    if is_expression(text, fields):
        expression = Expression(text, fields)
        return lambda candidate: expression.matches(filter_values(candidate))
    try:
        pattern = re.compile(text)
    except re.error as exc:
        raise UsageError(f"{option} {text!r} is not a regular expression: {exc}") from None
    return lambda candidate: bool(pattern.search(candidate.name) or pattern.search(candidate.instance_string))
