"""The whole contract of one plugin, tried out: what registration cannot know is asked of real objects.

There is a trial for every kind of object. Every kernel family of the plugin takes one instance of a list from
the record to a verified result; formats render what a run of an instance gave.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.errors import CkprofError, UsageError
from ckprof.lists.list_files import find_list
from ckprof.paths import conf_root
from ckprof.plain_text import unknown_name
from ckprof.plugin.registry import Registry
from ckprof.private_folders import temporary_folder
from ckprof.testing.consumer_trials import ConsumerTrials
from ckprof.testing.contract import ContractCheck, Verdict
from ckprof.testing.list_trials import ListTrials
from ckprof.testing.measurement_trials import MeasurementTrials
from ckprof.testing.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ckprof.plugin.kinds import Kind
    from ckprof.profiler import Profiler
    from ckprof.testing.contract import Trials


def check_plugin(profiler: Profiler, name: str, lists: Sequence[str] = ()) -> Iterator[ContractCheck]:
    """Try out everything that a plugin provides, and yield what was found.

    :param name: as ``ckprof plugins`` shows it.
    :param lists: lists with instances of its families; by default those that ship with ckprof.
    :raises UsageError: there is no such plugin.
    :raises InputError: a list cannot be found.
    """
    entry = next((plugin for plugin in profiler.manager.plugins if plugin.name == name), None)
    if entry is None:
        raise UsageError(unknown_name("plugin", name, [plugin.name for plugin in profiler.manager.plugins]))
    paths = [find_list(path) for path in lists] or sorted(conf_root().rglob("*.conf"))
    if entry.error:
        yield ContractCheck(what="plugin", check="is loaded", verdict=Verdict.FAILED, detail=entry.error)
        return
    registers = ContractCheck.of(
        "plugin", "registers what its contract asks for", lambda: _hooks(profiler, name)
    )
    yield registers
    if registers.verdict is not Verdict.PASSED:
        return
    with tempfile.TemporaryDirectory(prefix="ckprof-check-", dir=temporary_folder()) as folder:
        samples = Samples(profiler, paths, Path(folder))
        trials = trials_of_kinds(samples)
        for kind in dict.fromkeys((*trials, *profiler.registry.kinds)):
            trials_of = trials.get(kind) or partial(kind.trials or _no_trials, samples)
            entries = profiler.registry.entries(kind)
            for id_, item in entries.as_mapping().items():
                if entries.provider(id_) == name:
                    yield from _tried(f"{kind.name} {id_!r}", trials_of, item)


def trials_of_kinds(samples: Samples) -> Mapping[Kind[Any], Callable[[Any], Trials]]:
    """Return what the objects of each kind are tried with."""
    lists, measured = ListTrials(samples), MeasurementTrials(samples)
    return {
        Registry.directions: measured.operation,
        Registry.further_operations: measured.operation,
        Registry.variants: lists.variant,
        Registry.families: lists.family,
        Registry.converters: lists.converter,
        Registry.extractors: lists.extractor,
        Registry.string_kinds: lists.string_kind,
        Registry.builder_readers: lists.builder_reader,
        Registry.pipelines: lists.pipeline,
        Registry.rule_sets: lists.rule_set,
        Registry.targets: measured.target,
        Registry.baselines: measured.baseline,
        Registry.problem_sets: measured.problem_set,
        Registry.engines: measured.engine,
        Registry.observers: measured.observer,
        Registry.strategies: measured.strategy,
        Registry.formats: measured.report_format,
        Registry.parity_formats: measured.parity_format,
        Registry.comparison_formats: measured.comparison_format,
        Registry.results_views: measured.results_view,
        Registry.inspection_views: measured.inspection_view,
        Registry.store_formats: measured.store_format,
        Registry.commands: measured.command,
        Registry.consumers: ConsumerTrials(samples).consumer,
    }


def _no_trials(samples: Samples, entry: object) -> Trials:
    return ()


def _tried(what: str, trials_of: Callable[[Any], Trials], entry: object) -> Iterator[ContractCheck]:
    """Yield what becomes of the trials of an object, up to the first that fails."""
    try:
        for check, action in trials_of(entry):
            result = ContractCheck.of(what, check, action)
            yield result
            if result.verdict is not Verdict.PASSED:
                return
    except CkprofError as error:
        yield ContractCheck.failed(what, "can be tried", error)


def _hooks(profiler: Profiler, name: str) -> str:
    """Return the hooks of a plugin, after everything that plugins register was checked."""
    profiler.registry.check_all()
    hooks = next(plugin.hooks for plugin in profiler.manager.plugins if plugin.name == name)
    return ", ".join(hook.removeprefix("ckprof_") for hook in hooks)
