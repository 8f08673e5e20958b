"""Whole folders of lists as catalogs: planned by a converter plugin, written, or compared with the disk."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.files import resolved
from ckprof.lists.catalogs import render_catalog, write_catalog
from ckprof.model.conversion import CatalogState, Difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ckprof.model.catalog import Catalog
    from ckprof.model.conversion import CatalogFile, ListReading, TreePlan
    from ckprof.plugin.registry import Registry


def plan_tree(root: Path, reading: ListReading, registry: Registry) -> TreePlan:
    """Convert the lists of a folder with the first converter that finds any there.

    :raises InputError: none does.
    """
    for converter in registry.converters:
        plan = converter.plan_tree(root, reading)
        if plan is not None:
            for item in plan[1]:
                if item.conversion is not None:
                    registry.manager.call(
                        "ckprof_after_conversion", request=item.request, conversion=item.conversion
                    )
            return plan
    raise InputError("no instance list in this folder", root)


def write_outputs(outputs: Sequence[CatalogFile], within: Path | None = None) -> list[CatalogFile]:
    """Write catalogs. Files that are not named stay as they are.

    :param within: a folder that no symbolic link may lead out of.
    :raises InputError: a file cannot be written, or a link leads out of ``within``.
    """
    root = within.resolve() if within else None
    for output in outputs:
        # All of them before the first one is written.
        resolved(output.path, root)
    written = (write_catalog(output.path, output.catalog) for output in outputs)
    states = (CatalogState.WRITTEN if changed else CatalogState.UNCHANGED for changed in written)
    return [replace(output, state=state) for output, state in zip(outputs, states, strict=True)]


def check_outputs(outputs: Sequence[CatalogFile]) -> list[CatalogFile]:
    """Compare files with the catalogs that they should hold; nothing is written.

    :raises InputError: a file is there but cannot be read.
    """
    return [_checked(output) for output in outputs]


def _checked(output: CatalogFile) -> CatalogFile:
    try:
        different = tuple(differences(output.path.read_bytes(), output.catalog))
    except (FileNotFoundError, NotADirectoryError):
        return replace(output, state=CatalogState.MISSING)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", output.path) from None
    state = CatalogState.DIFFERS if different else CatalogState.AS_EXPECTED
    return replace(output, state=state, differences=different)


_RECORDS: Final = "instances"


def differences(data: bytes, expected: Catalog) -> list[Difference]:
    """Compare the content of a catalog file with a catalog; empty if the file is what would be written.

    Records are compared by their ids.
    """
    text = render_catalog(expected)
    if data == text.encode():
        return []
    try:
        on_disk = json.loads(data)
    except (ValueError, RecursionError) as exc:
        return [Difference(where="", message=f"not valid JSON: {exc}")]
    if not isinstance(on_disk, dict):
        return [Difference(where="", message="not a JSON object, expected a catalog")]
    different = list(_catalog_differences(on_disk, json.loads(text)))
    return different or [Difference(where="", message=_first_other_byte(data, text.encode()))]


def _catalog_differences(on_disk: dict[str, Any], expected: dict[str, Any]) -> Iterator[Difference]:
    yield from _fields("", _without_records(on_disk), _without_records(expected))
    records = on_disk.get(_RECORDS)
    if not isinstance(records, list):
        yield Difference(where=_RECORDS, message="is no list of records")
        return
    by_id: dict[int, dict[str, Any]] = {}
    for index, record in enumerate(records):
        id_ = record.get("id") if isinstance(record, dict) else None
        if not isinstance(id_, int):
            yield Difference(where=f"{_RECORDS}[{index}]", message="has no id")
        elif id_ in by_id:
            yield Difference(where=f"{_RECORDS}[{index}]", message=f"repeats the id {id_}")
        else:
            by_id[id_] = record
    for record in expected[_RECORDS]:
        where = f"{_RECORDS}[id {record['id']}]"
        other = by_id.pop(record["id"], None)
        if other is None:
            yield Difference(where=where, expected=json.dumps(record), message="is missing")
        else:
            yield from _fields(f"{where}.", other, record)
    for id_, record in by_id.items():
        yield Difference(
            where=f"{_RECORDS}[id {id_}]", on_disk=json.dumps(record), message="is not in the list"
        )


def _without_records(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != _RECORDS}


def _fields(prefix: str, on_disk: dict[str, Any], expected: dict[str, Any]) -> Iterator[Difference]:
    for name in (*expected, *(name for name in on_disk if name not in expected)):
        present = json.dumps(on_disk[name]) if name in on_disk else ""
        wanted = json.dumps(expected[name]) if name in expected else ""
        if present != wanted:
            yield Difference(where=f"{prefix}{name}", on_disk=present, expected=wanted)


def _first_other_byte(data: bytes, expected: bytes) -> str:
    """Say where two texts with the same values part: order of keys or records, blanks, final newline."""
    common = next(
        (index for index, pair in enumerate(zip(data, expected, strict=False)) if pair[0] != pair[1]),
        min(len(data), len(expected)),
    )
    line = data.count(b"\n", 0, common) + 1
    column = common - data.rfind(b"\n", 0, common)
    return f"same values in another order or spacing, first at line {line} column {column}"
