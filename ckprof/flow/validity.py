"""What of a set of instances is valid for an architecture and an API level, and what is not and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.flow.candidates import Candidate
    from ckprof.model.requirement import UnmetRequirement


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidInstance:
    """An instance that is not valid, and every rule that it violates."""

    candidate: Candidate
    unmet_requirements: tuple[UnmetRequirement, ...]

    @property
    def reason(self) -> str:
        """All messages with their rules, on one line."""
        return "; ".join(f"{unmet.message} ({unmet.rule})" for unmet in self.unmet_requirements)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedInstances:
    """Instances in their order, valid ones apart from invalid ones."""

    valid: tuple[Candidate, ...]
    invalid: tuple[InvalidInstance, ...] = ()


def check_validity(candidates: Iterable[Candidate], arch: str, api_level: str) -> CheckedInstances:
    """Ask the pipeline of each candidate which rules it violates; a known defect comes first."""
    valid: list[Candidate] = []
    invalid: list[InvalidInstance] = []
    for candidate in candidates:
        unmet = tuple(candidate.pipeline.unmet_requirements(candidate.instance, arch, api_level))
        if candidate.defect is not None:
            unmet = (candidate.defect, *unmet)
        if unmet:
            invalid.append(InvalidInstance(candidate=candidate, unmet_requirements=unmet))
        else:
            valid.append(candidate)
    return CheckedInstances(valid=tuple(valid), invalid=tuple(invalid))
