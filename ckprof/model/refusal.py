"""Why an instance cannot be built or cannot serve a problem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One rule that an instance breaks."""

    #: stable id of the rule, e.g. ``wave-divides-tile``
    rule: str
    #: a sentence with the numbers
    message: str
