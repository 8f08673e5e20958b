"""Registries and profilers with a plugin that need not be installed, and one instance run on the CPU."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.measure.options import RunOptions
from ckprof.plugin.hookspecs import hookimpl
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.profiler import Profiler
from ckprof.testing.contract import CheckVerdict, ContractCheck
from ckprof.testing.plugin_check import check_plugin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.model.problem import Problem
    from ckprof.plugin.additions import Additions
    from ckprof.results import Result

#: seconds that timing takes where only the result matters
_QUICK_S = 0.02


class Registering:
    """A plugin that registers objects.

    :param objects: of any kind.
    """

    def __init__(self, *objects: object) -> None:
        self._objects = objects

    @hookimpl
    def ckprof_register(self, registry: Additions) -> None:
        """Register them."""
        registry.add(*self._objects)


def registry_with(*plugins: object, builtins: bool = True) -> Registry:
    """Return what the built-in plugins and some more provide, checked as in a run.

    :param plugins: modules, or objects with hook implementations.
    :param builtins: load ckprof's own and installed plugins too.
    :raises PluginError: a plugin breaks its contract.
    """
    manager = PluginManager()
    if builtins:
        manager.load_all()
    _register(manager, plugins)
    return Registry(manager).check_all()


def write_list(path: Path, lines: Iterable[str]) -> Path:
    """Write an instance list; what its lines do not say, its name should: ``mine_nhwgc_fp16.conf``.

    :returns: the path.
    """
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def run_instance(
    conf: Path | str,
    *plugins: object,
    problem: str | Problem = "",
    index: int = 0,
    build_dir: Path | None = None,
) -> Result:
    """Build one instance of a list for the CPU, run it, verify it, and return what became of it.

    :param conf: the list.
    :param plugins: modules or objects; installed plugins are there in any case.
    :param problem: what it computes; by default what its family runs on by itself.
    :param index: which instance of the list, from 0.
    :param build_dir: where the sources and the library are left; by default the usual work folder.
    :raises CkprofError: the list or a plugin is wrong, or there is no compiler.
    """
    profiler = _profiler(plugins)
    results = profiler.profile(
        InstanceQuery(conf=conf, indices=(index,)),
        [problem] if problem else [],
        build=BuildOptions(build_dir=build_dir),
        run=RunOptions(max_time_s=_QUICK_S),
    )
    return next(iter(results))


def check_contract(plugin: object, *lists: Path | str) -> list[ContractCheck]:
    """Do what ``ckprof plugins --check`` does for a plugin that need not be installed.

    :param plugin: a module or an object.
    :param lists: lists with instances of its families.
    :returns: the checks.
    :raises AssertionError: one has failed, or could not be tried; the message says all of them.
    """
    profiler = _profiler([plugin])
    name = profiler.manager.name_of(plugin) or _name_of(plugin)
    checks = list(check_plugin(profiler, name, [str(path) for path in lists]))
    lines = [
        f"{check.what}: {check.check}: {check.verdict.value}: {check.detail}"
        for check in checks
        if check.verdict is not CheckVerdict.PASSED
    ]
    if lines:
        raise AssertionError("\n".join(lines))
    return checks


def _profiler(plugins: Iterable[object]) -> Profiler:
    profiler = Profiler()
    _register(profiler.manager, plugins)
    return profiler


def _register(manager: PluginManager, plugins: Iterable[object]) -> None:
    """Register plugins that are not there yet: one may be installed as well."""
    for plugin in plugins:
        if manager.name_of(plugin) is None:
            manager.register(plugin, _name_of(plugin))


def _name_of(plugin: object) -> str:
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__name__
