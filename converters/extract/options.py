"""What to extract of an installed library, and how."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Selection(Enum):
    """Which instances a list holds."""

    #: what the library has
    LIBRARY = "library"
    #: what the lists that upstream ships say of it
    SHIPPED = "shipped"


class Order(Enum):
    """In which order a list has its instances."""

    #: by the source files of the functions
    SOURCE = "source"
    #: by the calls of the factory
    FACTORY = "factory"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """What to extract, and how."""

    engine: str = "xdl"
    selection: Selection = Selection.LIBRARY
    order: Order = Order.SOURCE
    #: print the prefetch stages as they are
    computed_stages: bool = False
    #: every n-th line of a list is in the list for tests
    every: int = 5
