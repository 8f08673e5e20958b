"""The whole contract of one plugin, tried out: what registration cannot know is asked of real objects.

Every kernel family of the plugin takes one instance of a list from the record to a verified result.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.errors import CkprofError, PluginError, ToolchainError, UsageError
from ckprof.kernels.candidates import list_candidates
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.lists.list_files import find_list, read_list
from ckprof.model.api_level import LATEST_API_LEVEL
from ckprof.paths import conf_root
from ckprof.plain_text import unknown_name
from ckprof.plugin.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.catalog import Catalog
    from ckprof.model.conversion import Conversion
    from ckprof.plugin.kinds import Kind
    from ckprof.plugin.protocols import Observer, Pipeline, RuleSet, StoreFormat, Target
    from ckprof.profiler import Profiler

    #: a few words and what raises if that is not so, in the order in which they are tried
    Trials = Iterable[tuple[str, Callable[[], str]]]


class Verdict(Enum):
    """What became of a check."""

    PASSED = "passed"
    FAILED = "failed"
    #: it needs something that this machine or the call lacks
    NOT_POSSIBLE = "not possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCheck:
    """One check of one object."""

    #: kind and id, e.g. ``pipeline 'mine'``
    what: str
    #: a few words, e.g. ``records round-trip``
    check: str
    verdict: Verdict
    #: why it failed, or what was found
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """An instance of a list, with the record that it comes from."""

    path: Path
    catalog: Catalog
    candidate: Candidate


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
    registers = _checked("plugin", "registers what its contract asks for", lambda: _hooks(profiler, name))
    yield registers
    if registers.verdict is Verdict.PASSED:
        yield from _PluginCheck(profiler, name, paths).checks()


class _PluginCheck:
    """The objects of one plugin."""

    def __init__(self, profiler: Profiler, name: str, paths: Sequence[Path]) -> None:
        self._profiler = profiler
        self._registry = profiler.registry
        self._name = name
        self._paths = paths

    def checks(self) -> Iterator[ContractCheck]:
        trials: dict[Kind[Any], Callable[[Any], Trials]] = {
            Registry.pipelines: self._pipeline,
            Registry.targets: self._target,
            Registry.rule_sets: self._rule_set,
            Registry.converters: lambda converter: [("converts a list", self._some_list)],
            Registry.baselines: lambda baseline: [("says what is missing", baseline.missing)],
            Registry.observers: self._observer,
            Registry.store_formats: self._store_format,
        }
        for kind, trials_of in trials.items():
            entries = self._registry.entries(kind)
            for id_, entry in entries.as_mapping().items():
                if entries.provider(id_) == self._name:
                    yield from self._tried(f"{kind.name} {id_!r}", trials_of, entry)

    def _tried(self, what: str, trials_of: Callable[[Any], Trials], entry: object) -> Iterator[ContractCheck]:
        """Yield what becomes of the trials of an object, up to the first that fails."""
        try:
            for check, action in trials_of(entry):
                result = _checked(what, check, action)
                yield result
                if result.verdict is not Verdict.PASSED:
                    return
        except CkprofError as error:
            yield _failed(what, "has an instance", error)

    def _pipeline(self, pipeline: Pipeline) -> Trials:
        """Yield the trials of a kernel family on an instance.

        :raises CkprofError: none can be had.
        """
        sample = self._sample(pipeline)
        yield "records round-trip", lambda: _round_trip(sample, self._profiler)
        yield "describes its instances", lambda: _described(sample, pipeline)
        yield "renders", lambda: _rendered(sample, self._profiler.target().default_arch)
        yield "builds, says what instance_string says, and runs", lambda: self._run(sample)

    def _rule_set(self, rule_set: RuleSet) -> Trials:
        query = InstanceQuery(rule_set=rule_set.id)
        yield "enumerates instances that are valid", partial(_counted, self._profiler, query)

    def _target(self, target: Target) -> Trials:
        from ckprof.model.recipe import BuildRequest

        yield "reports what is there", lambda: f"{len(target.findings())} findings"
        request = BuildRequest(arch=target.default_arch)
        yield "has a recipe", lambda: target.recipe(request).compiler.description

    def _observer(self, observer: Observer) -> Trials:
        for target in self._registry.targets.ids:
            yield f"reads {target}", partial(_read, observer, target)

    def _store_format(self, store_format: StoreFormat) -> Trials:
        yield "looks at an empty file", lambda: str(store_format.recognises(b""))

    def _sample(self, pipeline: Pipeline) -> _Sample:
        """Return the first valid instance of a family that a list has; lists of others may be wrong.

        :raises ToolchainError: no list has one.
        """
        arch = self._profiler.target().default_arch
        for path in self._paths:
            conversion = read_list(path, self._registry)
            for candidate in list_candidates([conversion], self._registry):
                if candidate.pipeline.id != pipeline.id:
                    continue
                if not pipeline.unmet_requirements(candidate.instance, arch, LATEST_API_LEVEL):
                    return _Sample(path=path, catalog=_catalog_of(candidate, conversion), candidate=candidate)
        raise ToolchainError("no list has a valid one; name a list of its instances with --conf")

    def _run(self, sample: _Sample) -> str:
        from ckprof.measure.options import RunOptions

        query = InstanceQuery(conf=sample.path, indices=(sample.candidate.index,))
        options = RunOptions(max_time_s=0.05, timeout_s=self._profiler.settings.timeout)
        results = self._profiler.profile(query, build=BuildOptions(), run=options)
        (result, *_) = results
        if not all(measured.status.value == "ok" for measured in results):
            raise PluginError(f"its default problem {result.problem.describe()}: {result.reason}")
        return f"{result.name} on {result.problem.describe()}"

    def _some_list(self) -> str:
        path = self._paths[0]
        return f"{path.name}: {read_list(path, self._registry).lines} lines"


def _catalog_of(candidate: Candidate, conversion: Conversion) -> Catalog:
    """Return the catalog that has the record of an instance."""
    id_, claims = candidate.instance.id, candidate.pipeline.claims
    return next(
        catalog
        for catalog in conversion.catalogs
        if any(record.id == id_ and claims(catalog.variant, record) for record in catalog.records)
    )


def _checked(what: str, check: str, action: Callable[[], str]) -> ContractCheck:
    """Return what becomes of a check that raises if it fails."""
    try:
        return ContractCheck(what=what, check=check, verdict=Verdict.PASSED, detail=action())
    except CkprofError as error:
        return _failed(what, check, error)


def _failed(what: str, check: str, error: CkprofError) -> ContractCheck:
    verdict = Verdict.NOT_POSSIBLE if isinstance(error, ToolchainError) else Verdict.FAILED
    return ContractCheck(what=what, check=check, verdict=verdict, detail=str(error))


def _hooks(profiler: Profiler, name: str) -> str:
    """Return the hooks of a plugin, after everything that plugins register was checked."""
    profiler.registry.check_all()
    hooks = next(plugin.hooks for plugin in profiler.manager.plugins if plugin.name == name)
    return ", ".join(hook.removeprefix("ckprof_") for hook in hooks)


def _read(observer: Observer, target: str) -> str:
    return str(observer.read(target, 0) or "nothing")


def _counted(profiler: Profiler, query: InstanceQuery) -> str:
    return f"{len(profiler.instances(query).require().candidates)} instances"


def _round_trip(sample: _Sample, profiler: Profiler) -> str:
    """Check that a catalog is the same after it was written and read.

    :raises PluginError: it is not, or its native lines give another one.
    """
    from ckprof.lists.catalogs import read_catalog, render_catalog

    catalog, variants = sample.catalog, profiler.registry.variants
    text = render_catalog(catalog)
    again = read_catalog(text.encode(), sample.path.with_suffix(".json"), variants.as_mapping())
    if again != catalog:
        pairs = zip(catalog.records, again.records, strict=True)
        changed = next((before for before, after in pairs if before != after), None)
        raise PluginError(f"variant {catalog.variant!r}: written and read again, {changed} is another record")
    return f"{len(catalog.records)} records of {catalog.variant!r}"


def _described(sample: _Sample, pipeline: Pipeline) -> str:
    """Check what a family says of an instance without rendering it.

    :raises PluginError: something contradicts itself.
    """
    instance = sample.candidate.instance
    if instance.pipeline != pipeline.id:
        raise PluginError(f"its instances say that they are of pipeline {instance.pipeline!r}")
    if instance.direction not in pipeline.directions:
        raise PluginError(f"an instance of {instance.direction!r}, which is not among its directions")
    if pipeline.instance_string(instance) != pipeline.instance_string(instance):
        raise PluginError("instance_string gives another text each time")
    if not instance.fields():
        raise PluginError("its instances have no fields")
    return f"{pipeline.kernel_name(instance)}, {instance.key[:12]}"


def _rendered(sample: _Sample, arch: str) -> str:
    """Check the header of an instance.

    :raises PluginError: it depends on more than the arguments, or a name is no C++ identifier.
    """
    pipeline, instance = sample.candidate.pipeline, sample.candidate.instance
    source = pipeline.render(instance, arch, LATEST_API_LEVEL)
    if source != pipeline.render(instance, arch, LATEST_API_LEVEL):
        raise PluginError("render gives another header each time")
    if not source.name.isidentifier():
        raise PluginError(f"the name {source.name!r} is no C++ identifier")
    if source.launcher.partition("<")[0].split("::")[-1] not in source.header:
        raise PluginError(f"the header has no launcher {source.launcher!r}")
    return f"{len(source.header.splitlines())} lines"
