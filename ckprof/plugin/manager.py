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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, cast

import pluggy

from ckprof.errors import CkprofError, PluginError, UsageError
from ckprof.model.problem_types import ask_for_problem_types
from ckprof.plugin import hookspecs
from ckprof.plugin.failure import STOPPING, described, failed, import_failure
from ckprof.plugin.former_names import accept_former_modules
from ckprof.plugin.markers import NAME
from ckprof.plugin.operations import problem_types_of
from ckprof.plugin.value_types import check_of, shown, unfit_items
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FunctionType

#: packages that ship with ckprof; each lists its hook modules in ``PLUGIN_MODULES``
BUILTIN_PACKAGES: Final = (
    "ckprof.report",
    "ckprof.store",
    "ckprof.sweep",
    "ckprof.compare",
    "ckprof.store_report",
    "ckprof.tune",
    "ckprof_converters",
    "ckprof_plugins",
)

#: comma-separated names of plugins that are not loaded
DISABLE_VARIABLE: Final = "CKPROF_DISABLE_PLUGINS"

#: set to a non-empty value to print every hook call on standard error
TRACE_VARIABLE: Final = "CKPROF_TRACE_HOOKS"


#: hooks that may change what they are given
_CHANGING: Final = "ckprof_modify_"
#: hooks that return lists of objects, which are checked one by one
_REGISTERING: Final = "ckprof_register_"


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
    def is_loose(self) -> bool:
        """True for a plugin that is found only because somebody named it."""
        return self.origin in (Origin.CONFIG, Origin.COMMAND_LINE)


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
        accept_former_modules()
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
        ask_for_problem_types(self._problem_types)

    def _problem_types(self) -> Iterator[type[object]]:
        """Yield the types of problems of the operations that plugins add, of which nothing else is wanted."""
        for _, operations in self.call("ckprof_register_operations"):
            for operation in cast("Sequence[object]", operations):
                yield from problem_types_of(operation)

    def register(self, plugin: object, name: str) -> None:
        """Register an object with hook implementations, as tests and embedding programs do.

        :raises PluginError: a hook has a wrong name or argument.
        """
        self._load(name, Origin.COMMAND_LINE, name, lambda: plugin, ("", ""))
        if self._plugins[-1].error:
            raise PluginError(f"plugin {name}: {self._plugins[-1].error}")

    def has(self, plugin: object) -> bool:
        """Say whether an object's hooks are called."""
        return self._pm.is_registered(plugin)

    def call(self, hook: str, **arguments: object) -> list[tuple[str, object]]:
        """Call a hook on every plugin, in load order.

        :returns: (plugin name, result) of each plugin that implements the hook and did not return ``None``.
        :raises PluginError: a plugin raised something that is not a :class:`CkprofError`, ``SystemExit``
            included, returned something else than the hook's declaration says, or put something else into a
            list that it may change.
        """
        specification: FunctionType = getattr(hookspecs, hook)
        returns = specification.__annotations__["return"]
        changes = _lists_to_change(specification) if hook.startswith(_CHANGING) else {}
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
            except (CkprofError, *STOPPING):
                raise
            except BaseException as exc:
                raise failed(plugin.name, hook, exc, self.culprit(exc, plugin.name)) from exc
            for answer in answers:
                if returns != "None" and not check_of(returns)(answer):
                    expected = "a list" if hook.startswith(_REGISTERING) else returns
                    raise PluginError(
                        f"plugin {plugin.name}: {hook} returned {shown(answer)}, expected {expected}"
                    )
                results.append((plugin.name, answer))
            for argument, annotation in changes.items():
                found = unfit_items(arguments[argument], annotation)
                if found:
                    raise PluginError(
                        f"plugin {plugin.name}: {hook} left {found} in {argument}, expected {annotation}"
                    )
        return results

    @contextmanager
    def blaming(self, place: str) -> Iterator[None]:
        """Report what leaves the block as the failure of a plugin, if it was raised in a plugin's code.

        Guards and hooks report most of what plugins do; what is left is data with functions in it, which
        ckprof calls itself.

        :param place: what was being done, for the message.
        :raises PluginError: a plugin raised something that is not a :class:`CkprofError`.
        """
        try:
            yield
        except (CkprofError, *STOPPING):
            raise
        except BaseException as exc:
            culprit = self.culprit(exc, "")
            if not culprit:
                raise
            raise PluginError(f"plugin {culprit}: {described(exc)} during {place}") from exc

    def culprit(self, error: BaseException, provider: str) -> str:
        """Return the plugin in whose code an exception was raised, if it is not the one that was called.

        Plugins call each other's code: a converter, for instance, the functions of another plugin's families.

        :param provider: the plugin that was called.
        :returns: an empty text if it was that one, or part of ckprof.
        """
        import traceback

        files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
        for file in reversed(files):
            found = [name for name, root in self._roots.items() if file.startswith(root)]
            if provider in found:
                return ""
            if found:
                return found[0]
        return ""

    @property
    def _roots(self) -> dict[str, str]:
        """Plugin name -> the file that it is, or the folder of the package that it belongs to."""
        roots: dict[str, str] = {}
        for entry in self._plugins:
            plugin = self._pm.get_plugin(entry.name)
            if entry.origin is Origin.BUILTIN or plugin is None:
                continue
            name = getattr(plugin, "__name__" if isinstance(plugin, ModuleType) else "__module__", "")
            module = sys.modules.get(name)
            package = sys.modules.get(name.partition(".")[0])
            folder = next(iter(getattr(package, "__path__", ())), None)
            place = f"{folder}{os.sep}" if folder else getattr(module, "__file__", None)
            if place:
                roots[entry.name] = place
        return roots

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
        except STOPPING:
            raise
        # A plugin may fail in any way while it is imported, SystemExit included.
        except BaseException as exc:
            self._plugins.append(replace(entry, error=import_failure(exc)))
            return
        hooks = sorted(caller.name for caller in self._pm.get_hookcallers(plugin) or ())
        self._plugins.append(replace(entry, hooks=tuple(hooks)))


def _lists_to_change(specification: FunctionType) -> dict[str, str]:
    """Return the parameters of a hook that are lists, with their annotations."""
    return {name: text for name, text in specification.__annotations__.items() if text.startswith("list[")}


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
