"""Instances under their final names, in a fixed and numbered order; which are valid, the same, or unfused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ckprof.errors import CkprofError, UsageError
from ckprof.model.kernel import KEPT, KEY_DIGITS, KernelName, SameKernels, SelectedKernel, Substitution
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import NOT_ASKED
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline, Target, TimedKernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.choose import Selection
    from ckprof.model.conversion import Conversion
    from ckprof.model.instance import Instance
    from ckprof.model.problem import Problem
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.plugin.protocols import RuleSetEntry
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
    #: why a rule set or list should not have it, besides what the rules of its pipeline say
    defect: UnmetRequirement | None = None

    @property
    def shown(self) -> KernelName:
        """The name with its parts."""
        parts = tuple(self.pipeline.name_parts(self.instance))
        if parts and self.name != "_".join(text for *_, text in parts):
            parts = (*parts, (KEPT, "key", self.instance.key[:KEY_DIGITS]))
        return KernelName(self.name, parts)

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
            parts=self.shown.parts,
            ndim=instance.ndim,
            types=instance.types,
            split_sum=instance.split_sum,
            preparation=instance.preparation,
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

    def candidate(self, instance: Instance, pipeline: Pipeline, **known: Any) -> Candidate:
        """Return an instance under its final name; ``known`` is what else a candidate says."""
        name = self.take(pipeline.kernel_name(instance), instance)
        return Candidate(instance=instance, pipeline=pipeline, name=name, **known)


def list_candidates(conversions: Iterable[Conversion], registry: Registry) -> list[Candidate]:
    """Return all instances of the lists in list order; one that several lists hold is taken once.

    :raises UsageError: the pipeline of a record is not loaded.
    :raises InputError: a record has a value without meaning.
    """
    candidates: dict[str, Candidate] = {}
    names = KernelNames()
    for conversion in conversions:
        for catalog in conversion.catalogs:
            for record in catalog.records:
                pipeline, instance = registry.instance_of(catalog, record)
                key = instance.key
                if key in candidates:
                    continue
                place = catalog.variant, instance.id
                line = conversion.source_lines.get(place)
                source = f"{conversion.path}:{line}" if line else str(conversion.path)
                defect = conversion.defects.get(place)
                candidates[key] = names.candidate(
                    instance, pipeline, index=len(candidates), source=source, defect=defect
                )
    return list(candidates.values())


def entry_candidates(entries: Iterable[RuleSetEntry], registry: Registry, source: str) -> list[Candidate]:
    """Return the entries of a rule set as candidates, numbered in their order.

    :param source: where the entries come from, for tables.
    :raises UsageError: no plugin provides the pipeline of an instance.
    """
    names = KernelNames()
    candidates = []
    for index, (instance, defect) in enumerate(entries):
        pipeline = registry.pipelines.find(instance.pipeline)
        candidates.append(names.candidate(instance, pipeline, index=index, source=source, defect=defect))
    return candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A candidate that has no kernel in a library."""

    candidate: Candidate
    #: ``unsupported`` for one that is not valid; else how its compilation failed
    status: Status = Status.UNSUPPORTED
    reason: str
    #: every rule that it violates
    unmet_requirements: tuple[UnmetRequirement, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """What becomes of it on every problem."""
        return Outcome(
            key=self.candidate.instance.key,
            problem_index=0,
            status=self.status,
            reason=self.reason,
            unmet_requirements=(*self.unmet_requirements, NOT_ASKED) if self.unmet_requirements else (),
        )


def check_validity(
    candidates: Iterable[Candidate], arch: str, api_level: str
) -> tuple[tuple[Candidate, ...], tuple[Rejection, ...]]:
    """Return the valid ones and the others in their order: their pipelines say which rules they violate.

    A known defect comes first.
    """
    valid: list[Candidate] = []
    invalid: list[Rejection] = []
    for candidate in candidates:
        unmet = tuple(candidate.pipeline.unmet_requirements(candidate.instance, arch, api_level))
        if candidate.defect is not None:
            unmet = (candidate.defect, *unmet)
        if unmet:
            reason = "; ".join(f"{requirement.message} ({requirement.rule})" for requirement in unmet)
            invalid.append(Rejection(candidate=candidate, reason=reason, unmet_requirements=unmet))
        else:
            valid.append(candidate)
    return tuple(valid), tuple(invalid)


#: the fields that have a meaning, and the names of the others
_Kind = tuple[frozenset[tuple[str, Any]], frozenset[str]]


def same_kernels(target: Target, candidates: Iterable[Candidate]) -> tuple[SameKernels, ...]:
    """Return the groups of instances that are the same kernel on a target, none if it tells nothing."""
    if not offers(target, Target.ignored_fields):
        return ()
    groups: dict[_Kind, list[tuple[int, Mapping[str, Any]]]] = {}
    reasons: dict[str, str] = {}
    for candidate, kernel in _timed(candidates):
        fields = kernel.fields
        ignored = target.ignored_fields(kernel)
        reasons |= ignored
        names = frozenset(ignored)
        kept = frozenset((name, value) for name, value in fields.items() if name not in names)
        groups.setdefault((kept, names), []).append((candidate.index, fields))
    return tuple(
        _described(names, members, reasons) for (_, names), members in groups.items() if len(members) > 1
    )


def substitutions(
    target: Target, candidates: Iterable[Candidate], problems: Sequence[Problem]
) -> tuple[Substitution, ...]:
    """Return the kernels that a target runs in place of instances' for problems; none if it tells nothing."""
    if not offers(target, Target.substitute):
        return ()
    groups: dict[tuple[int, str], list[int]] = {}
    for candidate, kernel in _timed(candidates):
        for number, problem in enumerate(problems):
            name = target.substitute(kernel, problem)
            if name:
                groups.setdefault((number, name), []).append(candidate.index)
    return tuple(
        Substitution(problem_index=number, kernel=name, instances=tuple(sorted(indices)))
        for (number, name), indices in sorted(groups.items())
    )


def _timed(candidates: Iterable[Candidate]) -> Iterator[tuple[Candidate, TimedKernel]]:
    """Yield the candidates whose pipelines say what their kernels do, with that."""
    for candidate in candidates:
        pipeline, instance = candidate.pipeline, candidate.instance
        if offers(pipeline, Pipeline.traits):
            fields = instance.fields()
            yield (
                candidate,
                TimedKernel(
                    direction=instance.direction,
                    dtype=instance.dtype.value,
                    fields=fields,
                    traits=pipeline.traits(fields),
                ),
            )


def _described(
    names: frozenset[str], members: list[tuple[int, Mapping[str, Any]]], reasons: Mapping[str, str]
) -> SameKernels:
    first = members[0][1]
    differing = [
        name
        for name in first
        if name in names and any(fields.get(name) != first[name] for _, fields in members)
    ]
    return SameKernels(
        instances=tuple(index for index, _ in members),
        fields=tuple(differing),
        reasons=tuple(dict.fromkeys(reasons[name] for name in differing)),
    )


def with_unfused(selection: Selection) -> tuple[Selection, Mapping[str, str]]:
    """Return a selection with the instances behind it that its own would be if nothing were fused to them.

    :returns: the selection, and content key of an instance -> that of the one without what is fused.
    :raises UsageError: nothing is fused to any instance.
    """
    known = {candidate.instance.key: candidate for candidate in selection.candidates}
    names = KernelNames((candidate.name, candidate.instance) for candidate in selection.candidates)
    # behind those that filters and rules left out, whose numbers mean them
    number = len(selection.candidates) + selection.filtered + len(selection.invalid)
    number = max(number, 1 + max(candidate.index for candidate in selection.candidates))
    pairs: dict[str, str] = {}
    for candidate in selection.candidates:
        plain = candidate.pipeline.unfused(candidate.instance)
        if plain is None:
            continue
        pairs[candidate.instance.key] = plain.key
        if plain.key not in known:
            name = names.take(candidate.pipeline.kernel_name(plain), plain)
            known[plain.key] = replace(candidate, index=number, instance=plain, name=name)
            number += 1
    if not pairs:
        raise UsageError(f"nothing is fused to the kernels of {selection.source}: they have no epilogue")
    # whether those that were added are valid is asked before they are written
    return replace(selection, candidates=tuple(known.values()), arch=None), pairs
