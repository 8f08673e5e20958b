"""Which catalogs a folder of lists gives: ``<direction folder>/<set>/<name>.conf`` to ``.../<target>.json``.

A list whose name ends in ``_streamk`` belongs to the list without that ending: its records are put after
those of that list, with ids that go on where the others end. A list in no direction folder is of whatever
direction its lines are.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof.lists.list_files import list_request
from ckprof.model.conversion import CatalogFile, ListState, TreeList

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.model.conversion import Conversion, ConversionRequest, ListReading, TreePlan

STREAM_K_SUFFIX: Final = "_streamk"

#: folder of a tree of lists -> id of the direction, in the order in which they are converted
DIRECTION_FOLDERS: Final[Mapping[str, str]] = {
    "backward_weight": "bwd_weight",
    "forward": "fwd",
    "backward_data": "bwd_data",
}


def plan_tree(
    root: Path, reading: ListReading, convert: Callable[[ConversionRequest], Conversion]
) -> TreePlan | None:
    """Convert the lists below ``root``; ``None`` if there is none.

    The first list with errors ends the plan. Lists that share catalogs are planned together or not at all.

    :param convert: converts one list, e.g. :meth:`ckprof_converters.converter.ConfConverter.convert`.
    :raises InputError: a folder cannot be read.
    """
    groups, skipped = _find_lists(root)
    if not groups and not skipped:
        return None
    return _Planner(root, reading, convert).plan(groups, skipped)


class _Planner:
    def __init__(
        self, root: Path, reading: ListReading, convert: Callable[[ConversionRequest], Conversion]
    ) -> None:
        self._root = root
        self._reading = reading
        self._convert = convert
        self._planned: dict[Path, CatalogFile] = {}
        self._lists: list[TreeList] = []

    def plan(self, groups: Sequence[Sequence[Path]], skipped: Sequence[TreeList]) -> TreePlan:
        self._lists.extend(skipped)
        failed = False
        for group in groups:
            if failed:
                self._lists.extend(TreeList(path=path, state=ListState.NOT_REACHED) for path in group)
            else:
                failed = not self._group(group)
        return tuple(self._planned.values()), tuple(self._lists)

    def _group(self, paths: Sequence[Path]) -> bool:
        """Convert lists that share catalogs; say whether all went well."""
        planned: dict[Path, CatalogFile] = {}
        converted: list[TreeList] = []
        for index, path in enumerate(paths):
            try:
                request = list_request(path, self._reading, _direction_of(path, self._root))
                conversion = self._convert(request)
                self._append(planned, path, conversion)
            except InputError as error:
                # The catalogs that it shares are not made, so those in front of it do not count either.
                others = (*(item.path for item in converted), *paths[index + 1 :])
                self._lists.append(TreeList(path=path, state=ListState.FAILED, error=error))
                self._lists.extend(TreeList(path=other, state=ListState.NOT_REACHED) for other in others)
                return False
            converted.append(
                TreeList(path=path, state=ListState.CONVERTED, request=request, conversion=conversion)
            )
        self._lists.extend(converted)
        self._planned.update(planned)
        return True

    def _append(self, planned: dict[Path, CatalogFile], path: Path, conversion: Conversion) -> None:
        folder = path.parent.relative_to(self._root)
        for name, catalog in zip(_names(path, conversion.catalogs), conversion.catalogs, strict=True):
            target = folder / f"{name}.json"
            if target in planned:
                planned[target] = _joined(planned[target], catalog, path)
            elif target in self._planned:
                raise InputError(
                    f"gives the same catalog {target} as {self._planned[target].sources[0]}", path
                )
            else:
                planned[target] = CatalogFile(path=target, catalog=catalog, sources=(path,))


def _names(path: Path, catalogs: Sequence[Catalog]) -> list[str]:
    """Return the names of the catalogs of a list, without their ending."""
    if len(catalogs) == 1:
        return [path.stem.removesuffix(STREAM_K_SUFFIX)]
    # A list that gives several catalogs, as depthwise lists do, cannot lend its name to all.
    names = [f"{catalog.layout.name}_{catalog.dtype.value}" for catalog in catalogs]
    if len(set(names)) < len(names):
        names = [f"{name}_{catalog.variant}" for name, catalog in zip(names, catalogs, strict=True)]
    return names


def _find_lists(root: Path) -> tuple[list[list[Path]], list[TreeList]]:
    """Return the lists below a folder, grouped and in order, and the links that are not followed."""
    paths: list[Path] = []
    skipped: list[TreeList] = []
    for name, folders, files in os.walk(root, onerror=_cannot_read):
        here = Path(name)
        paths.extend(here / file for file in files if file.endswith(".conf"))
        skipped.extend(
            TreeList(
                path=here / folder,
                state=ListState.SKIPPED,
                reason="a link to a folder: not followed",
            )
            for folder in folders
            if (here / folder).is_symlink()
        )
    groups: dict[Path, list[Path]] = {}
    for path in sorted(paths, key=lambda item: (item.stem.endswith(STREAM_K_SUFFIX), item.name)):
        groups.setdefault(path.with_name(path.stem.removesuffix(STREAM_K_SUFFIX)), []).append(path)
    order = {direction: index for index, direction in enumerate(DIRECTION_FOLDERS.values())}

    def place(stem: Path) -> tuple[int, Path]:
        return order.get(_direction_of(stem, root) or "", len(order)), stem

    return [groups[stem] for stem in sorted(groups, key=place)], sorted(skipped, key=lambda item: item.path)


def _cannot_read(error: OSError) -> None:
    raise InputError(f"cannot read: {error.strerror}", error.filename)


def _direction_of(path: Path, root: Path) -> str | None:
    """Return the direction of the nearest direction folder around a list.

    The root may be a direction folder itself, or a set below one.
    """
    root = root.absolute()
    folders = (*path.absolute().relative_to(root).parts[-2::-1], root.name, root.parent.name)
    return next((DIRECTION_FOLDERS[name] for name in folders if name in DIRECTION_FOLDERS), None)


def _joined(planned: CatalogFile, more: Catalog, source: Path) -> CatalogFile:
    """Put the records of ``more`` after those of a catalog, with ids that follow the largest one."""
    head = planned.catalog
    if (head.variant, head.layout, head.dtype) != (more.variant, more.layout, more.dtype):
        raise InputError(
            f"is {more.variant} {more.layout.name} {more.dtype.value}, but {planned.sources[0].name}, "
            f"to which it belongs, is {head.variant} {head.layout.name} {head.dtype.value}",
            source,
        )
    shift = max((record.id for record in head.records), default=-1) + 1
    moved = tuple(msgspec.structs.replace(record, id=record.id + shift) for record in more.records)
    return replace(
        planned, catalog=replace(head, records=head.records + moved), sources=(*planned.sources, source)
    )
