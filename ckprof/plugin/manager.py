"""Finding and loading plugins, one by one and in a fixed order.

A broken plugin never takes the tool down: it is remembered with its error, shown by ``ckprof plugins``, and
reported on standard error by the commands that load plugins.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

import pluggy

from ckprof.errors import CkprofError, PluginError, UsageError
from ckprof.files import module_of_file
from ckprof.model.problem_types import ask_for_problem_types
from ckprof.plugin import hookspecs
from ckprof.plugin.additions import Additions
from ckprof.plugin.boundary import Boundary, import_failure, shown
from ckprof.plugin.hookspecs import DISABLE_VARIABLE, NAME
from ckprof.plugin.members import check_of
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import FunctionType

    from ckprof.plugin.registry import Registry

#: packages that ship with ckprof; each lists its hook modules in ``PLUGIN_MODULES``
BUILTIN_PACKAGES: Final = (
    "ckprof.report",
    "ckprof.store",
    "ckprof_converters",
    "ckprof_plugins",
)

#: set to a non-empty value to print every hook call on standard error
TRACE_VARIABLE: Final = "CKPROF_TRACE_HOOKS"


#: hooks that may change what they are given
_CHANGING: Final = "ckprof_modify_"
#: the hook in which plugins register objects
_REGISTER: Final = "ckprof_register"


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
                entry = LoadedPlugin(name=module, origin=Origin.BUILTIN, location=module)
                entry = replace(entry, distribution="ckprof", version=__version__)
                self._load(entry, partial(importlib.import_module, module))
        points = importlib.metadata.entry_points(group=NAME)
        for point in sorted(points, key=lambda p: (p.name, p.value)):
            entry = LoadedPlugin(name=point.name, origin=Origin.ENTRY_POINT, location=point.value)
            if point.dist:
                entry = replace(entry, distribution=point.dist.name, version=point.dist.version)
            self._load(entry, point.load)
        for origin, names in ((Origin.CONFIG, configured), (Origin.COMMAND_LINE, requested)):
            for name in names:
                entry = LoadedPlugin(name=name, origin=origin, location=name)
                self._load(entry, partial(_import_module_or_file, name))
        for plugin in self.broken:
            if plugin.origin is Origin.COMMAND_LINE:
                raise PluginError(f"--plugin {plugin.location}: {plugin.error}")
        ask_for_problem_types(self.problem_types)

    def problem_types(self) -> Iterator[type[object]]:
        """Yield the types of problems of all operations, of which nothing else is wanted."""
        from ckprof.plugin.registry import Registry

        for operation in Registry(self).operations:
            yield from operation.problem_types

    def register(self, plugin: object, name: str) -> None:
        """Register an object with hook implementations, as tests and embedding programs do.

        :raises PluginError: a hook has a wrong name or argument.
        """
        entry = LoadedPlugin(name=name, origin=Origin.COMMAND_LINE, location=name)
        self._load(entry, lambda: plugin)
        if self._plugins[-1].error:
            raise PluginError(f"plugin {name}: {self._plugins[-1].error}")

    def name_of(self, plugin: object) -> str | None:
        """Return the name under which an object's hooks are called; ``None`` if they are not.

        That of an installed plugin is the name of its entry point.
        """
        return self._pm.get_name(plugin)

    def listens(self, hook: str) -> bool:
        """Say whether a plugin implements a hook."""
        return bool(getattr(self._pm.hook, hook).get_hookimpls())

    def call(self, hook: str, **arguments: object) -> list[tuple[str, object]]:
        """Call a hook on every plugin, in load order.

        :returns: (plugin name, result) of each plugin that implements the hook and did not return ``None``.
        :raises PluginError: a plugin raised something that is not a :class:`CkprofError`, ``SystemExit``
            included, returned something else than the hook's declaration says, or put something else into a
            list that it may change.
        """
        return [
            (name, answer)
            for name in self._implementing(hook)
            for answer in self._answers(name, hook, arguments)
        ]

    def additions(self) -> dict[str, Additions]:
        """Let every plugin register its objects: plugin name -> what it has added.

        :raises PluginError: a plugin raised something that is not a :class:`CkprofError`.
        """
        added: dict[str, Additions] = {}
        for name in self._implementing(_REGISTER):
            added[name] = Additions()
            self._answers(name, _REGISTER, {"registry": added[name]})
        return added

    def _implementing(self, hook: str) -> list[str]:
        """Return the names of the plugins that implement a hook, in load order."""
        names = {entry.plugin_name for entry in getattr(self._pm.hook, hook).get_hookimpls()}
        return [plugin.name for plugin in self._plugins if plugin.name in names]

    def _answers(self, name: str, hook: str, arguments: Mapping[str, object]) -> list[object]:
        """Call a hook on one plugin, so that an exception has an owner."""
        specification: FunctionType = vars(hookspecs)[hook]
        callers = getattr(self._pm.hook, hook).get_hookimpls()
        others = [entry.plugin for entry in callers if entry.plugin_name != name]
        with Boundary(name, hook, self.culprit, (CkprofError,)):
            answers = self._pm.subset_hook_caller(hook, others)(**arguments)
        if hook.startswith(_CHANGING):
            _check_lists(name, specification, arguments)
        return [_checked_answer(name, specification, answer) for answer in answers]

    def blaming(self, activity: str) -> Boundary:
        """Return a context that reports as the failure of a plugin what was raised in a plugin's code.

        Guards and hooks report most of what plugins do; what is left is data with functions in it, which
        ckprof calls itself.

        :param activity: what is being done, for the message.
        """
        return Boundary("", activity, self.culprit, (CkprofError,))

    def culprit(self, error: BaseException, called: str) -> str:
        """Return the plugin in whose code an exception was raised, if it is not the one that was called.

        Plugins call each other's code: a converter, for instance, the functions of another plugin's families.

        :param called: the plugin that was called; empty for none.
        :returns: an empty text if it was that one, or part of ckprof.
        """
        import traceback

        files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
        for file in reversed(files):
            owners = [name for name, root in self.roots.items() if file.startswith(root)]
            if owners:
                return "" if called in owners else owners[0]
        return ""

    @property
    def roots(self) -> dict[str, str]:
        """The file, or the folder of the package, of each plugin that is no part of ckprof, by its name."""
        roots: dict[str, str] = {}
        for entry in self._plugins:
            plugin = self._pm.get_plugin(entry.name)
            if entry.origin is Origin.BUILTIN or plugin is None:
                continue
            name = getattr(plugin, "__name__" if isinstance(plugin, ModuleType) else "__module__", "")
            module = sys.modules.get(name)
            package = sys.modules.get(name.partition(".")[0])
            folder = next(iter(getattr(package, "__path__", ())), None)
            root = f"{folder}{os.sep}" if folder else getattr(module, "__file__", None)
            if root:
                roots[entry.name] = root
        return roots

    def _load(self, entry: LoadedPlugin, load: Callable[[], object]) -> None:
        name = entry.name
        if name in self._disabled:
            self._plugins.append(replace(entry, error=f"disabled by {DISABLE_VARIABLE}"))
            return
        try:
            plugin = load()
            if self._pm.get_name(plugin) is None:  # one that is installed may be named as well
                self._pm.register(plugin, name=name)
            try:
                self._pm.check_pending()
                if hasattr(plugin, "__path__") and not self._pm.get_hookcallers(plugin):
                    raise UsageError(f"a package without hooks; name its module, such as {name}.plugin")
            except (pluggy.PluginValidationError, UsageError):
                self._pm.unregister(plugin)
                raise
        except KeyboardInterrupt:
            raise
        # A plugin may fail in any way while it is imported, SystemExit included.
        except BaseException as exc:
            self._plugins.append(replace(entry, error=import_failure(exc)))
            return
        hooks = sorted(caller.name for caller in self._pm.get_hookcallers(plugin) or ())
        self._plugins.append(replace(entry, hooks=tuple(hooks)))


def installed_registry() -> Registry:
    """Return what ckprof's own and installed plugins provide, for programs that have opened no session.

    :raises PluginError: a plugin breaks its contract.
    """
    from ckprof.plugin.registry import Registry

    manager = PluginManager()
    manager.load_all()
    return Registry(manager)


def _checked_answer(plugin: str, specification: FunctionType, answer: object) -> object:
    """Return what a hook has returned; what an event's hook returns does not matter.

    :raises PluginError: it is of another type than the hook declares.
    """
    hook, expected = specification.__name__, specification.__annotations__["return"]
    if (expected == "None" and hook != _REGISTER) or check_of(expected)(answer):
        return answer
    raise PluginError(f"plugin {plugin}: {hook} returned {shown(answer)}, expected {expected}")


def _check_lists(plugin: str, specification: FunctionType, arguments: Mapping[str, object]) -> None:
    """Check the lists that a hook may have changed.

    :raises PluginError: there is an item of another type.
    """
    for name, annotation in specification.__annotations__.items():
        if annotation.startswith("list[") and not check_of(annotation)(arguments[name]):
            raise PluginError(
                f"plugin {plugin}: {specification.__name__} left something else in {name}, "
                f"expected {annotation}"
            )


def _import_module_or_file(name: str) -> ModuleType:
    """Import ``name`` as a file if it looks like one, otherwise as a module.

    :raises UsageError: there is no such file.
    """
    path = Path(name)
    if path.suffix != ".py" and "/" not in name:
        return importlib.import_module(name)
    if not path.is_file():
        raise UsageError(f"no such file: {path}")
    return module_of_file(path, "ckprof_plugin")
