"""A catalog in memory: a header and the records of one list of instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType


class CatalogRecord(msgspec.Struct, frozen=True):
    """One instance of a catalog file: the base of all record types.

    A record type adds its fields and sets ``forbid_unknown_fields``. The order of the fields is the order of
    the keys in the file, with ``id`` first; converters make records from values in that order.
    """

    #: number of the instance within its catalog
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The content of one catalog file.

    ``variant`` decides the record type, the direction and which pipelines may claim a record; the plugins
    register variants (see :class:`~ckprof.plugin.protocols.CatalogVariant`).
    """

    variant: str
    ndim: int
    layout: Layout
    dtype: DataType
    #: instances of the variant's ``record_type``, in file order
    records: tuple[CatalogRecord, ...]
