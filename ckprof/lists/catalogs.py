"""Catalogs as JSON text: read and checked, and written byte for byte as upstream's converter does."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from ckprof.errors import InputError
from ckprof.files import write_output
from ckprof.model.catalog import Catalog
from ckprof.model.types import spellings
from ckprof.plain_text import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.plugin.protocols import CatalogVariant


def read_catalog(data: bytes, path: Path, variants: Mapping[str, CatalogVariant]) -> Catalog:
    """Return the catalog that ``data`` describes, with every record checked against its variant.

    :param path: where the data comes from; only for messages.
    :param variants: known variants by name.
    :raises InputError: the text is no JSON (with line and column), or a value is wrong (with its path in the
        document, e.g. ``instances[3].tile_m``).
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    header = _decode(msgspec.json.Decoder(Header), data, path)
    variant = variants.get(header.variant)
    if variant is None:
        names = sorted(variants)
        raise InputError(f"variant: {unknown_name('catalog variant', header.variant, names)}", path)
    document = _decode(document_decoder(variant.record_type), data, path)
    return _checked(document, variant, path)


def _checked(document: CatalogDocument, variant: CatalogVariant, path: Path) -> Catalog:
    layouts = {layout.name: layout for layout in variant.layouts}
    layout = layouts.get(document.layout.lower())
    if layout is None:
        names = [*layouts]
        raise InputError(f"layout: {unknown_name('layout', document.layout, sorted(names))}", path)
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


def _decode(decoder: msgspec.json.Decoder[Any], data: bytes, path: Path) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as exc:
        raise InputError(_located(str(exc)), path) from None
    except msgspec.DecodeError as exc:
        _raise_syntax_error(data, path, str(exc))
    except UnicodeDecodeError as exc:
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
        raise InputError(f"not UTF-8 text ({exc.reason})", path, *_position(data, exc.start)) from None
    except RecursionError:
        raise InputError("nested too deeply, expected a catalog", path) from None
    # Accepted there, as for instance NaN is: take the byte offset that our decoder names.
    offset = re.search(r"\(byte (\d+)\)", message)
    position = _position(data, int(offset[1])) if offset else (None, None)
    raise InputError(f"not valid JSON: {message}", path, *position)


def _position(data: bytes, offset: int) -> tuple[int, int]:
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


def to_document(catalog: Catalog) -> CatalogDocument:
    """Return the document that holds a catalog."""
    return CatalogDocument(
        variant=catalog.variant,
        ndim_spatial=catalog.ndim,
        layout=catalog.layout.name,
        datatype=catalog.dtype.value,
        instances=list(catalog.records),
    )


#: records whose text is held at once
_RECORDS_AT_ONCE: Final = 10_000


def render_catalog(catalog: Catalog) -> str:
    """Return the text of the catalog file: two-space indent, ASCII, no newline at the end."""
    document = to_document(catalog)
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
