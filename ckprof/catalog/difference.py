"""How a catalog on disk differs from what its list gives, field by field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ckprof.catalog.writer import render_catalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.catalog import Catalog

_RECORDS: Final = "instances"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not as it should be."""

    #: ``datatype`` or ``instances[id 7].tile_m``; empty for the file as a whole
    where: str
    #: JSON text of the value; empty if there is none
    on_disk: str = ""
    expected: str = ""
    #: instead of two values: what is wrong
    message: str = ""

    def __str__(self) -> str:
        text = self.message or f"is {self.on_disk or 'missing'}, expected {self.expected or 'no such key'}"
        return f"{self.where}: {text}" if self.where else text


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
    found = list(_catalog_differences(on_disk, json.loads(text)))
    return found or [Difference(where="", message=_first_other_byte(data, text.encode()))]


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
        found = json.dumps(on_disk[name]) if name in on_disk else ""
        wanted = json.dumps(expected[name]) if name in expected else ""
        if found != wanted:
            yield Difference(where=f"{prefix}{name}", on_disk=found, expected=wanted)


def _first_other_byte(data: bytes, expected: bytes) -> str:
    """Say where two texts with the same values part: order of keys or records, blanks, final newline."""
    common = next(
        (index for index, pair in enumerate(zip(data, expected, strict=False)) if pair[0] != pair[1]),
        min(len(data), len(expected)),
    )
    line = data.count(b"\n", 0, common) + 1
    column = common - data.rfind(b"\n", 0, common)
    return f"same values in another order or spacing, first at line {line} column {column}"
