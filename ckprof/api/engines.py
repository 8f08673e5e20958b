"""The engines that plugins provide."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ckprof.errors import PluginError, UsageError
from ckprof.model.suggestion import unknown_name
from ckprof.sweep.cluster.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.manager import PluginManager

#: what is used unless ``--engine`` or the settings file names another one
DEFAULT = "local"


def engines(manager: PluginManager) -> dict[str, Engine]:
    """Return the engines of all plugins by id, sorted.

    :raises PluginError: two have the same id, or something else was registered.
    """
    found: dict[str, tuple[str, Engine]] = {}
    for plugin, added in manager.call("ckprof_register_engines"):
        for one in cast("Sequence[object]", added):
            if not isinstance(one, Engine):
                raise PluginError(
                    f"plugin {plugin}: {one!r} is no engine: it lacks id, label, pools() or open()"
                )
            if one.id in found:
                raise PluginError(
                    f"two plugins provide the engine {one.id!r}: {found[one.id][0]} and {plugin}; "
                    "disable one of them with CKPROF_DISABLE_PLUGINS"
                )
            found[one.id] = plugin, one
    return {name: found[name][1] for name in sorted(found)}


def find_engine(manager: PluginManager, name: str) -> Engine:
    """Return the engine of that id.

    :raises UsageError: there is none.
    """
    known = engines(manager)
    if name in known:
        return known[name]
    raise UsageError(unknown_name("engine", name, tuple(known), "none: no plugin provides any"))
