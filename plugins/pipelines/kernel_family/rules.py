"""Rules that an instance must obey to be built, as values with stable ids.

A rule sees the instance, the architecture and the API level of the CK Tile headers, and answers with a
sentence if it is broken. What depends on the problem is no business of a rule: the kernel's own support test
answers that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ckprof.model.instance import Instance
from ckprof.model.refusal import Refusal

#: API levels of CK Tile's headers for which kernels can be written.
API_LEVELS = ("2026-06",)

_Instance_co = TypeVar("_Instance_co", bound=Instance, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Generic[_Instance_co]):
    """What a rule judges: an instance and where it shall be built."""

    instance: _Instance_co
    arch: str
    api_level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One reason not to build an instance."""

    id: str
    #: a sentence with the numbers if the rule is broken, else ``None``; takes candidates of the rule's family
    check: Callable[[Candidate[Any]], str | None]


def broken_rules(rules: Sequence[Rule], instance: Instance, arch: str, api_level: str) -> tuple[Refusal, ...]:
    """Return every rule that the instance breaks, in the order of ``rules``."""
    candidate = Candidate(instance=instance, arch=arch, api_level=api_level)
    found = []
    for rule in rules:
        message = rule.check(candidate)
        if message is not None:
            found.append(Refusal(rule=rule.id, message=message))
    return tuple(found)


def _api_level(candidate: Candidate[Instance]) -> str | None:
    if candidate.api_level in API_LEVELS:
        return None
    known = ", ".join(API_LEVELS)
    return f"no kernel can be written for API level {candidate.api_level}, only for {known}"


def _wave_size(candidate: Candidate[Instance]) -> str | None:
    if candidate.arch.startswith("gfx9"):
        return None
    return f"the kernel is laid out for waves of 64 lanes, those of {candidate.arch} have 32"


#: The API level is one of those for which kernels can be written.
API_LEVEL_RULE = Rule(id="api-level", check=_api_level)

#: For kernels that count on 64 lanes: only the gfx9 architectures have them.
WAVE_SIZE_RULE = Rule(id="wave-size", check=_wave_size)


def direction_rule(directions: frozenset[str]) -> Rule:
    """Return the rule that an instance belongs to one of its family's directions."""

    def check(candidate: Candidate[Instance]) -> str | None:
        if candidate.instance.direction in directions:
            return None
        known = ", ".join(sorted(directions))
        return f"no kernel can be written for direction {candidate.instance.direction}, only for {known}"

    return Rule(id="direction", check=check)
