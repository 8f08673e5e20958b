"""What of a set of instances is valid for an architecture and an API level, and what is not and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import NOT_ASKED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.requirement import UnmetRequirement


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedInstances:
    """Instances in their order, valid ones apart from invalid ones."""

    valid: tuple[Candidate, ...]
    invalid: tuple[Rejection, ...] = ()

    def renumbered(self) -> CheckedInstances:
        """Return the same, with the positions of valid and of invalid ones counted apart."""
        return CheckedInstances(
            valid=tuple(replace(item, index=index) for index, item in enumerate(self.valid)),
            invalid=tuple(
                replace(item, candidate=replace(item.candidate, index=index))
                for index, item in enumerate(self.invalid)
            ),
        )


def check_validity(candidates: Iterable[Candidate], arch: str, api_level: str) -> CheckedInstances:
    """Ask the pipeline of each candidate which rules it violates; a known defect comes first."""
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
    return CheckedInstances(valid=tuple(valid), invalid=tuple(invalid))
