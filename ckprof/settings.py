"""The settings that hold for all commands, and where they come from.

Precedence: flag, then environment variable (``CKPROF_`` and the field's name in capitals), then
``ckprof.toml``, then the default given here.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError, input_errors, system_errors
from ckprof.option import duration, settable
from ckprof.private_folders import user_name
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME: Final = "ckprof.toml"
#: settings that are lists -> how their paths end; comma-separated in the environment
_PATHS: Final = {"plugins": ".py", "architectures": ""}
#: type of a setting -> what messages call it
_EXPECTED: Final = {
    "tuple[str, ...]": "a list of texts",
    "str | None": "a text",
    "int | None": "an integer",
    "float": "seconds, or a time such as 90s or 5m",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can stand in ``ckprof.toml``."""

    plugins: tuple[str, ...] = settable((), "plugins to load: module names, or paths relative to the file")
    architectures: tuple[str, ...] = settable((), "files with further architectures, relative to the file")
    target: str | None = settable(
        None, "id of the target (default: the first one that needs nothing but a compiler)"
    )
    arch: str | None = settable(None, "architecture (default: that of the target)")
    compiler: str | None = settable(None, "C++ compiler (default: the first usable one)")
    jobs: int | None = settable(
        None, "parallel compiler processes (default: as many as cores and memory allow)"
    )
    compile_timeout: float = settable(
        300.0, "seconds that one kernel's compilation may take, without waiting for a CPU"
    )
    timeout: float = settable(
        60.0,
        "seconds that support test, runs and timing of one kernel may take together; verification is not "
        "counted",
    )
    work_dir: str | None = settable(
        None, "directory for sources and libraries (default: one below the cache)"
    )


#: setting -> its type
_KINDS: Final = {setting.name: str(setting.type) for setting in fields(Settings)}


def load_settings(
    explicit: Path | None, start: Path, environment: Mapping[str, str] = os.environ
) -> Settings:
    """Read ``ckprof.toml`` and the environment.

    :param explicit: ``--config``; must exist.
    :param start: without ``explicit``, the file is looked for here and in the parents, by :func:`find_file`.
    :raises InputError: the file cannot be read or has a wrong key or value.
    :raises UsageError: an environment variable has a wrong value.
    """
    path = explicit or find_file(start)[0]
    values: dict[str, object] = {}
    if path is not None:
        values = _read(path)
        for name, suffix in _PATHS.items():
            items = values.get(name)
            if isinstance(items, list):
                values[name] = [_anchor(item, path.parent, suffix) for item in items]
    for name, value in values.items():
        problem = _violation(name, value)
        if problem:
            raise InputError(problem, path)
    for name in _KINDS:
        text = environment.get(f"CKPROF_{name.upper()}")
        if text:
            values[name] = text.split(",") if name in _PATHS else text
            problem = _violation(name, values[name], strict=False)
            if problem:
                raise UsageError(f"environment variable CKPROF_{name.upper()}: {problem}")
    return _converted(values, strict=False) if values else Settings()


def _converted(values: dict[str, object], *, strict: bool) -> Settings:
    # most calls have no settings, and need not import it
    import msgspec

    read = {n: duration(v) if isinstance(v, str) and _KINDS[n] == "float" else v for n, v in values.items()}
    return msgspec.convert(read, Settings, strict=strict)


def _violation(name: str, value: object, *, strict: bool = True) -> str:
    """Return what is wrong with a setting, if anything; strictly, texts are no numbers."""
    if name not in _KINDS:
        return unknown_name("setting", name, _KINDS)
    try:
        number = getattr(_converted({name: value}, strict=strict), name)
    except (ValueError, UsageError):
        return f"{name} is {value!r}, expected {_EXPECTED[_KINDS[name]]}"
    is_wrong = isinstance(number, int | float) and number <= 0
    return f"{name} is {value!r}, expected more than 0" if is_wrong else ""


def find_file(start: Path) -> tuple[Path | None, str]:
    """Look for the settings file in a folder and its parents; the first one counts.

    The file names plugins and compilers, that is, code to run. So one that somebody else could have put there
    is not read: neither the file nor its folder may belong to another user than this one or the
    administrator, or be writable for everybody.

    :returns: the file, and why one that was found is not read; an empty text if there is no such file.
    """
    for folder in (start, *start.parents):
        path = folder / FILE_NAME
        if path.is_file():
            doubt = _doubt_about(path)
            if not doubt:
                return path, ""
            return None, (
                f"{path} is not read: {doubt}; it may name code to run, so name it with --config if "
                "you trust it"
            )
    return None, ""


def _doubt_about(path: Path) -> str:
    """Return who else than this user could have written a file, or an empty string."""
    user = os.getuid()
    # through links as well: neither the link nor what it leads to
    for spelling in dict.fromkeys((path, path.resolve())):
        for file, what in ((spelling, "it"), (spelling.parent, "its folder")):
            try:
                status = file.stat()
            except OSError as exc:
                return f"{what} cannot be examined ({exc.strerror})"
            if status.st_uid not in (user, 0):
                return f"{what} belongs to another user ({user_name(status.st_uid)})"
            if status.st_mode & stat.S_IWOTH:
                return f"{what} can be written by everybody"
    return ""


def _read(path: Path) -> dict[str, object]:
    with system_errors(InputError, "cannot read", path):
        data = path.read_bytes()
    with input_errors((tomllib.TOMLDecodeError, UnicodeDecodeError), "not valid TOML", path):
        values: dict[str, object] = tomllib.loads(data.decode())
    return values


def _anchor(item: object, folder: Path, suffix: str) -> object:
    """Make a path relative to the file's folder; what is no path, such as a module name, stays as it is."""
    if isinstance(item, str) and item.endswith(suffix) and not item.startswith("~"):
        return str(folder / item)
    return item
