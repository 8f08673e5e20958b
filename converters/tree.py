"""Converting a whole tree of lists, ``<direction folder>/<set>/<name>.conf``, to a tree of catalogs.

A list whose name ends in ``_streamk`` belongs to the list without that ending: its records are put behind
those of that list, with ids that go on where the others end. Nothing is ever deleted, and a list with errors
leaves the catalogs of all others as they should be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.catalog.writer import write_catalog
from ckprof.errors import InputError
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import Conversion, ConversionRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

STREAM_K_SUFFIX: Final = "_streamk"

#: folder of a tree of lists -> id of the direction
DIRECTION_FOLDERS: Final[Mapping[str, str]] = {
    "backward_weight": "bwd_weight",
    "forward": "fwd",
    "backward_data": "bwd_data",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOptions:
    """What holds for all lists of a tree; the fields mean the same as those of a conversion request."""

    mma_k_table: tuple[int, int] = (16, 32)
    upstream_comments: bool = False
    lenient: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCatalog:
    """One catalog of the output tree."""

    path: Path
    catalog: Catalog
    #: the lists that it was made of
    sources: tuple[Path, ...]
    #: false if the file held the same bytes already, or nothing was to be written
    written: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeReport:
    """What became of a tree."""

    catalogs: tuple[TreeCatalog, ...]
    conversions: tuple[Conversion, ...]
    #: lists that could not be converted; no catalog that they belong to was touched
    failures: tuple[InputError, ...]

    @property
    def instances(self) -> int:
        """Records of all catalogs."""
        return sum(len(item.catalog.records) for item in self.catalogs)


@dataclass(slots=True)
class _Target:
    """A catalog of the output tree in the making."""

    catalog: Catalog
    sources: tuple[Path, ...]


class _TreeRun:
    def __init__(
        self,
        conf_root: Path,
        out_root: Path,
        convert: Callable[[ConversionRequest], Conversion],
        options: TreeOptions,
    ) -> None:
        self._conf_root = conf_root
        self._out_root = out_root
        self._convert = convert
        self._options = options
        self._conversions: list[Conversion] = []
        self._failures: list[InputError] = []
        self._finished: list[TreeCatalog] = []

    def run(self, *, dry_run: bool) -> TreeReport:
        found = False
        for direction, folder in self._folders():
            lists = sorted(folder.glob("*.conf"))
            for group in _groups(lists):
                found = True
                for path, target in self._group(direction, group).items():
                    self._finish(path, target, dry_run=dry_run)
        if not found:
            known = ", ".join(DIRECTION_FOLDERS)
            raise InputError(
                f"no instance list below it: expected <direction>/<set>/<name>.conf with directions {known}",
                self._conf_root,
            )
        return TreeReport(
            catalogs=tuple(self._finished),
            conversions=tuple(self._conversions),
            failures=tuple(self._failures),
        )

    def _folders(self) -> Iterator[tuple[str, Path]]:
        for name, direction in DIRECTION_FOLDERS.items():
            for folder in sorted((self._conf_root / name).glob("*")):
                if folder.is_dir():
                    yield direction, folder

    def _group(self, direction: str, lists: list[Path]) -> dict[Path, _Target]:
        """Convert lists that share catalogs; no catalog at all if one of them fails."""
        targets: dict[Path, _Target] = {}
        try:
            for path in lists:
                self._append(targets, path, self._conversion(direction, path))
        except InputError as error:
            self._failures.append(error)
            return {}
        return targets

    def _conversion(self, direction: str, path: Path) -> Conversion:
        try:
            data = path.read_bytes()
        except OSError as exc:
            raise InputError(f"cannot read: {exc.strerror}", path) from None
        options = self._options
        conversion = self._convert(
            ConversionRequest(
                path=path,
                data=data,
                direction=direction,
                mma_k_table=options.mma_k_table,
                upstream_comments=options.upstream_comments,
                lenient=options.lenient,
            )
        )
        self._conversions.append(conversion)
        return conversion

    def _append(self, targets: dict[Path, _Target], path: Path, conversion: Conversion) -> None:
        folder = self._out_root / path.parent.relative_to(self._conf_root)
        stem = path.stem.removesuffix(STREAM_K_SUFFIX)
        single = len(conversion.catalogs) == 1
        for catalog in conversion.catalogs:
            # A list that gives several catalogs, as depthwise lists do, cannot lend its name to all.
            name = stem if single else f"{catalog.layout.name}_{catalog.dtype.value}"
            place = folder / f"{name}.json"
            if place in targets:
                targets[place] = _joined(targets[place], catalog, path)
            else:
                targets[place] = _Target(catalog, (path,))

    def _finish(self, path: Path, target: _Target, *, dry_run: bool) -> None:
        clash = next((item for item in self._finished if item.path == path), None)
        if clash is not None:
            self._failures.append(
                InputError(f"gives the same catalog {path} as {clash.sources[0]}", target.sources[0])
            )
            return
        written = False
        if not dry_run:
            written = write_catalog(path, target.catalog)
        self._finished.append(
            TreeCatalog(path=path, catalog=target.catalog, sources=target.sources, written=written)
        )


def convert_tree(
    conf_root: Path,
    out_root: Path,
    convert: Callable[[ConversionRequest], Conversion],
    options: TreeOptions | None = None,
    *,
    dry_run: bool = False,
) -> TreeReport:
    """Convert every list of a tree.

    :param conf_root: folder with the direction folders, e.g. ``conf``.
    :param out_root: where the same folders with catalogs are made.
    :param convert: converts one list, e.g. :meth:`ckprof_converters.converter.ConfConverter.convert`.
    :param dry_run: convert and check everything, but write nothing.
    :raises InputError: there is no list below ``conf_root``, or a catalog cannot be written.
    """
    return _TreeRun(conf_root, out_root, convert, options or TreeOptions()).run(dry_run=dry_run)


def _groups(lists: list[Path]) -> list[list[Path]]:
    """Put each stream-K list behind the list that it belongs to."""
    groups: dict[str, list[Path]] = {}
    for path in sorted(lists, key=lambda item: (item.stem.endswith(STREAM_K_SUFFIX), item.name)):
        groups.setdefault(path.stem.removesuffix(STREAM_K_SUFFIX), []).append(path)
    return [groups[stem] for stem in sorted(groups)]


def _joined(target: _Target, more: Catalog, source: Path) -> _Target:
    """Put the records of ``more`` behind those of the target, with ids that follow the largest one."""
    head = target.catalog
    if (head.variant, head.layout, head.dtype) != (more.variant, more.layout, more.dtype):
        raise InputError(
            f"is {more.variant} {more.layout.name} {more.dtype.value}, but {target.sources[0].name}, "
            f"to which it belongs, is {head.variant} {head.layout.name} {head.dtype.value}",
            source,
        )
    shift = max((_id(record) for record in head.records), default=-1) + 1
    moved = tuple(msgspec.structs.replace(record, id=_id(record) + shift) for record in more.records)
    return _Target(replace(head, records=head.records + moved), (*target.sources, source))


def _id(record: msgspec.Struct) -> int:
    id_: int = record.id  # type: ignore[attr-defined]
    return id_
