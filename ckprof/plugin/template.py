"""A package with a plugin of its own, written from the example that ships with ckprof."""

from __future__ import annotations

import keyword
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError, system_errors
from ckprof.paths import template_root

if TYPE_CHECKING:
    from collections.abc import Collection

#: what is written -> what its example is called, its list if it has one, and what it is installed as; every
#: spelling of the name is derived from that of the example
EXAMPLES: Final = {
    "family": ("naive_gather", "naive.conf", "ckprof_template"),
    "command": ("time_guard", "", "ckprof_command_template"),
}

#: a name in C++ and Python, in files and in package indexes
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_LONGEST: Final = 40


def write_plugin(name: str, parent: Path, taken: Collection[str], kind: str = "family") -> Path:
    """Write a package with a kernel family and its list, or a command, with tests and a ``pyproject.toml``.

    :param name: id of the family and of the plugin, or name of the command with ``_`` in place of ``-``.
    :param parent: the folder in which the package's folder is made.
    :param taken: ids that there are already.
    :param kind: one of :data:`EXAMPLES`.
    :returns: the package's folder; it is there as a whole or not at all.
    :raises UsageError: the name cannot be used, or there is such a folder.
    :raises InputError: the folder cannot be written.
    """
    _check(name, taken)
    if not parent.is_dir():
        raise UsageError(f"--dir {parent}: there is no such folder; make it first")
    folder = parent / f"ckprof-{name.replace('_', '-')}"
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} is there already; choose another name, another --dir, or remove it")
    example, list_name, package = EXAMPLES[kind]
    root = template_root(package)
    names = dict(zip(_spellings(example), _spellings(name), strict=True))
    if list_name:
        names[list_name] = f"{name}.conf"
    with system_errors(InputError, "cannot write", folder):
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=parent) as scratch:
            made = Path(scratch) / folder.name
            for source in _files(root):
                target = made / _renamed(source.relative_to(root).as_posix(), names)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_renamed(source.read_text(encoding="utf-8"), names), encoding="utf-8")
            made.rename(folder)
    return folder


def _check(name: str, taken: Collection[str]) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name) or len(name) > _LONGEST:
        raise UsageError(
            f"--new {name!r}: expected lower-case words of letters and digits joined by '_', e.g. my_family, "
            f"at most {_LONGEST} characters and no keyword of Python"
        )
    if name in taken or find_spec(f"ckprof_{name}") is not None:
        raise UsageError(f"--new {name}: a plugin, family or command has that name; choose another one")


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.suffix in (".conf", ".j2", ".md", ".py", ".toml"))


def _spellings(name: str) -> tuple[str, ...]:
    """Return a name as an identifier, as a package, as a class and as words."""
    words = name.split("_")
    return name, "-".join(words), "".join(map(str.capitalize, words)), " ".join(words)


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, names)), lambda match: names[match[0]], text)
