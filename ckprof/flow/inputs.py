"""From the paths that a user names to converted lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.catalog.reader import read_catalog
from ckprof.errors import InputError
from ckprof.model.conversion import Conversion, ConversionRequest
from ckprof.paths import conf_root

if TYPE_CHECKING:
    from ckprof.model.dtype import DataType
    from ckprof.model.layout import ConvLayout
    from ckprof.plugin.registry import Registry


def find_list(name: str) -> Path:
    """Return the file that ``name`` means: a path, or else a list that ships with ckprof.

    A shipped list may be named with or without ``conf/`` in front and with or without ``.conf`` behind, so
    that the same command works inside and outside a checkout.

    :raises InputError: there is no such file, or it is a directory.
    """
    path = Path(name)
    if path.is_dir():
        raise InputError("is a directory, expected an instance list", path)
    if path.exists():
        return path
    relative = Path(*path.parts[1:]) if path.parts and path.parts[0] == "conf" else path
    for candidate in (relative, relative.with_name(f"{relative.name}.conf")):
        shipped = conf_root() / candidate
        if not path.is_absolute() and shipped.is_file():
            return shipped
    raise InputError("no such file, and no shipped list of that name (see 'ckprof list lists')", path)


def read_list(
    path: Path,
    registry: Registry,
    *,
    direction: str | None = None,
    layout: ConvLayout | None = None,
    dtype: DataType | None = None,
    mma_k_table: tuple[int, int] | None = None,
    lenient: bool = False,
    upstream_comments: bool = False,
) -> Conversion:
    """Read a JSON catalog, or convert a list in any dialect that a converter plugin recognises.

    :param direction: id of the direction that the list must belong to, or ``None``.
    :raises InputError: the file cannot be read, is in no known dialect, or has wrong lines.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    request = ConversionRequest(
        path=path,
        data=data,
        direction=direction,
        layout=layout,
        dtype=dtype,
        lenient=lenient,
        upstream_comments=upstream_comments,
        **({"mma_k_table": mma_k_table} if mma_k_table else {}),
    )
    conversion = _catalog_conversion(request, registry) if _is_json(data) else _convert(request, registry)
    _check_directions(conversion, registry, direction)
    registry.manager.call("ckprof_after_conversion", request=request, conversion=conversion)
    return conversion


def _is_json(data: bytes) -> bool:
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"


def _catalog_conversion(request: ConversionRequest, registry: Registry) -> Conversion:
    catalog = read_catalog(request.data, request.path, registry.variants.as_mapping())
    if request.layout is not None and request.layout != catalog.layout:
        raise InputError(
            f"the catalog says {catalog.layout.name}, --layout says {request.layout.name}", request.path
        )
    if request.dtype is not None and request.dtype is not catalog.dtype:
        raise InputError(
            f"the catalog says {catalog.dtype.value}, --dtype says {request.dtype.value}", request.path
        )
    return Conversion(
        path=request.path,
        converter="catalog",
        catalogs=(catalog,),
        lines=request.data.count(b"\n") + 1,
    )


def _convert(request: ConversionRequest, registry: Registry) -> Conversion:
    for converter in registry.converters:
        if converter.recognises(request):
            return converter.convert(request)
    known = "; ".join(f"{converter.id}: {converter.label}" for converter in registry.converters)
    if not request.data.strip():
        raise InputError("the file is empty, expected an instance list", request.path)
    raise InputError(f"not an instance list in a known dialect ({known})", request.path)


def _check_directions(conversion: Conversion, registry: Registry, direction: str | None) -> None:
    for catalog in conversion.catalogs:
        owner = registry.variants.find(catalog.variant).direction
        if direction is not None and owner != direction:
            raise InputError(f"the list holds instances of {owner}, expected {direction}", conversion.path)
