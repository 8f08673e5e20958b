"""What a plugin did wrong, as an error that names the plugin, the object and the member."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import PluginError

if TYPE_CHECKING:
    from types import TracebackType

#: lines of a traceback that are shown
_SHOWN: Final = 12

#: raised to stop ckprof, not by mistake: never taken for a plugin's failure
STOPPING: Final = (KeyboardInterrupt, GeneratorExit)

_HERE: Final = str(Path(__file__).parent)


def failed(provider: str, place: str, error: BaseException, culprit: str = "") -> PluginError:
    """Return the error that reports what a plugin has raised; raise it ``from`` the original.

    :param provider: name of the plugin.
    :param place: the hook, or object and member.
    :param culprit: another plugin, whose code the first one called.
    """
    if culprit:
        return PluginError(f"plugin {culprit}: {described(error)} in {place} of plugin {provider}")
    return PluginError(f"plugin {provider}: {place} {described(error)}")


def described(error: BaseException) -> str:
    """Return what was raised, as the end of a sentence; no exception can make this fail."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be read)"
    if isinstance(error, SystemExit):
        return f"called sys.exit({text})"
    name = type(error).__name__
    return f"raised {name}: {text}" if text else f"raised {name}"


def import_failure(error: BaseException) -> str:
    """Return why a plugin cannot be imported or registered, for tables and warnings."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}: (its text cannot be read)"


def traceback_lines(error: BaseException) -> list[str]:
    """Return the first lines of the traceback of what a plugin raised, from the plugin's own code on.

    :param error: a :class:`PluginError`; one that has no cause has no traceback to show.
    """
    import traceback

    cause = error.__cause__
    if cause is None:
        return []
    own = _behind_the_guard(cause.__traceback__)
    lines = "".join(traceback.format_exception(type(cause), cause, own, chain=False)).splitlines()
    return lines if len(lines) <= _SHOWN else [*lines[: _SHOWN - 2], "  ...", lines[-1]]


def _behind_the_guard(tb: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback behind the last frame of this package and of what calls hooks for it."""
    found = tb
    while tb is not None:
        name = tb.tb_frame.f_code.co_filename
        if name.startswith(_HERE) or "/pluggy/" in name:
            found = tb.tb_next or found
        tb = tb.tb_next
    return found
