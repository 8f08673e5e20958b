"""Where ckprof keeps its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ckprof.errors import InputError
from ckprof.private_folders import claimed, temporary_folder

#: moves everything that ckprof stores for later runs
CACHE_VARIABLE: Final = "CKPROF_CACHE_DIR"
#: what is wrong with a folder in which nothing can be built
UNWRITABLE: Final = f"cannot be written (set {CACHE_VARIABLE} or --build-dir to another folder)"


def cache_dir() -> Path:
    """Return the folder for everything that a later run can use again. It need not exist.

    ``CKPROF_CACHE_DIR`` overrides the place that the operating system recommends.

    :raises ToolchainError: other users could have put something there, see :mod:`ckprof.private_folders`.
    """
    override = os.environ.get(CACHE_VARIABLE)
    if override:
        return claimed(Path(override).expanduser().absolute())
    from platformdirs import user_cache_path  # late: most commands never need it

    return claimed(user_cache_path("ckprof", appauthor=False))


def object_cache_dir() -> Path:
    """Return the folder of compiled objects and precompiled headers."""
    return cache_dir() / "objects"


def work_dir() -> Path:
    """Return the folder below which builds keep sources and libraries unless the user names another.

    A cache that can only be read has all that was compiled; then it is a folder for temporary files.
    """
    cache = cache_dir()
    is_writable = not cache.is_dir() or os.access(cache, os.W_OK)
    return (cache if is_writable else temporary_folder() / f"ckprof-{os.geteuid()}") / "work"


def conf_root() -> Path:
    """Return the folder of the instance lists that ship with ckprof."""
    from importlib.resources import files

    return Path(str(files("ckprof_conf")))


def template_root(package: str) -> Path:
    """Return the folder of an example that packages with plugins are written from.

    :param package: what the folder is installed as.
    :raises InputError: it is not installed.
    """
    from importlib.util import find_spec

    # a folder of files, not a package with code
    spec = find_spec(package)
    locations = spec.submodule_search_locations if spec is not None else None
    if not locations:
        raise InputError("the template of plugins is not installed; install ckprof again", package)
    return Path(next(iter(locations)))


def checkout_path(path: Path) -> Path | None:
    """Return a file's path from the root of the repository that it is checked out in.

    :returns: ``None`` for a file that is in no repository.
    """
    resolved = path.resolve()
    for folder in resolved.parents:
        if (folder / ".git").exists():
            return resolved.relative_to(folder)
    return None


def lasting_name(path: Path | str) -> str:
    """Return a name of a file that stays when the checkout moves: what results are filed under elsewhere.

    That is the name of a list that ships with ckprof, the path from the root of the repository, the path from
    the current folder, or the mere name of a file; what is no file is returned as it is.
    """
    if not Path(path).exists():
        return str(path)
    resolved, shipped, here = Path(path).resolve(), conf_root().resolve(), Path.cwd()
    if resolved.is_relative_to(shipped):
        return resolved.relative_to(shipped).as_posix()
    in_checkout = checkout_path(resolved)
    if in_checkout is not None:
        return in_checkout.as_posix()
    return resolved.relative_to(here).as_posix() if resolved.is_relative_to(here) else resolved.name
