"""Archives of objects, of the kind that GNU and LLVM tools write, and Debian packages, read as streams."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from ckprof.errors import InputError, ToolchainError
from ckprof_converters.library_lists import known_lists
from ckprof_plugins.extract.headers import DEVICES, INSTANCES
from ckprof_plugins.extract.symbols import ArchiveSymbols, collect

MAGIC: Final = b"!<arch>\n"
_THIN: Final = b"!<thin>\n"
_HEADER_SIZE: Final = 60
_HEADER_END: Final = b"`\n"
_CHUNK: Final = 1 << 20

#: tables of the archive itself: indices of symbols
_INDICES: Final = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED")


class Window(io.RawIOBase):
    """A part of a file that can be read at any place."""

    def __init__(self, file: IO[bytes], begin: int, size: int) -> None:
        super().__init__()
        self._file = file
        self._begin = begin
        self._size = size
        self._place = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that any place can be read."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place, counted from the beginning of the part."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(base + offset, 0)
        return self._place

    def tell(self) -> int:
        """Return the place."""
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Read bytes from the present place on, never beyond the part."""
        left = max(self._size - self._place, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        self._file.seek(self._begin + self._place)
        data = self._file.read(wanted)
        self._place += len(data)
        return data


def members(file: IO[bytes], path: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and bytes of the members of an archive; indices of symbols are skipped.

    The bytes, from their beginning, are valid until the next member is asked for. A file that cannot seek,
    such as a stream out of a package, is read member by member.

    :raises InputError: no archive, a thin one, or a damaged one.
    """
    magic = file.read(len(MAGIC))
    if magic == _THIN:
        raise InputError("a thin archive holds no objects; use the full one", path)
    if magic != MAGIC:
        raise InputError("not an archive: it does not begin with !<arch>", path)
    long_names = b""
    offset = len(MAGIC)
    while header := file.read(_HEADER_SIZE):
        short, size = _parse(header, offset, path)
        begin = offset + _HEADER_SIZE
        if short in ("//", "ARFILENAMES/"):
            long_names = _take(file, size, path, begin)
        elif short in _INDICES:
            _skip(file, size, path, begin)
        else:
            name = _name(short, long_names, path)
            if file.seekable():
                yield name, _window(file, begin, size, path)
                file.seek(begin + size)
            else:
                yield name, io.BytesIO(_take(file, size, path, begin))
        offset = begin + size
        if size % 2:
            file.read(1)
            offset += 1


def _parse(header: bytes, offset: int, path: str) -> tuple[str, int]:
    digits = header[48:58].strip()
    if len(header) < _HEADER_SIZE or header[58:60] != _HEADER_END or not digits.isdigit():
        raise InputError(f"damaged archive: no member header at byte {offset}", path)
    return header[:16].decode("latin-1").rstrip(), int(digits)


def _name(short: str, long_names: bytes, path: str) -> str:
    if short.startswith("/") and short[1:].isdigit():
        begin = int(short[1:])
        end = long_names.find(b"\n", begin)
        if begin >= len(long_names) or end < 0:
            raise InputError(f"damaged archive: no long name at {begin}", path)
        return long_names[begin:end].decode("latin-1").rstrip("/")
    if short.startswith("#1/"):
        raise InputError("an archive of BSD kind; only those of GNU and LLVM tools are read", path)
    return short.rstrip("/")


def _window(file: IO[bytes], begin: int, size: int, path: str) -> IO[bytes]:
    end = file.seek(0, io.SEEK_END)
    if begin + size > end:
        raise InputError(f"damaged archive: a member ends {begin + size - end} bytes after its end", path)
    return Window(file, begin, size)  # type: ignore[return-value]


def _take(file: IO[bytes], size: int, path: str, begin: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise InputError(f"damaged archive: it ends in the member at byte {begin}", path)
    return data


def _skip(file: IO[bytes], size: int, path: str, begin: int) -> None:
    if file.seekable():
        file.seek(size, io.SEEK_CUR)
        return
    left = size
    while left:
        data = file.read(min(left, _CHUNK))
        if not data:
            raise InputError(f"damaged archive: it ends in the index at byte {begin}", path)
        left -= len(data)


_WANTED: Final = (f"{INSTANCES}/grouped_conv", f"{DEVICES}/device_")
_ROOT: Final = "include/"
#: what reading a damaged package raises
_DAMAGED: Final = (tarfile.TarError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError)
#: headers that are wanted beside those of instances and device classes
_OTHERS: Final = (
    "ck/config.h",
    "ck/version.h",
    "ck/utility/",
    "ck/tensor_operation/gpu/device/",
    "ck/tensor_operation/gpu/grid/gridwise_gemm_pipeline_selector.hpp",
)


def identify_package(path: Path) -> tuple[str, str]:
    """Read the control part of a package, which has the digests of all files.

    :returns: what identifies the contents; name and version.

    :raises InputError: no package, or a damaged one.
    """
    control = ""
    with path.open("rb") as file, _part(file, path, "control") as (data, raw):
        try:
            with tarfile.open(fileobj=data, mode="r|") as tar:
                for entry in tar:
                    if entry.isfile() and entry.name.removeprefix("./") == "control":
                        control = _content(tar, entry).read().decode("utf-8", "replace")
        except _DAMAGED as exc:
            raise InputError(f"damaged package: {exc}", path) from exc
        raw.seek(0)
        digest = hashlib.blake2b(raw.read(), digest_size=16).hexdigest()
    fields = dict(line.split(": ", 1) for line in control.splitlines() if ": " in line and line[0] != " ")
    name, version = fields.get("Package", ""), fields.get("Version", "")
    return digest, f"{name} {version}".strip()


def read_package(path: Path, *, with_archive: bool) -> tuple[dict[str, str], str, ArchiveSymbols | None]:
    """Read a package in one pass.

    :param with_archive: read the archive's symbols too.
    :returns: the headers by their path below the include root; the name of the archive, empty if there is
        none; and its symbols.
    :raises InputError: no package, or a damaged one.
    :raises ToolchainError: it is compressed in a way that needs a package of Python.
    """
    headers: dict[str, str] = {}
    name = ""
    symbols: ArchiveSymbols | None = None
    with path.open("rb") as file, _part(file, path, "data") as (data, _):
        try:
            with tarfile.open(fileobj=data, mode="r|") as tar:
                for entry in tar:
                    if not entry.isfile():
                        continue
                    if _is_header(entry.name):
                        inner = entry.name.partition(_ROOT)[2]
                        headers[inner] = _content(tar, entry).read().decode("utf-8", "replace")
                    elif PurePosixPath(entry.name).name in known_lists().archives and not name:
                        name = entry.name.removeprefix("./")
                        if with_archive:
                            forward = cast("IO[bytes]", _Forward(_content(tar, entry)))
                            symbols = collect(members(forward, f"{path}:{name}"), f"{path}:{name}")
        except _DAMAGED as exc:
            raise InputError(f"damaged package: {exc}", path) from exc
    return headers, name, symbols


def _is_header(name: str) -> bool:
    inner = name.partition(_ROOT)[2]
    if inner.startswith(_WANTED):
        return True
    return any(inner.startswith(start) and "/" not in inner[len(start) :] for start in _OTHERS)


def _content(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(entry)
    if content is None:
        raise InputError(f"cannot read {entry.name} in the package")
    return content


class _Forward(io.RawIOBase):
    """A stream that can only be read forward, as what comes out of a compressed package should be."""

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        return self._source.read(size)


@contextmanager
def _part(file: IO[bytes], path: Path, part: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open one part of a package; yield its tar file and the member as it is."""
    for name, data in members(file, str(path)):
        if not name.startswith(f"{part}.tar"):
            continue
        kind = name.removeprefix(f"{part}.tar").lstrip(".")
        if kind == "":
            yield data, data
        elif kind == "zst":
            with _zstandard(data, path) as stream:
                yield stream, data
        elif kind == "xz":
            yield cast("IO[bytes]", lzma.LZMAFile(data)), data
        elif kind == "gz":
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=data)), data
        else:
            raise InputError(f"the package is compressed as {kind}; expected xz, gz or zst", path)
        return
    raise InputError(f"no Debian package: it has no {part} part", path)


@contextmanager
def _zstandard(source: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    try:
        import zstandard
    except ImportError as exc:
        raise ToolchainError(
            f"{path} is compressed with Zstandard: pip install 'ckprof[extract]', "
            "or unpack it and use --from DIR"
        ) from exc
    with zstandard.ZstdDecompressor().stream_reader(source) as stream:
        yield cast("IO[bytes]", stream)
