"""Where ckprof keeps its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ckprof.private_folders import claimed

#: moves everything that ckprof stores for later runs
CACHE_VARIABLE: Final = "CKPROF_CACHE_DIR"


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
    """Return the folder below which builds keep sources and libraries unless the user names another."""
    return cache_dir() / "work"


def conf_root() -> Path:
    """Return the folder of the instance lists that ship with ckprof."""
    from importlib.resources import files

    return Path(str(files("ckprof_conf")))
