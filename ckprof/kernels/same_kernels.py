"""Which instances differ only in what their target takes no notice of, and what it runs in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.model.same_kernels import SameKernels, Substitution
from ckprof.plugin.protocols import FieldIgnoringTarget, SubstitutingTarget
from ckprof.plugin.timing import TimedKernel, TimedPipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Target

#: the fields that have a meaning, and the names of the others
_Kind = tuple[frozenset[tuple[str, Any]], frozenset[str]]


def same_kernels(target: Target, candidates: Iterable[Candidate]) -> tuple[SameKernels, ...]:
    """Return the groups of instances that are the same kernel on a target, none if it tells nothing."""
    if not isinstance(target, FieldIgnoringTarget):
        return ()
    groups: dict[_Kind, list[tuple[int, Mapping[str, Any]]]] = {}
    reasons: dict[str, str] = {}
    for candidate, kernel in _timed(candidates):
        fields = kernel.fields
        ignored = target.ignored_fields(kernel)
        reasons |= {name: some.reason for some in ignored for name in some.names}
        names = frozenset(name for some in ignored for name in some.names)
        kept = frozenset((name, value) for name, value in fields.items() if name not in names)
        groups.setdefault((kept, names), []).append((candidate.index, fields))
    return tuple(
        _described(names, members, reasons) for (_, names), members in groups.items() if len(members) > 1
    )


def substitutions(
    target: Target, candidates: Iterable[Candidate], problems: Sequence[Problem]
) -> tuple[Substitution, ...]:
    """Return the kernels that a target runs in place of instances' for problems; none if it tells nothing."""
    if not isinstance(target, SubstitutingTarget):
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
        if isinstance(pipeline, TimedPipeline):
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
