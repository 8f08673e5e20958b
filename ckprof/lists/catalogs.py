"""Catalogs as JSON text: read and checked, written byte for byte as upstream does, compared with the disk."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from ckprof.errors import InputError
from ckprof.files import resolved, write_output
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import CatalogState, Difference
from ckprof.model.types import spellings
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.catalog import CatalogRecord
    from ckprof.model.conversion import CatalogFile, ListReading, TreePlan
    from ckprof.plugin.protocols import CatalogVariant
    from ckprof.plugin.registry import Registry


def read_catalog(data: bytes, path: Path, variants: Mapping[str, CatalogVariant]) -> Catalog:
    """Return the catalog that ``data`` describes, with every record checked against its variant.

    :param path: where the data comes from; only for messages.
    :param variants: known variants by name.
    :raises InputError: the text is no JSON (with line and column), or a value is wrong (with its path in the
        document, e.g. ``instances[3].tile_m``).
    """
    header = decode_json(msgspec.json.Decoder(Header), data, path)
    variant = variants.get(header.variant)
    if variant is None:
        message = unknown_name("catalog variant", header.variant, sorted(variants))
        raise InputError(f"variant: {message}", path)
    document = decode_json(document_decoder(variant.record_type), data, path)
    return _checked(document, variant, path)


def _checked(document: CatalogDocument, variant: CatalogVariant, path: Path) -> Catalog:
    layouts = {layout.name: layout for layout in variant.layouts}
    layout = layouts.get(document.layout.lower())
    if layout is None:
        raise InputError(f"layout: {unknown_name('layout', document.layout, sorted(layouts))}", path)
    if layout.ndim != document.ndim_spatial:
        raise InputError(
            f"ndim_spatial: {document.ndim_spatial} does not fit layout {layout.name}, "
            f"which has {layout.ndim} spatial dimensions",
            path,
        )
    dtype = {item.value: item for item in variant.dtypes}.get(document.datatype)
    if dtype is None:
        raise InputError(
            f"datatype: expected one of {spellings(variant.dtypes)}, got {document.datatype!r}", path
        )
    seen: dict[int, int] = {}
    for index, record in enumerate(document.instances):
        first = seen.setdefault(record.id, index)
        if first != index:
            raise InputError(
                f"instances[{index}].id: {record.id} is already the id of instances[{first}]", path
            )
    return Catalog(
        variant=document.variant,
        ndim=document.ndim_spatial,
        layout=layout,
        dtype=dtype,
        records=tuple(document.instances),
    )


def decode_json(decoder: msgspec.json.Decoder[Any], data: bytes, path: Path) -> Any:
    """Return what the JSON text of a list of instances holds.

    :raises InputError: as :func:`read_catalog` does.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as exc:
        raise InputError(_located(str(exc)), path) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        _raise_syntax_error(data, path, str(exc))
    except RecursionError:
        raise InputError("nested too deeply, expected a catalog", path) from None


def _located(message: str) -> str:
    """Turn ``Expected `int`, got `str` - at `$.instances[3].tile_m``` round: the place comes first."""
    text, separator, path = message.partition(" - at `")
    text = text[:1].lower() + text[1:].replace("`", "'")
    if not separator:
        return text
    path = path.rstrip("`").removeprefix("$").removeprefix(".")
    return f"{path}: {text}" if path else text


def _raise_syntax_error(data: bytes, path: Path, message: str) -> NoReturn:
    """Raise the error for text that is no JSON; the standard library's parser knows line and column."""
    if not data.strip():
        raise InputError("the file is empty, expected a JSON catalog", path)
    try:
        json.loads(data.decode())
    except json.JSONDecodeError as exc:
        raise InputError(f"not valid JSON: {exc.msg}", path, exc.lineno, exc.colno) from None
    except UnicodeDecodeError as exc:
        raise InputError(f"not UTF-8 text ({exc.reason})", path, *text_position(data, exc.start)) from None
    except RecursionError:
        raise InputError("nested too deeply, expected a catalog", path) from None
    # Accepted there, as for instance NaN is: take the byte offset that our decoder names.
    offset = re.search(r"\(byte (\d+)\)", message)
    position = text_position(data, int(offset[1])) if offset else (None, None)
    raise InputError(f"not valid JSON: {message}", path, *position)


def text_position(data: bytes, offset: int) -> tuple[int, int]:
    """Return the one-based line and column of a byte; columns count characters."""
    before = data[:offset]
    start = before.rfind(b"\n") + 1
    return before.count(b"\n") + 1, len(before[start:].decode(errors="replace")) + 1


class Header(msgspec.Struct):
    """What is read first; ``variant`` decides how the rest is checked."""

    variant: str


class CatalogDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a catalog file, in file order. ``instances`` is narrowed per variant."""

    variant: str
    ndim_spatial: int
    layout: str
    datatype: str
    instances: list[Any]


@cache
def document_decoder(record_type: type[CatalogRecord]) -> msgspec.json.Decoder[Any]:
    """Return a decoder for documents whose instances are of ``record_type``.

    The key order and the header keys are those of :class:`CatalogDocument`.
    """
    typed = msgspec.defstruct(
        "TypedDocument",
        # an annotation that is only known now
        [("instances", GenericAlias(list, (record_type,)))],
        bases=(CatalogDocument,),
        forbid_unknown_fields=True,
    )
    return msgspec.json.Decoder(typed)


#: records whose text is held at once
_RECORDS_AT_ONCE: Final = 10_000


def render_catalog(catalog: Catalog) -> str:
    """Return the text of the catalog file: two-space indent, ASCII, no newline at the end."""
    document = CatalogDocument(
        variant=catalog.variant,
        ndim_spatial=catalog.ndim,
        layout=catalog.layout.name,
        datatype=catalog.dtype.value,
        instances=list(catalog.records),
    )
    packed = msgspec.json.encode(document)
    if packed.isascii():
        return msgspec.json.format(packed, indent=2).decode()
    # Only the standard library escapes other characters the way upstream's files have them.
    return json.dumps(msgspec.to_builtins(document), indent=2)


def write_catalog(path: Path, catalog: Catalog) -> bool:
    """Write the catalog file unless it holds these bytes already; see :func:`~ckprof.files.write_output`."""
    if len(catalog.records) <= _RECORDS_AT_ONCE:
        return write_output(path, render_catalog(catalog))
    return write_output(path, _pieces(catalog))


def _pieces(catalog: Catalog) -> Iterator[bytes]:
    """Yield the text of a catalog of any length, some records at a time."""
    head, tail = render_catalog(replace(catalog, records=())).rsplit("[]", 1)
    yield f"{head}[".encode()
    for start in range(0, len(catalog.records), _RECORDS_AT_ONCE):
        part = render_catalog(replace(catalog, records=catalog.records[start : start + _RECORDS_AT_ONCE]))
        records = part[len(head) + 1 : part.rindex("\n", 0, part.rindex("]"))]
        yield f"{',' if start else ''}{records}".encode()
    yield f"\n  ]{tail}".encode()


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
    return [_checked_file(output) for output in outputs]


def _checked_file(output: CatalogFile) -> CatalogFile:
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
        yield Difference(where=_RECORDS, message="is not a list of records")
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
