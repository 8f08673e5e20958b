"""What is told while lists are read and kernels are built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.events import Event

if TYPE_CHECKING:
    from ckprof.model.conversion import Conversion


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRead(Event):
    """A list was read and converted."""

    conversion: Conversion
