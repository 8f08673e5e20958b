"""Finding the instance lists of a tree."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ckprof.errors import InputError
from ckprof.paths import conf_root

#: endings of files that may be lists: legacy lists and JSON catalogs
LIST_SUFFIXES: Final = (".conf", ".json")

#: what the folder of the lists that ship with ckprof is called in the checkout
_SHIPPED_NAME: Final = "conf"


def find_tree(name: str) -> Path:
    """Return the folder that ``name`` means: a path, or else the tree of lists that ships with ckprof.

    :raises InputError: there is no such folder.
    """
    path = Path(name)
    if path.is_dir():
        return path
    if path.exists():
        raise InputError("is a file, expected a folder of lists (a single list goes with --conf)", path)
    if path.parts[:1] == (_SHIPPED_NAME,):
        shipped = conf_root().joinpath(*path.parts[1:])
        if shipped.is_dir():
            return shipped
    raise InputError("no such folder", path)


def find_lists(root: Path, set_name: str | None) -> list[Path]:
    """Return the lists below ``root``, sorted by path.

    :param set_name: take only those in a folder of this name, at any depth.
    :raises InputError: there is none.
    """
    found = sorted(path for path in root.rglob("*") if path.suffix in LIST_SUFFIXES and path.is_file())
    if not found:
        raise InputError(f"no list ({' or '.join(LIST_SUFFIXES)}) below this folder", root)
    if set_name is None:
        return found
    chosen = [path for path in found if set_name in path.relative_to(root.parent).parts[:-1]]
    if not chosen:
        folders = sorted({path.parent.name for path in found})
        raise InputError(f"no list in a folder {set_name!r}; lists are in {', '.join(folders)}", root)
    return chosen
