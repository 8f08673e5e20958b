"""What is told while problems are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.events import Event

if TYPE_CHECKING:
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultProblemUsed(Event):
    """No problem was given: the instances are run on this one."""

    problem: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemNote(Event):
    """Problem lines were left out, or are not taken word for word."""

    message: str
