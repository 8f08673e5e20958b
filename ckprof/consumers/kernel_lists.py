"""Lists of kernels as text, for consumers that look up the kernels of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.lists.list_files import find_folder, find_list, find_lists, is_json
from ckprof.paths import conf_root
from ckprof.plugin.protocols import KernelList

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def kernel_lists(names: Sequence[str]) -> tuple[KernelList, ...]:
    """Return the lists of these names; if there are none, the plain ones that ship with ckprof.

    :param names: files, folders of them, or names of lists that ship with ckprof.
    :raises InputError: there is no such list, or it cannot be read.
    """
    paths: list[Path] = []
    for name in names:
        folder = find_folder(name)
        paths += find_lists(folder, None) if folder is not None else [find_list(name)]
    root = conf_root()
    shipped = {path: path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root)}
    if not names:
        # those of <direction>/<set>; deeper ones have an element-wise operation, of which rows say nothing
        paths = sorted(root.glob("*/*/*.conf"))
        shipped = {path: path.relative_to(root).as_posix() for path in paths}
    return tuple(read_kernel_list(path, shipped.get(path, path)) for path in paths)


def read_kernel_list(path: Path, title: Path | str | None = None) -> KernelList:
    """Return the lines of a list that hold an instance.

    :param title: what messages call it.
    :raises InputError: it cannot be read, or is a catalog.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    if is_json(data):
        raise InputError("is a catalog, which does not say what its kernels are called elsewhere", path)
    lines = data.decode("utf-8-sig", errors="replace").splitlines()
    kept = ((number, line.strip()) for number, line in enumerate(lines, 1))
    return KernelList(
        path=title or path,
        lines=tuple((number, line) for number, line in kept if line and not line.startswith("#")),
    )
