"""From the names that users give to lists: which files these are, what converters read and explain there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError, system_errors
from ckprof.lists.catalogs import read_catalog
from ckprof.model.conversion import Conversion, ConversionRequest, ListReading
from ckprof.paths import conf_root
from ckprof.sanitize import encodable, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from ckprof.model.conversion import ExplainedLine
    from ckprof.plugin.registry import Registry


#: bytes up to which a file is read at once; larger ones are read piece by piece where the converter can
_HELD: Final = 1 << 20

#: bytes that are read from a pipe or a device
_PIPE_LIMIT: Final = 1 << 28


def find_list(name: str) -> Path:
    """Return the file that ``name`` means: a path, or else a list that ships with ckprof.

    A shipped list may be named with or without ``conf/`` before and with or without its suffix after it, so
    that the same command works inside and outside a checkout.

    :raises InputError: there is no such file, or it is a directory.
    """
    path = Path(name)
    if path.is_dir():
        raise InputError("is a directory, expected an instance list", path)
    if path.exists():
        return path
    relative = Path(*path.parts[1:]) if path.parts and path.parts[0] == "conf" else path
    for suffix in ("", *LIST_SUFFIXES):
        shipped = conf_root() / relative.with_name(f"{relative.name}{suffix}")
        if not path.is_absolute() and shipped.is_file():
            return shipped
    if path.is_symlink():
        raise InputError(f"a link to {path.readlink()}, which does not exist", path)
    hint = _list_suggestion(path) if name != "-" else "; standard input is /dev/stdin"
    raise InputError(f"no such file, and no shipped list of that name{hint} (see 'ckprof list lists')", path)


def _list_suggestion(path: Path) -> str:
    """Return the hint at a file beside the one that does not exist, or at a shipped list of similar name."""
    root = conf_root()
    shipped = [list_path.relative_to(root).with_suffix("").as_posix() for list_path in find_lists(root, None)]
    same = [name for name in shipped if name.rpartition("/")[2] == path.name.removesuffix(".conf")]
    if same and len(path.parts) == 1:
        return f"; did you mean one of {', '.join(same)}?"
    beside = [str(one) for one in path.parent.glob("*.conf") if suggestion(path.stem, [one.stem])]
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
    """Convert a list in any dialect that a converter plugin recognises, or read a JSON catalog.

    :param direction: id of the direction that the list must belong to, or ``None``.
    :param reading: how it is read.
    :raises InputError: the file cannot be read, is in no known dialect, or has wrong lines.
    """
    return read_request(list_request(path, reading or ListReading(), direction), registry)


def read_request(request: ConversionRequest, registry: Registry) -> Conversion:
    """Do what :func:`read_list` does with content that has been read.

    :raises InputError: it is in no known dialect, or has wrong lines.
    """
    converter = next((one for one in registry.converters if one.recognises(request)), None)
    if converter is not None:
        conversion = converter.convert(request if converter.streams else _whole(request))
    elif is_json(request.data):
        data = _whole(request).data
        conversion = Conversion(
            path=request.path,
            converter="catalog",
            catalogs=(read_catalog(data, request.path, registry.variants.as_mapping()),),
            lines=data.count(b"\n") + 1,
        )
    else:
        raise _unknown(request, registry)
    for catalog in conversion.catalogs:
        owner = registry.variants.find(catalog.variant).direction
        if request.direction not in (None, owner):
            raise InputError(
                f"the list holds instances of {owner}, expected {request.direction}", conversion.path
            )
        dtype, layout = request.dtype and request.dtype.value, request.layout and request.layout.name
        options = ("--dtype", dtype, catalog.dtype.value), ("--layout", layout, catalog.layout.name)
        for option, asked, found in options:
            if asked not in (None, found):
                raise InputError(f"the list says {found}, {option} says {asked}", conversion.path)
    registry.manager.call("ckprof_after_conversion", request=request, conversion=conversion)
    return conversion


def list_request(
    path: Path, reading: ListReading, direction: str | None = None, *, whole: bool = False
) -> ConversionRequest:
    """Return the request to convert a file.

    :param direction: id of the direction that was asked for.
    :param whole: all of a large file is wanted at once.
    :raises InputError: the file cannot be read, or does not fit into the memory.
    """
    data, stream = _content(path)
    # what it is called in results, whatever the bytes of its name are
    request = reading.request(Path(encodable(str(path))), data, direction, stream)
    return _whole(request) if whole else request


def _content(path: Path) -> tuple[bytes, Callable[[], BinaryIO] | None]:
    """Return the content of a file, or the beginning of a large one with a function that opens it."""
    with system_errors(InputError, "cannot read", path):
        if not path.is_file():
            # A pipe can be read but once, and a device may never end.
            with path.open("rb") as stream:
                data = stream.read(_PIPE_LIMIT + 1)
            if len(data) > _PIPE_LIMIT:
                raise InputError(f"more than {_PIPE_LIMIT >> 20} MiB that come from no regular file", path)
            return data, None
        with path.open("rb") as stream:
            data = stream.read(_HELD + 1)
    return data, None if len(data) <= _HELD else lambda: path.open("rb")


def _whole(request: ConversionRequest) -> ConversionRequest:
    """Return the request with all of the content in memory.

    :raises InputError: it is more than the memory holds.
    """
    if request.stream is None:
        return request
    try:
        with system_errors(InputError, "cannot read", request.path), request.stream() as stream:
            return replace(request, data=stream.read(), stream=None)
    except MemoryError:
        raise InputError("too large for the memory of this machine", request.path) from None


def is_json(data: bytes) -> bool:
    """Say whether the content starts like a JSON catalog, and not like an instance of C++ in braces."""
    return re.match(rb"[\xef\xbb\xbf \t\r\n]*\{(?!\s*\w+<)", data) is not None


#: how files of gzip, xz, bzip2, zip and zstd begin
_PACKED: Final = (b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")


def _unknown(request: ConversionRequest, registry: Registry) -> InputError:
    dialects = ", ".join(registry.converters.ids)
    if not request.data.strip():
        return InputError("the file is empty, expected an instance list", request.path)
    if request.data.startswith(_PACKED):
        return InputError("a packed file: unpack it first", request.path)
    return InputError(f"not an instance list in a known dialect ({dialects})", request.path)


#: endings of files that may be lists: legacy lists, and JSON documents
LIST_SUFFIXES: Final = (".conf", ".json")


def find_tree(name: str) -> Path:
    """Return the folder that ``name`` means: a path, or else the tree of lists that ships with ckprof.

    :raises InputError: there is no such folder.
    """
    folder = find_folder(name)
    if folder is not None:
        return folder
    is_file = "is a file, expected a folder of lists (a single list goes with --conf)"
    raise InputError(is_file if Path(name).exists() else "no such folder", name)


def find_lists(root: Path, set_name: str | None) -> list[Path]:
    """Return the lists below ``root``, sorted by path.

    :param set_name: take only those in a folder of this name, at any depth.
    :raises InputError: there is none.
    """
    lists = sorted(path for path in root.rglob("*") if path.suffix in LIST_SUFFIXES and path.is_file())
    if not lists:
        raise InputError(f"no list ({' or '.join(LIST_SUFFIXES)}) below this folder", root)
    if set_name is None:
        return lists
    chosen = [path for path in lists if set_name in path.relative_to(root.parent).parts[:-1]]
    if not chosen:
        folders = sorted({path.parent.name for path in lists})
        raise InputError(f"no list in a folder {set_name!r}; lists are in {', '.join(folders)}", root)
    return chosen


#: FILE:LINE or FILE:LINE:COLUMN
_PLACE: Final = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+)(?::[0-9]+)?:?", re.DOTALL)


def explain(text: str, registry: Registry, reading: ListReading) -> ExplainedLine:
    """Explain a line, or the line of a file that ``FILE:LINE`` or ``FILE:LINE:COLUMN`` names.

    A file may be a path, or the name of a list that ships with ckprof.

    :param reading: how lines are read.
    :raises InputError: the file cannot be read or has no such line.
    :raises UsageError: no converter knows such a line.
    """
    # No list line ends in a colon and a number, and no file name holds a bracket of a template.
    named = _PLACE.fullmatch(text) if "<" not in text else None
    if named is None:
        return _explain(text, reading.request(Path("line"), b""), registry)
    path, number = find_list(named["file"]), int(named["line"])
    request = list_request(path, replace(reading, lenient=True))
    if is_json(request.data):
        raise InputError("is a JSON catalog; only lines of lists and logs can be explained", path)
    if number < 1:
        raise InputError("lines count from 1", path)
    explained = _explain("", request, registry, number)
    if explained.errors:
        alone = _explain(explained.text, replace(request, data=b"", stream=None), registry)
        if not alone.errors:
            error = "; ".join(message for _, message in explained.errors)
            return replace(alone, path=path, line=number, list_error=error)
    return replace(explained, path=path, line=number)


def _explain(
    text: str, request: ConversionRequest, registry: Registry, number: int | None = None
) -> ExplainedLine:
    for converter in registry.converters:
        explained = converter.explain(text, request, number)
        if explained is not None:
            return explained
    raise UsageError("no converter plugin can explain lines")
