"""The whole contract of one plugin, tried out: what registration cannot know is asked of real objects.

There is a trial for every kind of object. Every kernel family of the plugin takes one instance of a list from
the record to a verified result; formats render what a run of an instance gave.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from ckprof.errors import CkprofError, UsageError
from ckprof.kernels.requests import BuildOptions
from ckprof.lists.list_files import find_list, find_lists
from ckprof.paths import conf_root
from ckprof.private_folders import temporary_folder
from ckprof.sanitize import unknown_name
from ckprof.testing.contract import CheckVerdict, ContractCheck
from ckprof.testing.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckprof.plugin.registry import Registry
    from ckprof.profiler import Profiler
    from ckprof.testing.contract import Trials


def check_plugin(
    profiler: Profiler, name: str, lists: Sequence[str] = (), build: BuildOptions | None = None
) -> Iterator[ContractCheck]:
    """Try out everything that a plugin provides, and yield what was found.

    :param name: as ``ckprof plugins`` shows it.
    :param lists: lists with instances of its families; by default those that ship with ckprof.
    :param build: says on which target, architecture and device families are tried.
    :raises UsageError: there is no such plugin.
    :raises InputError: a list cannot be found.
    """
    entry = next((plugin for plugin in profiler.manager.plugins if plugin.name == name), None)
    if entry is None:
        raise UsageError(unknown_name("plugin", name, [plugin.name for plugin in profiler.manager.plugins]))
    paths = [find_list(path) for path in lists] or find_lists(conf_root(), None)
    if entry.error:
        yield ContractCheck(what="plugin", check="is loaded", verdict=CheckVerdict.FAILED, detail=entry.error)
        return
    registers = ContractCheck.of(
        "plugin", "registers what its contract asks for", lambda: _hooks(profiler, name)
    )
    yield registers
    if registers.verdict is not CheckVerdict.PASSED:
        return
    with tempfile.TemporaryDirectory(prefix="ckprof-check-", dir=temporary_folder()) as folder:
        samples = Samples(profiler, paths, Path(folder), build or BuildOptions())
        for kind in profiler.registry.kinds:
            entries = profiler.registry.entries(kind)
            for id_, item in entries.as_mapping().items():
                if entries.provider(id_) == name:
                    trials = partial(resolve_name(kind.trials), samples)
                    yield from _tried(f"{kind.name} {id_!r}", profiler.registry, trials, item)


def _tried(
    what: str, registry: Registry, trials_of: Callable[[Any], Trials], entry: object
) -> Iterator[ContractCheck]:
    """Yield what becomes of the trials of an object, up to the first that fails."""
    named = getattr(entry, "directions", None) or [getattr(entry, "direction", None)]
    try:
        for id_ in filter(None, named):
            registry.operation(id_)
        for check, action in trials_of(entry):
            result = ContractCheck.of(what, check, action)
            yield result
            if result.verdict is not CheckVerdict.PASSED:
                return
    except CkprofError as error:
        yield ContractCheck.failed(what, "can be tried", error)


def _hooks(profiler: Profiler, name: str) -> str:
    """Return the hooks of a plugin, after everything that plugins register was checked."""
    profiler.registry.check_all()
    hooks = next(plugin.hooks for plugin in profiler.manager.plugins if plugin.name == name)
    return ", ".join(hook.removeprefix("ckprof_") for hook in hooks)
