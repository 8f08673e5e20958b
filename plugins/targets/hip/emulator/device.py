"""The device that any machine has: its name, its settings, and how libraries are linked with it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.model.recipe import MachinePart
from ckprof.plain_text import unknown_name
from ckprof_plugins.targets.hip.emulator.library import (
    ARCHITECTURES,
    COMPILE_S,
    emulator_library,
    library_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: what ``--device`` calls it
NAME: Final = "emulated"
#: settings that are numbers -> variable that the emulator reads
_NUMBERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "seed": "CKPROF_EMULATED_SEED",
        "threads": "CKPROF_EMULATED_THREADS",
        "budget": "CKPROF_EMULATED_BUDGET",
        "memory": "CKPROF_EMULATED_MEMORY",
    }
)
#: settings that are words -> variable, and the words
_WORDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    {"faults": ("CKPROF_EMULATED_FAULTS", ("error", "abort"))}
)
_CHECKS: Final = "CKPROF_EMULATED_CHECKS"
_CHECK_SETTING: Final = "check"
#: what can be checked
CHECKS: Final = ("races", "uninitialised", "waits", "bounds", "barriers")
_ALL: Final = "all"


def variables_of(device: str) -> dict[str, str]:
    """Return the environment variables that say what ``emulated:seed=7,check=races+waits`` says.

    :raises UsageError: it is another device, or a setting is wrong.
    """
    name, _, settings = device.partition(":")
    if name != NAME:
        raise UsageError(f"--device: {unknown_name('device', name, (NAME,))}")
    found: dict[str, str] = {}
    for part in filter(None, settings.split(",")):
        key, _, value = part.partition("=")
        if key == _CHECK_SETTING:
            found[_CHECKS] = ",".join(_known_checks(value))
        elif key in _WORDS:
            variable, words = _WORDS[key]
            if value not in words:
                raise UsageError(f"--device {device}: {key} is {value!r}, expected {' or '.join(words)}")
            found[variable] = value
        elif key not in _NUMBERS:
            known = (*_NUMBERS, *_WORDS, _CHECK_SETTING)
            raise UsageError(f"--device {device}: {unknown_name('setting', key, known)}")
        elif not (value.isascii() and value.isdecimal()) or (key == "threads" and int(value) == 0):
            raise UsageError(f"--device {device}: {key} is {value!r}, expected a number")
        else:
            found[_NUMBERS[key]] = value
    return found


def _known_checks(value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(value.split("+")))
    for name in names:
        if name not in (*CHECKS, _ALL):
            raise UsageError(f"--device {NAME}: {unknown_name('check', name, (*CHECKS, _ALL))}")
    return CHECKS if _ALL in names else names


def require_emulated(arch: str) -> None:
    """Refuse an architecture, given without features, that cannot be emulated.

    :raises UsageError: it cannot.
    """
    if arch not in ARCHITECTURES:
        raise UsageError(
            f"--device {NAME}: {arch} cannot be emulated; these can: {', '.join(sorted(ARCHITECTURES))}"
        )


def link_flags() -> tuple[str, ...]:
    """Return the flags that link the emulated device in place of the HIP runtime.

    :raises ToolchainError: no compiler or no HIP headers.
    """
    library = library_path()
    return (f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", f"-l:{library.name}")


def parts() -> tuple[MachinePart, ...]:
    """Return what has to be compiled before libraries are linked so.

    :raises ToolchainError: no compiler or no HIP headers.
    """
    library = library_path()
    return (
        MachinePart(
            name=f"the {NAME} device",
            folder=library.parent,
            cpu_s=COMPILE_S,
            present=library.is_file(),
            make=_make,
        ),
    )


def _make(jobs: int | None, on_progress: Callable[[int, int, str], None]) -> None:
    emulator_library(jobs=jobs, on_progress=on_progress)
