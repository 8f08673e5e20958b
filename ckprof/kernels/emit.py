"""Chosen kernels as a list that every command reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof.files import scratch_folder
from ckprof.kernels.candidates import list_candidates
from ckprof.lists.catalogs import render_catalog
from ckprof.lists.list_files import read_list
from ckprof.model.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.model.conversion import Conversion
    from ckprof.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedList:
    """Kernels as a list, proved to be read as the same kernels again."""

    #: one kernel a line: those that a line can say
    text: str
    #: all kernels
    catalogs: tuple[Catalog, ...]
    kernels: int
    #: those that no line says
    unsaid: tuple[Catalog, ...] = ()

    def files(self, path: Path) -> dict[Path, str]:
        """Return all files that say the kernels: the one of that name, and catalogs for what it cannot say.

        A name that ends in ``.json`` is that of a catalog.

        :raises UsageError: a catalog holds one type and layout, and the kernels are of several.
        """
        if path.suffix == ".json":
            if len(self.catalogs) != 1:
                raise UsageError(
                    f"{path}: the kernels make {len(self.catalogs)} catalogs; name a list, such as "
                    f"{path.with_suffix('.conf')}"
                )
            return {path: render_catalog(self.catalogs[0])}
        texts = {path: self.text} if self.text or not self.unsaid else {}
        single = len(self.unsaid) == 1
        for catalog in self.unsaid:
            kind = "" if single else f"_{catalog.variant}_{catalog.layout.name}_{catalog.dtype.value}"
            texts[path.with_name(f"{path.stem}{kind}.json")] = render_catalog(catalog)
        return texts


def emitted_list(session: Session, selection: Selection, names: Sequence[str]) -> EmittedList:
    """Return some kernels of a selection, in the order of their names, as a list and as catalogs.

    :raises InputError: one is not in the selection, or neither a list nor a catalog can say it.
    """
    by_name = {candidate.name: candidate for candidate in selection.candidates}
    missing = [name for name in names if name not in by_name]
    if missing:
        raise InputError(f"{missing[0]} is not among the {len(by_name)} instances of {selection.source}")
    chosen = [by_name[name] for name in names]
    lines = _lines_of_records(session, selection)
    for candidate in chosen:
        lines.setdefault(candidate.instance.key, _line_of_instance(session, candidate))
    keys = [candidate.instance.key for candidate in chosen]
    wanted = {key: lines[key] for key in keys if lines[key]}
    in_lines = _exactly_said(session, wanted)
    text = _text(line for key, line in wanted.items() if key in in_lines)
    conversion = _read(session, text) if text else None
    unsaid = _joined(
        _record_of(session, candidate) for candidate in chosen if candidate.instance.key not in in_lines
    )
    listed = conversion.catalogs if conversion is not None else ()
    return EmittedList(text=text, catalogs=_joined((*listed, *unsaid)), unsaid=unsaid, kernels=len(chosen))


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


def _exactly_said(session: Session, lines: Mapping[str, str]) -> set[str]:
    """Return the content keys of the kernels whose lines are read as nothing but wanted kernels.

    A line may stand for kernels of several types, and nothing is read from what is no line of a list.

    :param lines: content key of a wanted kernel -> its line.
    """
    if not lines:
        return set()
    keys: dict[str, set[str]] = {}
    for candidate in list_candidates([_read(session, _text(lines.values()))], session.registry):
        keys.setdefault(candidate.source, set()).add(candidate.instance.key)
    return {key for read in keys.values() if read <= set(lines) for key in read}


def _record_of(session: Session, candidate: Candidate) -> Catalog:
    """Return a catalog of one kernel, made of the fields of its instance.

    :raises InputError: no kind of catalog has these fields and gives the same kernel again.
    """
    instance = candidate.instance
    fields = instance.fields()
    recorded = candidate.pipeline.record(instance)
    for variant in session.registry.variants:
        names = variant.record_type.__struct_fields__[1:]
        if variant.direction != instance.direction:
            continue
        if recorded is not None and type(recorded) is variant.record_type:
            record = recorded
        elif recorded is None and set(names) <= set(fields):
            record = msgspec.convert({"id": 0, **{name: fields[name] for name in names}}, variant.record_type)
        else:
            continue
        catalog = Catalog(
            variant=variant.name,
            ndim=instance.ndim,
            layout=instance.layout,
            dtype=instance.dtype,
            records=(record,),
        )
        if session.registry.instance_of(catalog, record)[1].key == instance.key:
            return catalog
    raise InputError(f"{candidate.name} cannot be written in a list, nor in a catalog")


def _joined(catalogs: Iterable[Catalog]) -> tuple[Catalog, ...]:
    """Return catalogs such that each kind, type and layout has one, with ids in order."""
    groups: dict[tuple[object, ...], list[Catalog]] = {}
    for catalog in catalogs:
        groups.setdefault((catalog.variant, catalog.ndim, catalog.layout.name, catalog.dtype), []).append(
            catalog
        )
    joined = []
    for group in groups.values():
        records = [record for catalog in group for record in catalog.records]
        if len(group) > 1:
            records = [msgspec.structs.replace(item, id=number) for number, item in enumerate(records)]
        joined.append(replace(group[0], records=tuple(records)))
    return tuple(joined)


def _line_of_instance(session: Session, candidate: Candidate) -> str:
    """Return the line of an instance that no list has: CK Tile's text, with what it leaves out.

    :returns: an empty text if that is no line of a list.
    """
    wanted = candidate.instance.fields()
    try:
        conversion = _read(session, candidate.instance_string + "\n")
    except InputError:
        return ""
    for catalog in conversion.catalogs:
        variant = session.registry.variants.find(catalog.variant)
        for record in catalog.records:
            read = session.registry.instance_of(catalog, record)[1].fields()
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
    lines: dict[str, str] = {}
    registry = session.registry
    for conversion in selection.conversions:
        for catalog in conversion.catalogs:
            variant = registry.variants.find(catalog.variant)
            if variant.native is None:
                continue
            for record in catalog.records:
                key = registry.instance_of(catalog, record)[1].key
                # ids are positions in the list of origin, which this one is not
                single = replace(catalog, records=(msgspec.structs.replace(record, id=0),))
                lines[key] = variant.native(single)[-1]
    return lines


def _read(session: Session, text: str) -> Conversion:
    """Return what a list is read as by whoever gets it, without further hints."""
    with scratch_folder() as folder:
        path = folder / "list.conf"
        path.write_text(text, encoding="utf-8")
        return read_list(path, session.registry)
