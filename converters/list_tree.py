"""Which catalogs a folder of lists gives: ``<direction folder>/<set>/<name>.conf`` to ``.../<target>.json``.

A list whose name ends in ``_streamk`` belongs to the list without that ending: its records are put after
those of that list, with ids that go on where the others end. A list in no direction folder is of whatever
direction its lines are.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import chain
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
    catalogs: dict[Path, CatalogFile] = {}
    lists = [*skipped]
    for number, group in enumerate(groups):
        planned: dict[Path, CatalogFile] = {}
        converted: list[TreeList] = []
        for index, path in enumerate(group):
            try:
                request = list_request(path, reading, _direction_of(path, root))
                conversion = convert(request)
                _add(conversion, path, path.parent.relative_to(root), planned, catalogs)
            except InputError as error:
                # The catalogs that it shares are not made, so those in front of it do not count either.
                others = (item.path for item in converted)
                later = chain(others, group[index + 1 :], *groups[number + 1 :])
                lists.append(TreeList(path=path, state=ListState.FAILED, error=error))
                lists += [TreeList(path=other, state=ListState.NOT_REACHED) for other in later]
                return tuple(catalogs.values()), tuple(lists)
            converted.append(
                TreeList(path=path, state=ListState.CONVERTED, request=request, conversion=conversion)
            )
        lists += converted
        catalogs |= planned
    return tuple(catalogs.values()), tuple(lists)


def _add(
    conversion: Conversion,
    path: Path,
    folder: Path,
    planned: dict[Path, CatalogFile],
    catalogs: Mapping[Path, CatalogFile],
) -> None:
    """Add the catalogs of a list to those of the lists that it belongs to.

    :param catalogs: of all other lists.
    """
    for name, catalog in zip(_names(path, conversion.catalogs), conversion.catalogs, strict=True):
        target = folder / f"{name}.json"
        if target in planned:
            planned[target] = _joined(planned[target], catalog, path)
        elif target in catalogs:
            raise InputError(f"gives the same catalog {target} as {catalogs[target].sources[0]}", path)
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
