"""Chosen kernels as a list that every command reads."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ckprof.catalog.writer import render_catalog
from ckprof.errors import InputError, UsageError
from ckprof.flow.candidates import list_candidates
from ckprof.flow.list_files import read_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.instances import Selection
    from ckprof.api.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.conversion import Conversion


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedList:
    """Kernels as a list, proved to be read as the same kernels again."""

    #: one kernel a line; empty where no list has a spelling for them
    text: str
    catalogs: tuple[Catalog, ...]
    kernels: int
    #: why only a catalog can hold them; empty if a list can
    unlisted: str = ""

    def content(self, path: Path) -> str:
        """Return what belongs into a file: a catalog for a name that ends in ``.json``, otherwise the list.

        :raises UsageError: a catalog holds one type and layout, and the kernels are of several; or no list
            has a spelling for them.
        """
        if path.suffix != ".json":
            if self.unlisted:
                raise UsageError(f"{path}: {self.unlisted}; name a catalog, {path.with_suffix('.json')}")
            return self.text
        if len(self.catalogs) != 1:
            raise UsageError(
                f"{path}: the kernels make {len(self.catalogs)} catalogs; name a list, such as "
                f"{path.with_suffix('.conf')}"
            )
        return render_catalog(self.catalogs[0])


def emitted_list(session: Session, selection: Selection, names: Sequence[str]) -> EmittedList:
    """Return some kernels of a selection, in the order of their names, as a list and as catalogs.

    :raises InputError: one is not in the selection, or has no spelling in a list.
    """
    by_name = {one.name: one for one in selection.candidates}
    missing = [name for name in names if name not in by_name]
    if missing:
        raise InputError(f"{missing[0]} is not among the {len(by_name)} instances of {selection.source}")
    chosen = [by_name[name] for name in names]
    if not chosen:
        return EmittedList(text="", catalogs=(), kernels=0)
    records = _records_without_lines(session, selection, [one.instance.key for one in chosen])
    if records.kernels:
        if records.kernels < len(chosen):
            raise InputError(
                f"{len(chosen) - records.kernels} of the kernels are in no list: none can be written"
            )
        return records
    said = _lines_of_records(session, selection)
    lines = [said.get(one.instance.key) or _line_of_instance(session, one) for one in chosen]
    text = "".join(f"{line}\n" for line in lines)
    conversion = _read(session, text)
    keys = {one.instance.key for one in list_candidates([conversion], session.registry)}
    for one in chosen:
        if one.instance.key not in keys:
            raise InputError(f"{one.name} has no spelling in a list that is read as the same kernel again")
    return EmittedList(text=text, catalogs=tuple(conversion.catalogs), kernels=len(chosen))


def _records_without_lines(session: Session, selection: Selection, keys: Sequence[str]) -> EmittedList:
    """Return those of some instances whose catalogs no list has a spelling for, in their order."""
    registry = session.registry
    order = {key: place for place, key in enumerate(keys)}
    catalogs = []
    variants = dict.fromkeys(catalog.variant for one in selection.conversions for catalog in one.catalogs)
    for conversion in selection.conversions:
        for catalog in conversion.catalogs:
            variant = registry.variants.find(catalog.variant)
            if variant.native is not None:
                continue
            found: dict[int, CatalogRecord] = {}
            for record in catalog.records:
                pipeline = registry.pipeline_of(catalog, record)
                key = pipeline.make_instance(catalog, variant.direction, record).key
                if key in order:
                    found.setdefault(order.pop(key), record)
            records = [record for _, record in sorted(found.items())]
            if records:
                numbered = (msgspec.structs.replace(record, id=place) for place, record in enumerate(records))
                catalogs.append(replace(catalog, records=tuple(numbered)))
    return EmittedList(
        text="",
        catalogs=tuple(catalogs),
        kernels=len(keys) - len(order),
        unlisted=f"no list has a spelling for instances of {', '.join(variants)}",
    )


def _line_of_instance(session: Session, candidate: Candidate) -> str:
    """Return the line of an instance that no list has: CK Tile's text, with what it leaves out."""
    wanted = candidate.instance.fields()
    conversion = _read(session, candidate.instance_string + "\n")
    for catalog in conversion.catalogs:
        variant = session.registry.variants.find(catalog.variant)
        for record in catalog.records:
            pipeline = session.registry.pipeline_of(catalog, record)
            read = pipeline.make_instance(catalog, variant.direction, record).fields()
            other = {name: value for name, value in wanted.items() if read.get(name) != value}
            if "pipeline" in other:
                # a record names a family by a field that is set
                families = {str(read["pipeline"]): False, str(other.pop("pipeline")): True}
                other |= {name: on for name, on in families.items() if name in record.__struct_fields__}
            if not other or variant.native is None or not set(other) <= set(record.__struct_fields__):
                break
            changed = msgspec.structs.replace(record, **other)
            return variant.native(replace(catalog, records=(changed,)))[-1]
    return candidate.instance_string


def _lines_of_records(session: Session, selection: Selection) -> dict[str, str]:
    """Return content key -> line of the instances that come from lists.

    Such a line says everything that the record does, also what CK Tile's own text leaves out.
    """
    found: dict[str, str] = {}
    registry = session.registry
    for conversion in selection.conversions:
        for catalog in conversion.catalogs:
            variant = registry.variants.find(catalog.variant)
            if variant.native is None:
                continue
            for record in catalog.records:
                pipeline = registry.pipeline_of(catalog, record)
                key = pipeline.make_instance(catalog, variant.direction, record).key
                # ids are positions in the list of origin, which this one is not
                single = replace(catalog, records=(_first(record),))
                found[key] = variant.native(single)[-1]
    return found


def _first(record: CatalogRecord) -> CatalogRecord:
    return msgspec.structs.replace(record, id=0)


def _read(session: Session, text: str) -> Conversion:
    """Return what a list is read as by whoever gets it, without further hints."""
    with tempfile.TemporaryDirectory(prefix="ckprof-list-") as folder:
        path = Path(folder) / "list.conf"
        path.write_text(text, encoding="utf-8")
        return read_list(path, session.registry)
