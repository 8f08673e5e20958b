"""Starts Python programs of ours, which import nothing from the folder that they are started in.

As a program, ``python -I python_child.py FOLDERS MODULE ARGUMENT...`` runs a module as ``python -m`` does. It
looks for modules in these folders alone: whoever writes a ``msgspec.py`` into the current folder, or sets a
variable of Python's, changes nothing.
"""

from __future__ import annotations

import os
import sys
from typing import Final

#: an import would take the parent's time as well as the child's
_PACKAGE_ROOT: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with the modules that this process has.

    :param module: its full name.
    """
    return [sys.executable, "-I", __file__, os.pathsep.join(module_folders()), module, *arguments]


def module_folders() -> list[str]:
    """Return where this process looks for modules, this very package first.

    Without the current folder, which Python adds by itself, unless ``PYTHONPATH`` names it.
    """
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    try:
        here = os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        here = ""
    folders = [path for path in sys.path if os.path.isabs(path) and (path != here or path in named)]  # noqa: PTH117
    return list(dict.fromkeys([_PACKAGE_ROOT, *folders]))


def start_failure(error: OSError, launcher: tuple[str, ...] = ()) -> str:
    """Return why no process can be started, and what to do about it.

    :param launcher: the command that should have started it, if one was named.
    """
    import errno

    if launcher and error.errno in (errno.ENOENT, errno.EACCES):
        return f"the launcher {launcher[0]} cannot be started: {error.strerror}"

    remedies = {
        errno.EAGAIN: "end other processes, or raise 'ulimit -u'",
        errno.ENOMEM: "end what takes the memory of this machine",
        errno.EMFILE: "raise 'ulimit -n'",
        errno.ENFILE: "end programs that have many files open on this machine",
        errno.ENOSPC: "free some space, or set TMPDIR to a folder that can be written",
        errno.ENOENT: f"see whether {sys.executable} is still there",
    }
    remedy = remedies.get(error.errno or 0)
    return f"no worker process can be started: {error.strerror or error}{f'; {remedy}' if remedy else ''}"


if __name__ == "__main__":
    sys.path[:] = sys.argv[1].split(os.pathsep)
    import runpy

    _module = sys.argv[2]
    del sys.argv[1:3]
    runpy.run_module(_module, run_name="__main__", alter_sys=True)
