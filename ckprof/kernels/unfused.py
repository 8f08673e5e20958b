"""Instances beside what they would be if nothing were fused to their sums of products."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.kernels.candidates import KernelNames
from ckprof.plugin.protocols import FusingPipeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.model.instance import Instance


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
        plain = _unfused(candidate)
        if plain is None:
            continue
        pairs[candidate.instance.key] = plain.key
        if plain.key not in known:
            known[plain.key] = names.candidate(
                plain, candidate.pipeline, index=number, source=candidate.source, defect=candidate.defect
            )
            number += 1
    if not pairs:
        raise UsageError(f"nothing is fused to the kernels of {selection.source}: they have no epilogue")
    # whether those that were added are valid is asked before they are written
    return replace(selection, candidates=tuple(known.values()), arch=None), pairs


def _unfused(candidate: Candidate) -> Instance | None:
    pipeline = candidate.pipeline
    return pipeline.unfused(candidate.instance) if isinstance(pipeline, FusingPipeline) else None
