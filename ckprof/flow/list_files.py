"""From the paths that a user names to converted lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.catalog.reader import read_catalog
from ckprof.errors import InputError
from ckprof.model.conversion import Conversion, ConversionRequest, ListReading
from ckprof.model.suggestion import suggestion
from ckprof.paths import conf_root
from ckprof.plugin.protocols import StreamingConverter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from ckprof.plugin.registry import Registry

#: bytes up to which a file is read at once; larger ones are read piece by piece where the converter can
_HELD: Final = 1 << 20

#: bytes that are read from a pipe or a device
_PIPE_LIMIT: Final = 1 << 28


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
    hint = _list_suggestion(path)
    raise InputError(f"no such file, and no shipped list of that name{hint} (see 'ckprof list lists')", path)


def _list_suggestion(path: Path) -> str:
    """Return the hint at a file beside the one that does not exist, or at a shipped list of similar name."""
    root = conf_root()
    shipped = sorted(one.relative_to(root).with_suffix("").as_posix() for one in root.rglob("*.conf"))
    same = [name for name in shipped if name.rpartition("/")[2] == path.name.removesuffix(".conf")]
    if same and len(path.parts) == 1:
        return f"; did you mean one of {', '.join(same)}?"
    beside = [str(one) for one in path.parent.glob("*.conf")] if path.parent.is_dir() else []
    return suggestion(str(path), beside) or suggestion(path.as_posix().removesuffix(".conf"), shipped)


def find_folder(name: str) -> Path | None:
    """Return the folder of lists that ``name`` means, like :func:`find_list`; ``None`` if it is no folder."""
    path = Path(name)
    if path.is_dir():
        return path
    relative = Path(*path.parts[1:]) if path.parts and path.parts[0] == "conf" else path
    shipped = conf_root() / relative
    return shipped if name and not path.exists() and not path.is_absolute() and shipped.is_dir() else None


def read_list(
    path: Path, registry: Registry, *, direction: str | None = None, reading: ListReading | None = None
) -> Conversion:
    """Read a JSON catalog, or convert a list in any dialect that a converter plugin recognises.

    :param direction: id of the direction that the list must belong to, or ``None``.
    :param reading: how it is read.
    :raises InputError: the file cannot be read, is in no known dialect, or has wrong lines.
    """
    request = list_request(path, reading or ListReading(), direction)
    if is_json(request.data):
        conversion = _catalog_conversion(_whole(request), registry)
    else:
        conversion = _convert(request, registry)
    _check_directions(conversion, registry, direction)
    registry.manager.call("ckprof_after_conversion", request=request, conversion=conversion)
    return conversion


def list_request(path: Path, reading: ListReading, direction: str | None = None) -> ConversionRequest:
    """Return the request to convert a file.

    :param direction: id of the direction that was asked for.
    :raises InputError: the file cannot be read.
    """
    data, stream = _content(path)
    return reading.request(path, data, direction, stream)


def _content(path: Path) -> tuple[bytes, Callable[[], BinaryIO] | None]:
    """Return the content of a file, or the beginning of a large one with a function that opens it."""
    try:
        if not path.is_file():
            # A pipe can be read but once, and a device may never end.
            with path.open("rb") as stream:
                data = stream.read(_PIPE_LIMIT + 1)
            if len(data) > _PIPE_LIMIT:
                raise InputError(f"more than {_PIPE_LIMIT >> 20} MiB that come from no regular file", path)
            return data, None
        with path.open("rb") as stream:
            data = stream.read(_HELD + 1)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    return data, None if len(data) <= _HELD else lambda: path.open("rb")


def _whole(request: ConversionRequest) -> ConversionRequest:
    """Return the request with all of the content in memory.

    :raises InputError: it is more than the memory holds.
    """
    if request.stream is None:
        return request
    try:
        with request.stream() as stream:
            return replace(request, data=stream.read(), stream=None)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", request.path) from None
    except MemoryError:
        raise InputError("too large for the memory of this machine", request.path) from None


def is_json(data: bytes) -> bool:
    """Say whether the content starts like a JSON catalog."""
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
            streams = isinstance(converter, StreamingConverter) and converter.streams
            return converter.convert(request if streams else _whole(request))
    known = "; ".join(f"{converter.id}: {converter.label}" for converter in registry.converters)
    if not request.data.strip():
        raise InputError("the file is empty, expected an instance list", request.path)
    raise InputError(f"not an instance list in a known dialect ({known})", request.path)


def _check_directions(conversion: Conversion, registry: Registry, direction: str | None) -> None:
    for catalog in conversion.catalogs:
        owner = registry.variants.find(catalog.variant).direction
        if direction is not None and owner != direction:
            raise InputError(f"the list holds instances of {owner}, expected {direction}", conversion.path)
