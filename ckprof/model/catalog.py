"""A catalog in memory: a header and the records of one list of instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import msgspec

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import ConvLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The content of one catalog file.

    ``variant`` decides the record type, the direction and which pipelines may claim a record; the plugins
    register variants (see :class:`~ckprof.plugin.protocols.CatalogVariant`).
    """

    variant: str
    ndim: int
    layout: ConvLayout
    dtype: DataType
    #: instances of the variant's ``record_type``, in file order
    records: tuple[msgspec.Struct, ...]
