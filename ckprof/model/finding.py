"""One line of ``ckprof doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FindingState(Enum):
    """How a finding bears on the use of ckprof."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"
    #: not there, and not needed for the embedded default
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was looked for, what was found, and what to do if it is missing."""

    topic: str
    state: FindingState
    detail: str
    #: a command or a sentence; empty when nothing needs doing
    advice: str = ""
