"""Rules that an instance must obey to be built, as values with stable ids.

This is the one place that says what is valid: lists, rule sets, single instances and runs all ask it,
through :meth:`unmet_requirements <ckprof.plugin.protocols.Pipeline.unmet_requirements>`.
A rule sees the instance, the architecture and the API level of the CK Tile headers, and answers with what is
broken. What depends on the problem is no business of a rule: the kernel's own support test answers that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from ckprof.model.architecture import API_LEVELS, LATEST_API_LEVEL, Architecture, find_architecture
from ckprof.model.instance import Instance
from ckprof.model.requirement import UnmetRequirement
from ckprof_plugins.directions._convolution.kernel import ConvKernel, ConvOperation

#: Lanes of a wave that kernels of several families are laid out for.
_WIDE_WAVE = 64

_Instance_co = TypeVar("_Instance_co", bound=Instance, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSubject(Generic[_Instance_co]):
    """What a rule judges: an instance and where it shall be built."""

    instance: _Instance_co
    arch: Architecture
    api_level: str
    #: what the instance's direction computes; ``None`` for a direction that the family has no kernels for
    operation: ConvOperation | None
    #: ids of the directions that the family has kernels for
    directions: frozenset[str]

    @property
    def kernel(self) -> ConvKernel | None:
        """Which of CK Tile's kernels computes the instance's direction."""
        return self.operation.kernel if self.operation else None


class Violation(NamedTuple):
    """How an instance breaks a rule."""

    #: a sentence with the numbers
    message: str
    #: what the instance has
    found: int | str
    #: the limit, or what is allowed
    allowed: int | str


#: says how a rule is broken, or ``None``; takes instances of the rule's family
Check = Callable[[RuleSubject[Any]], Violation | None]
#: id -> check, in the order in which they are asked and reported
Rules = Mapping[str, Check]


def broken_rules(
    rules: Rules,
    instance: Instance,
    arch: str,
    api_level: str,
    directions: frozenset[str],
    operation: ConvOperation | None = None,
) -> tuple[UnmetRequirement, ...]:
    """Return every rule that an instance breaks; the parameters are fields of what rules judge.

    :raises UsageError: there is no such architecture.
    """
    subject = RuleSubject(
        instance=instance,
        arch=find_architecture(arch),
        api_level=api_level,
        operation=operation,
        directions=directions,
    )
    return tuple(
        UnmetRequirement(rule=rule, message=broken.message, found=broken.found, allowed=broken.allowed)
        for rule, check in rules.items()
        if (broken := check(subject)) is not None
    )


def known_api_level(candidate: RuleSubject[Instance]) -> Violation | None:
    """The API level is one of those for which kernels can be written."""
    if candidate.api_level in API_LEVELS:
        return None
    levels = ", ".join(API_LEVELS)
    return Violation(
        f"no kernel can be written for API level {candidate.api_level}, only for {levels}",
        candidate.api_level,
        levels,
    )


def wide_waves(candidate: RuleSubject[Instance]) -> Violation | None:
    """For kernels that count on 64 lanes."""
    lanes = candidate.arch.lanes_per_wave
    if lanes == _WIDE_WAVE:
        return None
    return Violation(
        f"the kernel is laid out for waves of {_WIDE_WAVE} lanes, those of {candidate.arch.name} have "
        f"{lanes}",
        lanes,
        _WIDE_WAVE,
    )


def latest_level(feature: str) -> Check:
    """Return the rule that the headers are of the latest API level, for a family that others lack.

    :param feature: what the older ones lack, in the plural.
    """

    def check(candidate: RuleSubject[Instance]) -> Violation | None:
        level = candidate.api_level
        if level not in API_LEVELS or level == LATEST_API_LEVEL:
            return None
        return Violation(
            f"API level {level} has no {feature} (API level {LATEST_API_LEVEL} has them)",
            level,
            LATEST_API_LEVEL,
        )

    return check


def known_direction(candidate: RuleSubject[Instance]) -> Violation | None:
    """The instance belongs to one of its family's directions."""
    if candidate.operation is not None:
        return None
    direction = candidate.instance.direction
    directions = ", ".join(sorted(candidate.directions))
    return Violation(
        f"no kernel can be written for direction {direction}, only for {directions}", direction, directions
    )
