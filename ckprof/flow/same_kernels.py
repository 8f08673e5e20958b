"""Which instances differ only in what their target takes no notice of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.model.same_kernels import SameKernels
from ckprof.plugin.protocols import FieldIgnoringTarget
from ckprof.plugin.timing import TimedKernel, TimedPipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.flow.candidates import Candidate
    from ckprof.plugin.protocols import Target

#: the fields that have a meaning, and the names of the others
_Kind = tuple[frozenset[tuple[str, Any]], frozenset[str]]


def same_kernels(target: Target, candidates: Iterable[Candidate]) -> tuple[SameKernels, ...]:
    """Return the groups of instances that are the same kernel on a target, none if it tells nothing."""
    if not isinstance(target, FieldIgnoringTarget):
        return ()
    groups: dict[_Kind, list[tuple[int, Mapping[str, Any]]]] = {}
    reasons: dict[str, str] = {}
    for candidate in candidates:
        pipeline, instance = candidate.pipeline, candidate.instance
        if not isinstance(pipeline, TimedPipeline):
            continue
        fields = instance.fields()
        kernel = TimedKernel(
            direction=instance.direction,
            dtype=instance.dtype.value,
            fields=fields,
            traits=pipeline.traits(fields),
        )
        ignored = target.ignored_fields(kernel)
        reasons |= {name: one.reason for one in ignored for name in one.names}
        names = frozenset(name for one in ignored for name in one.names)
        kept = frozenset((name, value) for name, value in fields.items() if name not in names)
        groups.setdefault((kept, names), []).append((candidate.index, fields))
    return tuple(
        _described(names, members, reasons) for (_, names), members in groups.items() if len(members) > 1
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
