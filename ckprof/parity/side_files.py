"""What a comparison reads: lists and logs for CK Builder's side, conversions and libraries for the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ckprof.codegen import manifest
from ckprof.errors import InputError, UsageError
from ckprof.flow.list_files import read_list
from ckprof.model.conversion import ListReading
from ckprof.parity.builder_side import builder_side, explain_by_lists, read_builder
from ckprof.parity.dispatcher_side import catalog_side, library_side
from ckprof.run.instance_strings import query_instance_strings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.flow.candidates import Candidate
    from ckprof.model.conversion import Conversion, ConversionRequest
    from ckprof.parity.side import Side
    from ckprof.plugin.registry import Registry
    from ckprof.strings.revision import Revision

_ELF: Final = b"\x7fELF"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How lists are read, and for which revision strings are spelled; the same for both sides."""

    revision: Revision
    lists: ListReading = field(default_factory=ListReading)

    def request(self, path: Path, direction: str | None) -> ConversionRequest:
        """Return the request to read a file.

        :raises InputError: it cannot be read.
        """
        return self.lists.request(path, read_bytes(path), direction)

    def convert(self, path: Path, registry: Registry, direction: str | None) -> Conversion:
        """Convert a list, or read a catalog.

        :raises InputError: it is wrong.
        """
        return read_list(path, registry, direction=direction, reading=self.lists)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    :raises InputError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None


def is_library(data: bytes) -> bool:
    """Say whether the content is that of a shared library."""
    return data.startswith(_ELF)


def is_catalog(data: bytes) -> bool:
    """Say whether the content is that of a JSON catalog."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"


def expected_side(
    paths: Sequence[Path],
    against: Path | None,
    registry: Registry,
    reading: Reading,
    direction: str | None,
) -> Side:
    """Return CK Builder's side: computed from lists, or read from a file and explained by the lists.

    :raises InputError: a file is wrong, or holds no instance.
    :raises UsageError: a catalog stands for a list, which says nothing about CK Builder.
    """
    requests = [reading.request(path, direction) for path in paths]
    lists = [request for request in requests if not is_catalog(request.data)]
    if against is None and len(lists) < len(requests):
        named = next(request.path for request in requests if is_catalog(request.data))
        raise UsageError(
            f"{named} is a catalog, which does not say what CK Builder has: name CK Builder's strings with "
            "--against"
        )
    read = [read_builder(request, registry, reading.revision) for request in lists]
    computed = builder_side(read, registry.strings) if read else None
    if against is None:
        assert computed is not None  # noqa: S101  # there is at least one list
        return computed
    data = read_bytes(against)
    if is_catalog(data) or is_library(data):
        raise UsageError(f"--against {against}: expected CK Builder's strings or a profiler's log")
    found = builder_side(
        [read_builder(reading.request(against, direction), registry, reading.revision)], registry.strings
    )
    return explain_by_lists(found, computed) if computed is not None else found


def built_side(
    library: Path,
    candidates: Sequence[Candidate],
    registry: Registry,
    built_for: tuple[str, str] | None = None,
) -> Side:
    """Return what all kernels of a library say of themselves.

    :param built_for: architecture and API level; ``None`` to look beside the library.
    :raises ToolchainError: the library cannot be loaded.
    :raises InputError: a kernel gives no text.
    """
    if not library.is_file():
        raise InputError("no such library", library)
    return library_side(
        str(library),
        query_instance_strings(library),
        registry.strings,
        {candidate.instance.key: candidate for candidate in candidates},
        built_for or manifest.built_for(library.parent),
    )


def side_of_file(path: Path, registry: Registry, reading: Reading, direction: str | None) -> Side:
    """Return the side of any file: list, log, catalog or library.

    :raises InputError: the file is wrong or of no known kind.
    """
    name = str(path)
    data = read_bytes(path)
    if is_library(data):
        return replace(built_side(path, (), registry), name=name)
    if is_catalog(data):
        return catalog_side([reading.convert(path, registry, direction)], registry, name)
    request = reading.request(path, direction)
    return builder_side([read_builder(request, registry, reading.revision)], registry.strings, name)
