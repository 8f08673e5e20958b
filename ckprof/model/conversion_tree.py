"""A folder of instance lists and the folder of catalogs that it gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ckprof.model.conversion import MMA_K_TABLE

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from ckprof.errors import InputError
    from ckprof.model.catalog import Catalog
    from ckprof.model.conversion import Conversion, ConversionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRequest:
    """A folder to convert; the other fields mean the same as those of a conversion request."""

    root: Path
    mma_k_table: tuple[int, int] = MMA_K_TABLE
    upstream_comments: bool = False
    lenient: bool = False


class ListState(Enum):
    """What became of one list of a tree."""

    CONVERTED = "converted"
    FAILED = "failed"
    #: no list at all, e.g. a link to a folder
    SKIPPED = "skipped"
    #: a list before it failed
    NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeList:
    """One list of a tree."""

    path: Path
    state: ListState
    #: what the converter was asked and what it answered; ``None`` unless the list was converted
    request: ConversionRequest | None = None
    conversion: Conversion | None = None
    #: why it failed
    error: InputError | None = None
    #: why it was skipped
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCatalog:
    """One catalog of the tree's output, not written yet."""

    #: where it belongs, relative to the output folder
    place: PurePath
    catalog: Catalog
    #: the lists that it is made of, in order
    sources: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlan:
    """What a tree of lists gives.

    The catalogs are those of all lists up to the first one that failed.
    """

    catalogs: tuple[PlannedCatalog, ...]
    lists: tuple[TreeList, ...]

    @property
    def failures(self) -> tuple[InputError, ...]:
        """Why lists failed."""
        return tuple(item.error for item in self.lists if item.error is not None)
