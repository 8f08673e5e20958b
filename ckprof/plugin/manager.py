"""Finding and loading plugins, one by one and in a fixed order.

A broken plugin never takes the tool down: it is remembered with its error, shown by ``ckprof plugins``, and
reported on standard error by the commands that load plugins.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pluggy

from ckprof.errors import CkprofError, PluginError, UsageError
from ckprof.plugin import hookspecs
from ckprof.plugin.markers import NAME
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

#: packages that ship with ckprof; each lists its hook modules in ``PLUGIN_MODULES``
BUILTIN_PACKAGES: Final = (
    "ckprof.report",
    "ckprof.store",
    "ckprof.compare",
    "ckprof.store_report",
    "ckprof_converters",
    "ckprof_plugins",
)

#: comma-separated names of plugins that are not loaded
DISABLE_VARIABLE: Final = "CKPROF_DISABLE_PLUGINS"

#: set to a non-empty value to print every hook call on standard error
TRACE_VARIABLE: Final = "CKPROF_TRACE_HOOKS"


class Origin(Enum):
    """Where a plugin was named."""

    BUILTIN = "built-in"
    ENTRY_POINT = "entry point"
    CONFIG = "ckprof.toml"
    COMMAND_LINE = "--plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPlugin:
    """A plugin that was found, and what became of it."""

    name: str
    origin: Origin
    #: module or file that was named
    location: str
    #: distribution that brought it, with its version; empty for loose files
    distribution: str = ""
    version: str = ""
    hooks: tuple[str, ...] = ()
    #: why it is not active; empty if it is
    error: str = ""

    @property
    def active(self) -> bool:
        """True when the plugin's hooks are called."""
        return not self.error


class PluginManager:
    """Loads plugins and calls their hooks.

    Calls that fail raise :class:`~ckprof.errors.PluginError` naming the plugin and the hook.
    """

    def __init__(self) -> None:
        self._pm = pluggy.PluginManager(NAME)
        self._pm.add_hookspecs(hookspecs)
        self._plugins: list[LoadedPlugin] = []
        self._disabled = {
            name.strip() for name in os.environ.get(DISABLE_VARIABLE, "").split(",") if name.strip()
        }
        if os.environ.get(TRACE_VARIABLE):
            self._pm.trace.root.setwriter(lambda text: print(text, end="", file=sys.stderr))
            self._pm.enable_tracing()

    @property
    def plugins(self) -> Sequence[LoadedPlugin]:
        """Every plugin that was found, in load order, broken and disabled ones included."""
        return tuple(self._plugins)

    @property
    def broken(self) -> list[LoadedPlugin]:
        """The plugins that could not be loaded; those that the user disabled are not among them."""
        return [plugin for plugin in self._plugins if plugin.error and plugin.name not in self._disabled]

    def load_all(self, *, configured: Iterable[str] = (), requested: Iterable[str] = ()) -> None:
        """Load built-ins, then installed plugins, then those of the configuration and of the command line.

        :param configured: module names or file paths of ``ckprof.toml``.
        :param requested: module names or file paths given with ``--plugin``.
        :raises PluginError: a plugin named on the command line cannot be loaded: the user asked for it.
        """
        for package in BUILTIN_PACKAGES:
            for module in importlib.import_module(package).PLUGIN_MODULES:
                load = partial(importlib.import_module, module)
                self._load(module, Origin.BUILTIN, module, load, ("ckprof", __version__))
        points = importlib.metadata.entry_points(group=NAME)
        for point in sorted(points, key=lambda p: (p.name, p.value)):
            dist = (point.dist.name, point.dist.version) if point.dist else ("", "")
            self._load(point.name, Origin.ENTRY_POINT, point.value, point.load, dist)
        for origin, names in ((Origin.CONFIG, configured), (Origin.COMMAND_LINE, requested)):
            for name in names:
                self._load(name, origin, name, partial(_import_module_or_file, name), ("", ""))
        for plugin in self.broken:
            if plugin.origin is Origin.COMMAND_LINE:
                raise PluginError(f"--plugin {plugin.location}: {plugin.error}")

    def register(self, plugin: object, name: str) -> None:
        """Register an object with hook implementations, as tests and embedding programs do.

        :raises PluginError: a hook has a wrong name or argument.
        """
        self._load(name, Origin.COMMAND_LINE, name, lambda: plugin, ("", ""))
        if self._plugins[-1].error:
            raise PluginError(f"plugin {name}: {self._plugins[-1].error}")

    def call(self, hook: str, **arguments: object) -> list[tuple[str, object]]:
        """Call a hook on every plugin, in load order.

        :returns: (plugin name, result) of each plugin that implements the hook and did not return ``None``.
        :raises PluginError: a plugin raised something that is not a :class:`CkprofError`.
        """
        owners = {
            implementation.plugin_name: implementation.plugin
            for implementation in getattr(self._pm.hook, hook).get_hookimpls()
        }
        results: list[tuple[str, object]] = []
        for plugin in self._plugins:
            if plugin.name not in owners:
                continue
            # One plugin at a time, so that an exception has an owner.
            others = [other for name, other in owners.items() if name != plugin.name]
            try:
                answers = self._pm.subset_hook_caller(hook, others)(**arguments)
            except CkprofError:
                raise
            except Exception as exc:
                raise PluginError(f"plugin {plugin.name}: {hook} raised {type(exc).__name__}: {exc}") from exc
            results.extend((plugin.name, answer) for answer in answers)
        return results

    def _load(
        self,
        name: str,
        origin: Origin,
        location: str,
        load: Callable[[], object],
        distribution: tuple[str, str],
    ) -> None:
        entry = LoadedPlugin(
            name=name,
            origin=origin,
            location=location,
            distribution=distribution[0],
            version=distribution[1],
        )
        if name in self._disabled:
            self._plugins.append(replace(entry, error=f"disabled by {DISABLE_VARIABLE}"))
            return
        try:
            plugin = load()
            self._pm.register(plugin, name=name)
            try:
                self._pm.check_pending()
            except pluggy.PluginValidationError:
                self._pm.unregister(plugin)
                raise
        # A plugin may fail in any way while it is imported, SystemExit included.
        except (Exception, SystemExit) as exc:
            self._plugins.append(replace(entry, error=f"{type(exc).__name__}: {exc}"))
            return
        hooks = sorted(caller.name for caller in self._pm.get_hookcallers(plugin) or ())
        self._plugins.append(replace(entry, hooks=tuple(hooks)))


def _import_module_or_file(name: str) -> ModuleType:
    """Import ``name`` as a file if it looks like one, otherwise as a module.

    :raises UsageError: there is no such file.
    """
    path = Path(name)
    if path.suffix != ".py" and "/" not in name:
        return importlib.import_module(name)
    if not path.is_file():
        raise UsageError(f"no such file: {path}")
    spec = importlib.util.spec_from_file_location(f"ckprof_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"not a Python file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
