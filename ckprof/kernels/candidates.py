"""Instances under their final names, in a fixed and numbered order: those of lists and of rule sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import CkprofError
from ckprof.model.kernel import KEY_DIGITS, SelectedKernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.model.conversion import Conversion
    from ckprof.model.instance import Instance
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.plugin.protocols import Pipeline, RuleSetEntry
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

    def selected(self, object_digest: str | None = None) -> SelectedKernel:
        """Return the kernel as measurements, stores and reports name it.

        :param object_digest: of its object; empty if it did not compile, ``None`` before it is built.
        """
        instance = self.instance
        try:
            text = self.instance_string
        except CkprofError as exc:
            # a wrong instance must not cost the results of the others
            text = f"(none: {exc})"
        return SelectedKernel(
            key=instance.key,
            name=self.name,
            instance_string=text,
            pipeline=self.pipeline.id,
            dtype=instance.dtype,
            layout=instance.layout.name,
            fields=instance.fields(),
            ndim=instance.ndim,
            types=instance.types,
            split_sum=instance.split_sum,
            index=self.index,
            id=instance.id,
            source=self.source,
            object_digest=object_digest,
        )


class KernelNames:
    """Hands out names that differ, in the order in which they are asked for.

    Two kernels of one library that share a type name would be merged by the linker. File systems may not tell
    cases apart, so neither does this.

    :param taken: kernels that have a name already.
    """

    def __init__(self, taken: Iterable[tuple[str, Instance]] = ()) -> None:
        self._owners = {name.lower(): instance for name, instance in taken}

    def take(self, name: str, instance: Instance) -> str:
        """Return the name that a kernel's pipeline proposes, with digits of its key after it if it is taken.

        Instances of the same content get the same name.
        """
        owner = self._owners.setdefault(name.lower(), instance)
        # most names are free: the key, which takes longer, is not needed then
        if owner is instance or owner.key == instance.key:
            return name
        name = f"{name}_{instance.key[:KEY_DIGITS]}"
        self._owners[name.lower()] = instance
        return name

    def candidate(
        self,
        instance: Instance,
        pipeline: Pipeline,
        *,
        index: int,
        source: str,
        defect: UnmetRequirement | None = None,
    ) -> Candidate:
        """Return an instance under its final name; the parameters are fields of it."""
        name = self.take(pipeline.kernel_name(instance), instance)
        return Candidate(
            index=index, instance=instance, pipeline=pipeline, name=name, source=source, defect=defect
        )


def list_candidates(
    conversions: Iterable[Conversion], registry: Registry, families: Sequence[str] = ()
) -> list[Candidate]:
    """Return all instances of the lists in list order; one that several lists hold is taken once.

    :param families: ids of pipelines that take what they can of records of others.
    :raises UsageError: the pipeline of a record is not loaded.
    :raises InputError: a record has a value without meaning.
    """
    candidates: dict[str, Candidate] = {}
    names = KernelNames()
    for conversion in conversions:
        for catalog in conversion.catalogs:
            for record in catalog.records:
                pipeline, instance = registry.instance_of(catalog, record, families)
                key = instance.key
                if key in candidates:
                    continue
                line = conversion.source_lines.get((catalog.variant, instance.id))
                candidates[key] = names.candidate(
                    instance,
                    pipeline,
                    index=len(candidates),
                    source=f"{conversion.path}:{line}" if line else str(conversion.path),
                )
    return list(candidates.values())


def entry_candidates(entries: Iterable[RuleSetEntry], registry: Registry, source: str) -> list[Candidate]:
    """Return the entries of a rule set as candidates, numbered in their order.

    :param source: where the entries come from, for tables.
    :raises UsageError: no plugin provides the pipeline of an instance.
    """
    pipelines = registry.pipelines.as_mapping()
    names = KernelNames()
    return [
        names.candidate(
            instance,
            pipelines.get(instance.pipeline) or registry.pipelines.find(instance.pipeline),
            index=index,
            source=source,
            defect=defect,
        )
        for index, (instance, defect) in enumerate(entries)
    ]
