"""Archives of objects, of the kind that GNU and LLVM tools write, and Debian packages, read as streams.

Of objects, the symbols are read: what an archive was compiled with, its functions and their instances.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import re
import struct
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

import msgspec

from ckprof.errors import InputError, ToolchainError, input_errors
from ckprof_converters.library_lists import known_lists
from ckprof_plugins.extract.headers import DEVICES, INSTANCES
from ckprof_plugins.extract.mangling import decode, take_apart

_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_SYMTAB: Final = 2
_UNDEFINED: Final = 0
_WEAK: Final = 2
_OBJECT: Final = 1

#: functions that add instances to a list, complete ones and their shards
FUNCTION_PREFIX: Final = b"_ZN2ck16tensor_operation6device8instance"
#: virtual tables of device classes: one for each instance that was compiled
TABLE_PREFIX: Final = b"_ZTVN2ck16tensor_operation6device"


def read_symbols(data: IO[bytes], path: str) -> tuple[list[str], list[str], list[str]]:
    """Return what one object defines, needs from others, and its tables of instances, as mangled names.

    The tables are read in one piece each: these objects have thousands of sections, and a Python object for
    each of them would take a minute for the whole archive.

    :raises InputError: no 64-bit little-endian ELF file, or a damaged one.
    :raises ToolchainError: pyelftools is not installed.
    """
    try:
        from elftools.common.exceptions import ELFError
        from elftools.construct import ConstructError
        from elftools.elf.elffile import ELFFile
    except ImportError as exc:
        raise ToolchainError(
            "reading an archive requires pyelftools: pip install 'ckprof[extract]', "
            "or use --no-archive to read the headers alone"
        ) from exc
    try:
        elf = ELFFile(data)
    except (ELFError, ConstructError) as exc:
        raise InputError(f"not an object file: {exc}", path) from exc
    if elf.elfclass != 64 or not elf.little_endian:
        order = "little" if elf.little_endian else "big"
        raise InputError(
            f"a {elf.elfclass}-bit {order}-endian object; expected 64-bit little-endian ones", path
        )
    count = elf.num_sections()
    headers = _read(data, elf["e_shoff"], count * _SECTION.size, path)
    sections = list(_SECTION.iter_unpack(headers))
    functions: list[str] = []
    needed: list[str] = []
    tables: list[str] = []
    for section in sections:
        if section[1] != _SYMTAB:
            continue
        if section[6] >= count:
            raise InputError("damaged object: its symbol table names no string table", path)
        names = sections[section[6]]
        strings = _read(data, names[4], names[5], path)
        first = min(section[7] * _SYMBOL.size, section[5])  # local symbols stand first
        size = (section[5] - first) // _SYMBOL.size * _SYMBOL.size
        symbols = _read(data, section[4] + first, size, path)
        for start, info, _, place, _, _ in _SYMBOL.iter_unpack(symbols):
            if strings.startswith(FUNCTION_PREFIX, start):
                target = needed if place == _UNDEFINED else functions
            elif info == (_WEAK << 4 | _OBJECT) and place and strings.startswith(TABLE_PREFIX, start):
                target = tables
            else:
                continue
            target.append(strings[start : strings.index(b"\0", start)].decode("ascii"))
    return functions, needed, tables


def _read(data: IO[bytes], offset: int, size: int, path: str) -> bytes:
    data.seek(offset)
    content = data.read(size)
    if len(content) < size:
        raise InputError("damaged object: it ends in a table", path)
    return content


_LENGTH: Final = re.compile(r"(\d+)")
_DIMENSIONS: Final = re.compile(r"ILi(\d+)E")
_SHARD: Final = re.compile(r"ILi(\d+)ELi(\d+)EE")
#: how the table of a template's instance ends; those of classes inside one end in that class's name
_OF_TEMPLATE: Final = "EE"


class ArchiveSymbols(msgspec.Struct, frozen=True):
    """The symbols of one archive that matter, as mangled names by object."""

    #: object -> functions that it defines
    functions: dict[str, tuple[str, ...]]
    #: object -> functions that it needs from others
    needed: dict[str, tuple[str, ...]]
    #: object -> virtual tables of instances
    tables: dict[str, tuple[str, ...]]


def collect(archive: Iterable[tuple[str, IO[bytes]]], path: str) -> ArchiveSymbols:
    """Read the symbols of all members, of each its name and its bytes.

    :raises InputError: a damaged or foreign member; two members of one name.
    """
    functions: dict[str, tuple[str, ...]] = {}
    needed: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[str, ...]] = {}
    for member, data in archive:
        defined, wanted, found = read_symbols(data, f"{path}({member})")
        if not defined:
            continue
        if member in functions:
            raise InputError(f"two members are called {member}", path)
        functions[member] = tuple(defined)
        needed[member] = tuple(wanted)
        tables[member] = tuple(name for name in found if name.endswith(_OF_TEMPLATE))
    return ArchiveSymbols(functions=functions, needed=needed, tables=tables)


#: name of a function, number of its spatial dimensions, and (number of shards, this one) for a shard
FunctionSymbol = tuple[str, int, tuple[int, int] | None]


def parse_function(mangled: str) -> FunctionSymbol | None:
    """Return what a mangled name says; ``None`` for a function that adds no instances."""
    begin = len(FUNCTION_PREFIX)
    length = _LENGTH.match(mangled, begin)
    if length is None:
        return None
    end = length.end() + int(length[1])
    name = mangled[length.end() : end]
    if not name.startswith("add_"):
        return None
    shard = _SHARD.match(mangled, end)
    dimensions = _DIMENSIONS.search(mangled, shard.end() if shard else end)
    if dimensions is None:
        return None
    return name, int(dimensions[1]), (int(shard[1]), int(shard[2])) if shard is not None else None


class CompiledFunctions:
    """Functions that an archive defines, with the virtual tables of their instances.

    :param readable: mangled name -> class and arguments, of the names that were made readable so far.
    """

    def __init__(
        self, symbols: ArchiveSymbols, path: str, readable: dict[str, list[str]] | None = None
    ) -> None:
        self.path = path
        self.symbols = symbols
        self._readable = readable if readable is not None else {}
        self._members: dict[tuple[str, int], str] = {}
        self._shards: dict[str, str] = {}
        for member, names in symbols.functions.items():
            for mangled in names:
                symbol = parse_function(mangled)
                if symbol is None:
                    continue
                name, dimensions, shard = symbol
                if shard is not None:
                    self._shards[mangled] = member
                else:
                    self._members[name, dimensions] = member

    def parts(self, mangled: str) -> list[str]:
        """Return class and arguments of a name; empty for what is no instance of its own."""
        if mangled not in self._readable:
            self._readable[mangled] = take_apart(decode(mangled))
        return self._readable[mangled]

    def member_of(self, function: str, dimensions: int) -> str | None:
        """Return the object that defines a function; ``None`` if it is not compiled."""
        return self._members.get((function, dimensions))

    def tables(self, function: str, dimensions: int) -> tuple[str, ...]:
        """Return the virtual tables of the instances that a compiled function adds, of its shards too.

        :raises InputError: a shard that the function calls is missing.
        """
        member = self._members[function, dimensions]
        tables = list(self.symbols.tables[member])
        for mangled in self.symbols.needed[member]:
            name, _, shard = parse_function(mangled) or ("", 0, None)
            if shard is None or name != f"{function}_shard":
                continue
            if mangled not in self._shards:
                count, index = shard
                raise InputError(
                    f"{function}: shard {index} of {count} is missing from the archive", self.path
                )
            tables.extend(self.symbols.tables[self._shards[mangled]])
        return tuple(dict.fromkeys(tables))


MAGIC: Final = b"!<arch>\n"
_THIN: Final = b"!<thin>\n"
_HEADER_SIZE: Final = 60
_HEADER_END: Final = b"`\n"

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


def members(file: IO[bytes], path: str, *, forward: bool = False) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and bytes of the members of an archive; indices of symbols are skipped.

    The bytes, from their beginning, are valid until the next member is asked for.

    :param forward: read member by member, as what comes out of a compressed package should be.
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
            _take(file, size, path, begin)
        else:
            name = _name(short, long_names, path)
            if not forward and file.seekable():
                end = file.seek(0, io.SEEK_END)
                if begin + size > end:
                    missing = begin + size - end
                    raise InputError(f"damaged archive: a member ends {missing} bytes after its end", path)
                yield name, cast("IO[bytes]", Window(file, begin, size))
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


def _take(file: IO[bytes], size: int, path: str, begin: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise InputError(f"damaged archive: it ends in the member at byte {begin}", path)
    return data


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
    with _part(path, "control") as (tar, raw):
        for entry in tar:
            if entry.isfile() and entry.name.removeprefix("./") == "control":
                control = _content(tar, entry).read().decode("utf-8", "replace")
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
    with _part(path, "data") as (tar, _):
        for entry in tar:
            if not entry.isfile():
                continue
            if _is_header(entry.name):
                inner = entry.name.partition(_ROOT)[2]
                headers[inner] = _content(tar, entry).read().decode("utf-8", "replace")
            elif PurePosixPath(entry.name).name in known_lists().archives and not name:
                name = entry.name.removeprefix("./")
                if with_archive:
                    place, content = f"{path}:{name}", _content(tar, entry)
                    symbols = collect(members(content, place, forward=True), place)
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


@contextmanager
def _part(path: Path, part: str) -> Iterator[tuple[tarfile.TarFile, IO[bytes]]]:
    """Open one part of a package; yield its tar file and the member as it is."""
    with path.open("rb") as file:
        for name, data in members(file, str(path)):
            if name.startswith(f"{part}.tar"):
                stream = _plain(data, name.removeprefix(f"{part}.tar").lstrip("."), path)
                with (
                    input_errors(_DAMAGED, "damaged package", path),
                    tarfile.open(fileobj=stream, mode="r|") as tar,
                ):
                    yield tar, data
                return
    raise InputError(f"no Debian package: it has no {part} part", path)


def _plain(data: IO[bytes], kind: str, path: Path) -> IO[bytes]:
    """Return what reads a member of a package that is compressed in some way."""
    if kind == "":
        return data
    if kind == "xz":
        return cast("IO[bytes]", lzma.LZMAFile(data))
    if kind == "gz":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=data))
    if kind != "zst":
        raise InputError(f"the package is compressed as {kind}; expected xz, gz or zst", path)
    try:
        import zstandard
    except ImportError as exc:
        raise ToolchainError(
            f"{path} is compressed with Zstandard: pip install 'ckprof[extract]', "
            "or unpack it and use --from DIR"
        ) from exc
    return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(data))
