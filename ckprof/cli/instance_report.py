"""Instances, and why others were left out, as ``list`` and ``generate`` print and export them."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

import msgspec
from tabulate import tabulate

from ckprof.catalog.writer import write_atomically
from ckprof.plain_text import csv_cell
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.api.instances import Selection
    from ckprof.flow.candidates import Candidate

#: Values of ``--format``.
FORMATS: Final = ("table", "json", "csv", "names")
SCHEMA: Final = "ckprof-instances"
VERSION: Final = 1

_REASON_HEADERS: Final = ("name", "rule", "found", "allowed", "message")


def render_instances(chosen: Selection, format_: str) -> str:
    """Return the instances in one of :data:`FORMATS`."""
    if format_ == "names":
        return "\n".join(candidate.name for candidate in chosen.candidates)
    if format_ == "json":
        return _json([_record(candidate) for candidate in chosen.candidates])
    if format_ == "csv":
        return _csv([_flat_record(candidate) for candidate in chosen.candidates])
    headers = ("instance", "pipeline", "name", "instance string", "source")
    rows = [(c.index, c.pipeline.id, c.name, c.instance_string, c.source) for c in chosen.candidates]
    return tabulate(rows, headers=headers, disable_numparse=True)


def render_reasons(chosen: Selection, format_: str) -> str:
    """Return what was left out in one of :data:`FORMATS`: one row per broken rule."""
    if format_ == "names":
        return "\n".join(one.candidate.name for one in chosen.invalid)
    rows = _reasons(chosen)
    if format_ == "json":
        return _json(rows)
    if format_ == "csv":
        return _csv(rows, _REASON_HEADERS)
    return tabulate([tuple(row.values()) for row in rows], headers=_REASON_HEADERS, disable_numparse=True)


def export_json(chosen: Selection, path: Path) -> None:
    """Write everything about the chosen instances, and why others were left out, as one JSON document.

    :raises InputError: the file cannot be written.
    """
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "generator": __version__,
        "source": chosen.source,
        "arch": chosen.arch.name if chosen.arch else None,
        "count": len(chosen.candidates),
        "instances": [_record(candidate) for candidate in chosen.candidates],
        "left_out": _reasons(chosen),
    }
    write_atomically(path, _json(document) + "\n")


def _record(candidate: Candidate) -> dict[str, Any]:
    return {
        "instance": candidate.index,
        "pipeline": candidate.pipeline.id,
        "name": candidate.name,
        "instance string": candidate.instance_string,
        "source": candidate.source,
        "key": candidate.instance.key,
        "fields": candidate.instance.fields(),
    }


def _flat_record(candidate: Candidate) -> dict[str, Any]:
    record = _record(candidate)
    fields = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in record.pop("fields").items()
    }
    return {**fields, **record}


def _reasons(chosen: Selection) -> list[dict[str, Any]]:
    return [
        {
            "name": one.candidate.name,
            "rule": rejection.rule,
            "found": rejection.found,
            "allowed": rejection.allowed,
            "message": rejection.message,
        }
        for one in chosen.invalid
        for rejection in one.unmet_requirements
    ]


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _csv(rows: Sequence[dict[str, Any]], headers: Sequence[str] = ()) -> str:
    """Return rows of possibly different fields; a field that a row lacks is empty."""
    names = list(headers) or list(dict.fromkeys(name for row in rows for name in row))
    # what people look for first comes first
    names.sort(key=lambda name: ("instance", "name").index(name) if name in ("instance", "name") else 2)
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().rstrip("\n")
