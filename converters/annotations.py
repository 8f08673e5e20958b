"""Remarks after a line that say what the line itself cannot: ``... # ckprof: two_stage=true, id=7``.

Native lines need them for the few fields that CK Tile does not print. Other readers see a comment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof_converters.compiled import LineError, Problem, shorten
from ckprof_converters.records import GemmRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.catalog import CatalogRecord

MARK: Final = "# ckprof:"

_SETTING: Final = re.compile(r'\s*([a-z_]+)=("[^"]*"|[A-Za-z0-9.+-]+)\s*')


def annotation_of(values: Mapping[str, Any]) -> str:
    """Return the annotation that sets these fields, after its blanks; empty if there are none."""
    if not values:
        return ""
    settings = ", ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in values.items())
    return f"  {MARK} {settings}"


def settings_in(line: str, record_type: type[CatalogRecord]) -> dict[str, Any]:
    """Return the fields that the annotation of a line sets.

    :raises LineError: the annotation is not of the form ``field=value, ...`` with fields of the record.
    """
    start = line.find(MARK)
    if start < 0:
        return {}
    start += len(MARK)
    types = {field.name: field.type for field in msgspec.structs.fields(record_type)}
    settings: dict[str, Any] = {}
    for setting in line[start:].split(","):
        match = _SETTING.fullmatch(setting)
        if match is None:
            raise LineError(
                Problem(f"expected field=value in an annotation, got {shorten(setting.strip())}", start)
            )
        name, text = match.groups()
        if name not in types:
            raise LineError(Problem(f"an annotation sets {name}, which catalogs do not have", start))
        try:
            settings[name] = msgspec.json.decode(text, type=types[name])
        except msgspec.MsgspecError:
            raise LineError(
                Problem(f"an annotation sets {name} to {shorten(text)}, which it cannot be", start)
            ) from None
        start += len(setting) + 1
    return settings


def stated_operation(line: str) -> str | None:
    """Return the element-wise operation that the annotation of a line says; ``None`` if it says none.

    :raises LineError: the annotation is wrong.
    """
    if "elementwise_op" not in line.partition(MARK)[2]:
        return None
    said: str | None = settings_in(line, GemmRecord).get("elementwise_op")
    return said
