"""What the loaded plugins provide, by id."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ckprof.errors import PluginError, UsageError
from ckprof.model.problem_types import know_problem_type
from ckprof.model.strings.kind import StringKind
from ckprof.plugin import protocols, timing
from ckprof.plugin.additions import kinds_added, kinds_of, objects_of
from ckprof.plugin.boundary import Boundary, exact, guarded, shown
from ckprof.plugin.command import Command
from ckprof.plugin.kinds import Kind, RegistryEntries
from ckprof.plugin.members import members_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.instance import Instance
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.plugin.additions import Additions
    from ckprof.plugin.manager import PluginManager

T = TypeVar("T")


def _use_directions(registry: Registry, pipelines: RegistryEntries[Any]) -> None:
    for pipeline in pipelines:
        if isinstance(pipeline, protocols.DirectionUser):
            pipeline.use_directions(registry.directions.as_mapping())


def _use_families(registry: Registry, readers: RegistryEntries[Any]) -> None:
    """Give the grammar tables of list lines to what reads lists with them.

    :raises PluginError: a table is of another type, or contradicts itself.
    """
    for reader in readers:
        if isinstance(reader, protocols.FamilyReader):
            families = registry.families
            for id_, family in families.as_mapping().items():
                if not isinstance(family, reader.family_type):
                    raise PluginError(
                        f"plugin {families.provider(id_)}: ckprof_register_conf_families returned "
                        f"{shown(family)}, expected {reader.family_type.__name__}"
                    )
            added = [
                family
                for kind in registry.kinds
                if kind.protocol is reader.family_type is not object
                for family in registry.entries(kind)
            ]
            reader.use_families((*families, *added))


def _know_problem_types(registry: Registry, operations: RegistryEntries[Any]) -> None:
    for operation in operations:
        for kind in operation.problem_types:
            know_problem_type(kind)


def _record_type_problem(variant: protocols.CatalogVariant) -> str:
    """Return what is wrong with the record type of a variant; empty if nothing is."""
    import msgspec

    kind = variant.record_type
    if not issubclass(kind, msgspec.Struct):
        return f"record_type {kind.__name__} is not a msgspec.Struct; derive it from CatalogRecord"
    fields = kind.__struct_fields__
    if fields[:1] != ("id",):
        return f"record_type {kind.__name__} must have 'id' as its first field (has {', '.join(fields)})"
    keyword_only = [name for name in fields if name not in kind.__match_args__]
    if keyword_only:
        return (
            f"record_type {kind.__name__} takes {', '.join(keyword_only)} by keyword only, but records are "
            "made from values in the order of the fields: remove kw_only"
        )
    if not kind.__struct_config__.forbid_unknown_fields:
        return f"record_type {kind.__name__} must be declared with forbid_unknown_fields=True"
    return ""


#: what operations may be able to do besides
_OPERATION_ABILITIES: Final = (
    protocols.FurtherOperands,
    protocols.MadeOperands,
    protocols.TolerantOperation,
    protocols.LineWriter,
    protocols.LogReader,
    protocols.TableReader,
    protocols.ProblemSampler,
    protocols.SyntheticProblems,
    protocols.ContractingOperation,
    timing.ProductOperation,
)


class Registry:
    """Everything that plugins register, by kind.

    A command so loads, and depends on, only the kinds that it works with.

    Entries stand for the objects of plugins: whatever an object raises or returns that its protocol does not
    allow becomes a :class:`~ckprof.errors.PluginError`; see :mod:`ckprof.plugin.boundary`. Every attribute
    raises that error, too, where ids clash or a plugin registers something that its protocol does not allow.
    """

    #: the operations that families of convolutions are told of
    directions = Kind[protocols.Operation](
        "direction",
        "ckprof_register_directions",
        protocols.Operation,
        _OPERATION_ABILITIES,
        prepare=_know_problem_types,
    )
    #: what else kernels compute
    further_operations = Kind[protocols.Operation](
        "operation",
        "ckprof_register_operations",
        protocols.Operation,
        _OPERATION_ABILITIES,
        prepare=_know_problem_types,
    )
    #: the kernel families, which know all directions
    pipelines = Kind[protocols.Pipeline](
        "pipeline",
        "ckprof_register_pipelines",
        protocols.Pipeline,
        (
            protocols.ClaimingPipeline,
            protocols.DirectionUser,
            protocols.DeducingPipeline,
            protocols.FusingPipeline,
            protocols.MatrixPipeline,
            protocols.NamedPipeline,
            protocols.RecordingPipeline,
            timing.NamedFields,
            timing.NamedKernels,
            timing.TimedPipeline,
        ),
        prepare=_use_directions,
    )
    #: where kernels are built and run
    targets = Kind[protocols.Target](
        "target",
        "ckprof_register_targets",
        protocols.Target,
        (
            protocols.DeviceIdentifier,
            protocols.FieldIgnoringTarget,
            protocols.InspectableTarget,
            protocols.ModellingTarget,
            protocols.RoofTarget,
            protocols.SubstitutingTarget,
            timing.TimedTarget,
        ),
    )
    #: devices that any machine has
    devices = Kind[protocols.NamedDevice](
        "device", "ckprof_register_devices", protocols.NamedDevice, (protocols.PredictingDevice,)
    )
    #: other libraries to measure
    baselines = Kind[protocols.Baseline]("baseline", "ckprof_register_baselines", protocols.Baseline)
    #: sets of problems, beside those that ship with ckprof
    problem_sets = Kind[protocols.ProblemSetFile](
        "problem set", "ckprof_register_problem_sets", protocols.ProblemSetFile
    )
    #: what makes instances from rules
    rule_sets = Kind[protocols.RuleSet](
        "rule set", "ckprof_register_rule_sets", protocols.RuleSet, (protocols.OnDemandRuleSet,)
    )
    #: where sweeps run
    engines = Kind[protocols.Engine]("engine", "ckprof_register_engines", protocols.Engine)
    #: what reads evidence while kernels are measured
    observers = Kind[protocols.Observer]("observer", "ckprof_register_observers", protocols.Observer)
    #: ways to search for the best kernels
    strategies = Kind[protocols.SearchStrategy](
        "strategy", "ckprof_register_strategies", protocols.SearchStrategy
    )
    #: formats of the results of runs
    formats = Kind[protocols.ReportFormat]("format", "ckprof_register_report_formats", protocols.ReportFormat)
    #: formats of comparisons of instance strings
    parity_formats = Kind[protocols.ParityFormat](
        "parity format", "ckprof_register_parity_formats", protocols.ParityFormat
    )
    #: formats of comparisons of measurements
    comparison_formats = Kind[protocols.ComparisonFormat](
        "comparison format", "ckprof_register_comparison_formats", protocols.ComparisonFormat
    )
    #: what programs get of the results of runs
    results_views = Kind[protocols.ResultsView](
        "view of results", "ckprof_register_results_views", protocols.ResultsView
    )
    #: what else inspections show
    inspection_views = Kind[protocols.InspectionView](
        "view of inspections", "ckprof_register_inspection_views", protocols.InspectionView
    )
    #: formats that stores import and export
    store_formats = Kind[protocols.StoreFormat](
        "store format", "ckprof_register_store_formats", protocols.StoreFormat
    )
    #: programs that use tuned results
    consumers = Kind[protocols.Consumer](
        "consumer",
        "ckprof_register_consumers",
        protocols.Consumer,
        (
            protocols.FileAuditor,
            protocols.ResultReader,
            protocols.ResultWriter,
            protocols.TraceReader,
        ),
    )
    #: what derives lists from installed libraries
    extractors = Kind[protocols.ListExtractor](
        "extractor", "ckprof_register_extractors", protocols.ListExtractor
    )
    #: the kinds of catalogs
    variants = Kind[protocols.CatalogVariant](
        "catalog variant",
        "ckprof_register_catalog_variants",
        protocols.CatalogVariant,
        identifier="name",
        further_check=_record_type_problem,
    )
    #: grammar tables of list lines
    families = Kind[object]("conf family", "ckprof_register_conf_families")
    #: what reads instance lists; each has the grammar tables of all plugins
    converters = Kind[protocols.Converter](
        "converter",
        "ckprof_register_converters",
        protocols.Converter,
        (
            protocols.FamilyReader,
            protocols.LineExplainer,
            protocols.StreamingConverter,
            protocols.TreeConverter,
        ),
        prepare=_use_families,
    )
    #: what reads the same lists as CK Builder does; each has the grammar tables of all plugins
    builder_readers = Kind[protocols.BuilderReader](
        "builder reader",
        "ckprof_register_builder_readers",
        protocols.BuilderReader,
        (protocols.BuilderPrinter, protocols.FamilyReader),
        prepare=_use_families,
    )
    #: the kinds of instance strings
    string_kinds = Kind[StringKind]("kind of instance string", "ckprof_register_string_kinds", StringKind)
    #: what can be typed after ``ckprof``; those that need not be imported to be listed are in COMMANDS.toml
    commands = Kind[Command]("command", protocol=Command, identifier="name")

    def __init__(self, manager: PluginManager) -> None:
        self.manager = manager
        self._entries: dict[Kind[Any], RegistryEntries[Any]] = {}

    def entries(self, kind: Kind[T]) -> RegistryEntries[T]:
        """Return what plugins provide of a kind.

        :raises PluginError: ids clash, or an object is not what its protocol says.
        """
        if kind not in self._entries:
            entries = RegistryEntries(kind.name, list(self._registered(kind)))
            if kind.prepare is not None:
                kind.prepare(self, entries)
            self._entries[kind] = entries
        return self._entries[kind]

    @cached_property
    def kinds(self) -> tuple[Kind[Any], ...]:
        """The kinds of objects that there are, those that plugins add included."""
        return (*KINDS, *(kind for _, kind in kinds_added(self._additions)))

    @cached_property
    def _additions(self) -> Mapping[str, Additions]:
        return self.manager.additions()

    @cached_property
    def _added(self) -> Mapping[Kind[Any], Sequence[tuple[str, object]]]:
        """Plugin and object, or place of objects, of each kind, in the order of registration.

        :raises PluginError: something belongs to no kind.
        """
        added: dict[Kind[Any], list[tuple[str, object]]] = {kind: [] for kind in self.kinds}
        # for as long as objects also come from hooks of their own
        open_kinds = [
            kind
            for kind in self.kinds
            if kind.protocol is not object and kind is not type(self).further_operations
        ]
        for plugin, additions in self._additions.items():
            boundary = Boundary(plugin, "ckprof_register", self.manager.culprit)
            for item in additions.items:
                if not issubclass(type(item), Kind):
                    for kind in kinds_of(item, open_kinds, boundary):
                        added[kind].append((plugin, item))
        return added

    def check_all(self) -> Registry:
        """Ask for every kind and every attribute, and return the registry.

        :raises PluginError: ids clash, or an object is not what its protocol says.
        """
        for kind in self.kinds:
            for entry in self.entries(kind):
                for protocol in (kind.protocol, *kind.abilities):
                    for member in members_of(protocol):
                        getattr(entry, member.name, None)
        _ = self.operations, self.strings
        return self

    def _registered(self, kind: Kind[T]) -> Iterator[tuple[str, str, T]]:
        """Yield id, plugin and guarded object of each object of a kind."""
        registered = self.manager.call(kind.hook) if kind.hook else []
        items = [(name, item) for name, given in registered for item in cast("list[object]", given)]
        for plugin, added in self._added.get(kind, ()):
            items += [(plugin, item) for item in objects_of(added, kind, plugin, self.manager.culprit)]
        for plugin, item in items:
            boundary = Boundary(plugin, kind.name, self.manager.culprit)
            with boundary.member(kind.identifier):
                id_ = exact(getattr(item, kind.identifier, None))
            if not isinstance(id_, str) or not id_:
                raise PluginError(
                    f"plugin {plugin}: {kind.hook or 'ckprof_register'} returned {shown(item)}, "
                    f"which has no {kind.identifier}"
                )
            boundary = Boundary(plugin, f"{kind.name} {id_!r}", self.manager.culprit)
            entry = (
                item if kind.protocol is object else guarded(item, boundary, kind.protocol, kind.abilities)
            )
            problem = kind.further_check(entry) if kind.further_check is not None else ""
            if problem:
                raise boundary.wrong(problem)
            yield id_, plugin, cast("T", entry)

    @cached_property
    def operations(self) -> RegistryEntries[protocols.Operation]:
        """Everything that is computed: the directions of convolution and all other operations."""
        entries = [
            (operation.id, registered.provider(operation.id), operation)
            for registered in (self.directions, self.further_operations)
            for operation in registered.registered
        ]
        return RegistryEntries("direction", entries)

    @cached_property
    def strings(self) -> StringGrammar:
        """The grammar of instance strings, with the kinds of all plugins.

        :raises PluginError: ids clash.
        """
        # Only commands that compare strings need it.
        from ckprof.model.strings.grammar import StringGrammar

        return StringGrammar([*self.string_kinds])

    def operation(self, name: str) -> protocols.Operation:
        """Return the operation with this id or alias.

        :raises UsageError: there is none.
        """
        for operation in self.operations:
            if name in operation.aliases:
                return operation
        return self.operations.find(name)

    def instance_of(
        self, catalog: Catalog, record: CatalogRecord, families: Sequence[str] = ()
    ) -> tuple[protocols.Pipeline, Instance]:
        """Return the instance that a record describes, with its pipeline: the one that its variant names.

        :param families: ids of pipelines; the first of them that claims the record has it instead.
        :raises UsageError: the pipeline is not loaded, e.g. because its plugin is not installed.
        :raises InputError: a value of the record has no meaning.
        """
        variant = self.variants.find(catalog.variant)
        id_ = variant.pipeline if variant.pipeline_of is None else variant.pipeline_of(record)
        if families and id_ not in families:
            for pipeline in map(self.pipelines.find, families):
                if isinstance(pipeline, protocols.ClaimingPipeline) and pipeline.claims(variant.name, record):
                    return pipeline, pipeline.make_instance(catalog, variant.direction, record)
        if id_ not in self.pipelines.ids:
            raise UsageError(
                f"records of variant {variant.name!r} are of the kernel family {id_}, which no plugin has "
                f"registered (loaded families: {', '.join(self.pipelines.ids)})"
            )
        pipeline = self.pipelines.find(id_)
        return pipeline, pipeline.make_instance(catalog, variant.direction, record)


#: every kind that plugins can register
KINDS = tuple(kind for kind in vars(Registry).values() if isinstance(kind, Kind))
