"""JSON documents that are lists in other forms than catalogs: exports, and catalogs of the dispatcher."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from ckprof.errors import InputError
from ckprof.formatting import counted
from ckprof.lists.catalogs import decode_json, read_catalog
from ckprof.lists.list_files import is_json
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import Conversion
from ckprof.model.types import DataType
from ckprof.plugin.protocols import CatalogVariant, Converter
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.model.catalog import CatalogRecord
    from ckprof.model.conversion import ConversionRequest
    from ckprof.model.tensor import Layout

VERSION: Final = 1
#: fields that all instances have: catalogs say them once for all records
_HEADER: Final = ("pipeline", "direction", "ndim", "layout", "dtype")
#: what a catalog of the dispatcher may have that others do not
_FURTHER: Final = re.compile(rb'"kind"\s*:|"variant"\s*:\s*"forward_depthwise"')
_INDEX: Final = re.compile(r"instances\[(\d+)\]")
#: ids of skipped entries that a note has
_SHOWN: Final = 5


class _Exported(msgspec.Struct):
    """What is read of one instance: its name, number and content key follow from the fields."""

    fields: dict[str, Any]


class _Document(msgspec.Struct):
    version: int
    instances: list[_Exported]


#: name of the variant, layout and type of a catalog
_Kind = tuple[str, "Layout", "DataType"]


class JsonLists(Converter):
    """What both readers have.

    The registry hands over the kinds of catalogs with :meth:`use_families`.
    """

    family_type: Final = CatalogVariant
    #: what a document of the kind holds
    mark: ClassVar[re.Pattern[bytes]]

    def __init__(self) -> None:
        self._variants: Sequence[CatalogVariant] = ()

    def use_families(self, families: Sequence[CatalogVariant]) -> None:
        """Make records of these kinds of catalogs from now on."""
        self._variants = families

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to JSON documents with the mark."""
        return is_json(request.data) and self.mark.search(request.data) is not None

    def conversion(
        self,
        request: ConversionRequest,
        catalogs: Iterable[Catalog],
        notes: Iterable[str],
        converter: str = "",
    ) -> Conversion:
        """Return the answer.

        :param converter: what read the document, if not this.
        """
        return Conversion(
            path=request.path,
            converter=converter or self.id,
            catalogs=tuple(catalogs),
            lines=request.data.count(b"\n") + 1,
            notes=tuple(notes),
        )


class ExportedInstances(JsonLists):
    """Reads what ``list`` and ``generate`` export, of all families whose catalogs say how."""

    id: Final = "exported"
    label: Final = "instances that --export-json wrote"
    mark = re.compile(rb'"schema"\s*:\s*"ckprof-instances"')

    def convert(self, request: ConversionRequest) -> Conversion:
        """Return one catalog per kind of records, layout and type, in the order of their first instances.

        Of instances of several directions, those that are asked for are taken, and a note counts the others.

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
        read = [
            Catalog(variant=variant, ndim=layout.ndim, layout=layout, dtype=dtype, records=tuple(records))
            for (variant, layout, dtype), records in catalogs.items()
        ]
        asked = {variant.name for variant in self._variants if variant.direction == request.direction}
        chosen = [catalog for catalog in read if catalog.variant in asked] or read
        others = sum(len(catalog.records) for catalog in read) - sum(len(one.records) for one in chosen)
        if others:
            notes[f"excluded {counted(others, 'instance')} of other directions than {request.direction}"] = (
                None
            )
        return self.conversion(request, chosen, notes)

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


class DispatcherCatalogs(JsonLists):
    """Reads catalogs with entries of unknown families, and depthwise ones of three dimensions.

    Entries with a ``kind`` are of families beside GEMMs, e.g. ``direct_conv``: skipped, and counted by name.
    Catalogs of depthwise convolutions say three dimensions in some versions; their fields are those of two.
    """

    id: Final = "dispatcher"
    label: Final = "catalogs of CK Tile's dispatcher with entries of further families"
    mark = re.compile(rb'"variant"\s*:\s*"')

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to catalogs that hold such entries, or may do so in a part that has not been read yet."""
        is_further = _FURTHER.search(request.data) is not None or request.stream is not None
        return is_further and super().recognises(request)

    def convert(self, request: ConversionRequest) -> Conversion:
        """Return the catalog without entries of unknown families, which notes count.

        :raises InputError: the text is no JSON, or what remains is no catalog.
        """
        path, data = request.path, request.data
        document = decode_json(msgspec.json.Decoder(dict[str, Any]), data, path)
        notes: list[str] = []
        entries = document.get("instances")
        kept: Sequence[int] = ()
        if isinstance(entries, list):
            skipped: dict[str, list[str]] = defaultdict(list)
            for entry in entries:
                if isinstance(entry, dict) and "kind" in entry:
                    skipped[str(entry["kind"])].append(str(entry.get("id")))
            kept = [n for n, one in enumerate(entries) if not (isinstance(one, dict) and "kind" in one)]
            for kind, ids in skipped.items():
                shown = ", ".join(ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
                notes.append(
                    f"skipped {counted(len(ids), 'instance')} of the unknown family {kind!r} (id {shown})"
                )
            document["instances"] = [entries[n] for n in kept]
        if document.get("variant") == "forward_depthwise" and document.get("ndim_spatial") == 3:
            document["ndim_spatial"] = 2
            notes.append("ndim_spatial 3 is read as 2: the fields of depthwise kernels are of two dimensions")
        variants = {variant.name: variant for variant in self._variants}
        try:
            # what is as it was read has its own lines and columns in messages
            catalog = read_catalog(msgspec.json.encode(document) if notes else data, path, variants)
        except InputError as error:
            place = _INDEX.sub(lambda found: f"instances[{kept[int(found[1])]}]", error.message)
            raise InputError(place, path, error.line, error.column) from None
        return self.conversion(request, (catalog,), notes, self.id if notes else "catalog")
