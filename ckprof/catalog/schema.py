"""What a catalog file looks like: its header, and the document type of each variant."""

from __future__ import annotations

from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from ckprof.model.catalog import Catalog, CatalogRecord


class Header(msgspec.Struct):
    """What is read first; ``variant`` decides how the rest is checked."""

    variant: str


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a catalog file, in file order. ``instances`` is narrowed per variant."""

    variant: str
    ndim_spatial: int
    layout: str
    datatype: str
    instances: list[Any]


@cache
def document_decoder(record_type: type[CatalogRecord]) -> msgspec.json.Decoder[Any]:
    """Return a decoder for documents whose instances are of ``record_type``.

    The key order and the header keys are those of :class:`Document`.
    """
    typed = msgspec.defstruct(
        "TypedDocument",
        # an annotation that is only known now
        [("instances", GenericAlias(list, (record_type,)))],
        bases=(Document,),
        forbid_unknown_fields=True,
    )
    return msgspec.json.Decoder(typed)


def to_document(catalog: Catalog) -> Document:
    """Return the document that holds a catalog."""
    return Document(
        variant=catalog.variant,
        ndim_spatial=catalog.ndim,
        layout=catalog.layout.name,
        datatype=catalog.dtype.value,
        instances=list(catalog.records),
    )
