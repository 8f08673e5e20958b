"""Instances that ``--export-json`` wrote, read back: their fields become the records of catalogs again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError
from ckprof.lists.catalogs import decode_json
from ckprof.lists.list_files import is_json
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import Conversion
from ckprof.model.types import DataType
from ckprof.plain_text import unknown_name
from ckprof.plugin.protocols import CatalogVariant, Converter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.catalog import CatalogRecord
    from ckprof.model.conversion import ConversionRequest
    from ckprof.model.tensor import Layout

_MARK: Final = re.compile(rb'"schema"\s*:\s*"ckprof-instances"')
VERSION: Final = 1
#: fields that all instances have: catalogs say them once for all records
_HEADER: Final = ("pipeline", "direction", "ndim", "layout", "dtype")


class _Exported(msgspec.Struct):
    """What is read of one instance: its name, number and content key follow from the fields."""

    fields: dict[str, Any]


class _Document(msgspec.Struct):
    version: int
    instances: list[_Exported]


#: name of the variant, layout and type of a catalog
_Kind = tuple[str, "Layout", "DataType"]


class ExportedInstances(Converter):
    """Reads what ``list`` and ``generate`` export, of all families whose catalogs say how.

    The registry hands over the kinds of catalogs with :meth:`use_families`.
    """

    id: Final = "exported"
    label: Final = "instances that --export-json wrote"
    family_type: Final = CatalogVariant

    def __init__(self) -> None:
        self._variants: Sequence[CatalogVariant] = ()

    def use_families(self, families: Sequence[CatalogVariant]) -> None:
        """Make records of these kinds of catalogs from now on."""
        self._variants = families

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to JSON documents that name the schema of exports."""
        return is_json(request.data) and _MARK.search(request.data) is not None

    def convert(self, request: ConversionRequest) -> Conversion:
        """Return one catalog per kind of records, layout and type, in the order of their first instances.

        :raises InputError: the document is wrong, or an instance is no such record.
        """
        document = decode_json(msgspec.json.Decoder(_Document), request.data, request.path)
        if document.version != VERSION:
            raise InputError(
                f"version: {document.version} is not known, expected {VERSION}: export the instances again",
                request.path,
            )
        catalogs: dict[_Kind, list[CatalogRecord]] = {}
        notes: dict[str, None] = {}
        for number, item in enumerate(document.instances):
            try:
                self._add(number, item.fields, catalogs, notes)
            except InputError as error:
                raise InputError(f"instances[{number}].fields: {error.message}", request.path) from None
        return Conversion(
            path=request.path,
            converter=self.id,
            catalogs=tuple(
                Catalog(variant=variant, ndim=layout.ndim, layout=layout, dtype=dtype, records=tuple(records))
                for (variant, layout, dtype), records in catalogs.items()
            ),
            lines=request.data.count(b"\n") + 1,
            notes=tuple(notes),
        )

    def _add(
        self,
        number: int,
        fields: dict[str, Any],
        catalogs: dict[_Kind, list[CatalogRecord]],
        notes: dict[str, None],
    ) -> None:
        """Add the record of an instance to the catalog where it belongs."""
        missing = [name for name in _HEADER if name not in fields]
        if missing:
            raise InputError(f"no {', '.join(missing)}; an export has every field of an instance")
        family, direction = fields["pipeline"], fields["direction"]
        variant = self._variant(family, direction)
        layouts = {layout.name: layout for layout in variant.layouts}
        layout = layouts.get(fields["layout"])
        if layout is None:
            raise InputError(unknown_name("layout", str(fields["layout"]), layouts))
        dtypes = {dtype.value: dtype for dtype in DataType}
        dtype = dtypes.get(fields["dtype"])
        if dtype is None:
            raise InputError(unknown_name("dtype", str(fields["dtype"]), dtypes))
        values = {name: value for name, value in fields.items() if name not in _HEADER}
        if variant.record_values is not None:
            values = {**variant.record_values(family, values)}
        try:
            record = msgspec.convert({"id": number, **values}, variant.record_type)
        except msgspec.ValidationError as error:
            raise InputError(str(error).replace("`", "'")) from None
        if variant.pipeline_of is not None and variant.pipeline_of(record) != family:
            notes[f"instances of the kernel family {family} are read as such with --family {family}"] = None
        catalogs.setdefault((variant.name, layout, dtype), []).append(record)

    def _variant(self, family: str, direction: str) -> CatalogVariant:
        """Return the kind of catalogs of a family: its own, or else that of several families."""
        of_direction = [variant for variant in self._variants if variant.direction == direction]
        for variant in sorted(of_direction, key=lambda variant: not variant.pipeline):
            if variant.pipeline in ("", family):
                return variant
        known = dict.fromkeys(variant.direction for variant in self._variants)
        if direction not in known:
            raise InputError(unknown_name("direction", str(direction), known))
        raise InputError(f"no catalog of {direction} holds instances of the kernel family {family}")
