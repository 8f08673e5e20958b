"""Catalogs as CK Tile's dispatcher wrote them, where they hold more than the kinds of records that are known.

Entries with a ``kind`` are of families beside GEMMs, e.g. ``direct_conv``: skipped, and counted by name.
Catalogs of depthwise convolutions say three dimensions in some versions; their fields are those of two.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError
from ckprof.lists.catalogs import decode_json, read_catalog
from ckprof.lists.list_files import is_json
from ckprof.model.conversion import Conversion
from ckprof.plugin.protocols import CatalogVariant, Converter
from ckprof.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.conversion import ConversionRequest

_KIND: Final = re.compile(rb'"kind"\s*:')
_VARIANT: Final = re.compile(rb'"variant"\s*:\s*"')
_DEPTHWISE: Final = re.compile(rb'"variant"\s*:\s*"forward_depthwise"')
_INDEX: Final = re.compile(r"instances\[(\d+)\]")
#: ids of skipped entries that a note has
_SHOWN: Final = 5


class DispatcherCatalogs(Converter):
    """Reads catalogs with entries of unknown families, and depthwise ones of three dimensions.

    The registry hands over the kinds of catalogs with :meth:`use_families`.
    """

    id: Final = "dispatcher"
    label: Final = "catalogs of CK Tile's dispatcher with entries of further families"
    family_type: Final = CatalogVariant

    def __init__(self) -> None:
        self._variants: Mapping[str, CatalogVariant] = {}

    def use_families(self, families: Sequence[CatalogVariant]) -> None:
        """Read these kinds of catalogs from now on."""
        self._variants = {family.name: family for family in families}

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to catalogs that hold such entries, or may do so in a part that has not been read yet."""
        data = request.data
        if not is_json(data) or not _VARIANT.search(data):
            return False
        return bool(_KIND.search(data) or _DEPTHWISE.search(data) or request.stream is not None)

    def convert(self, request: ConversionRequest) -> Conversion:
        """Return the catalog without entries of unknown families, which notes count.

        :raises InputError: the text is no JSON, or what remains is no catalog.
        """
        path, data = request.path, request.data
        document = decode_json(msgspec.json.Decoder(dict[str, Any]), data.removeprefix(b"\xef\xbb\xbf"), path)
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
        try:
            # what is as it was read has its own lines and columns in messages
            catalog = read_catalog(msgspec.json.encode(document) if notes else data, path, self._variants)
        except InputError as error:
            place = _INDEX.sub(lambda found: f"instances[{kept[int(found[1])]}]", error.message)
            raise InputError(place, path, error.line, error.column) from None
        return Conversion(
            path=path,
            converter=self.id if notes else "catalog",
            catalogs=(catalog,),
            lines=data.count(b"\n") + 1,
            notes=tuple(notes),
        )
