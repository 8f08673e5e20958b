"""Why an instance cannot be built or cannot serve a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: id of the requirement that a device has enough memory of its own
DEVICE_MEMORY: Final = "device-memory"
#: and that memory is free which it has: what is not met now may be met later
MEMORY_IN_USE: Final = "memory-in-use"
#: what stands last where not all requirements were tested: the others that are named may not be all
#: (``CKPROF_UNTESTED`` of kernel libraries)
UNTESTED: Final = "untested"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetRequirement:
    """One rule that an instance breaks."""

    #: stable id of the rule, e.g. ``wave-divides-tile``
    rule: str
    #: a sentence with the numbers
    message: str
    #: what the instance has ...
    found: int | str | None = None
    #: ... and the limit, or what is allowed; ``None`` for a rule that compares nothing
    allowed: int | str | None = None


def untested(message: str) -> UnmetRequirement:
    """Return what says that there may be more requirements that are not met."""
    return UnmetRequirement(rule=UNTESTED, message=message)


#: for kernels that were never asked about a problem
NOT_ASKED: Final = untested("the kernel was not asked about the problem: there may be more that is not met")
