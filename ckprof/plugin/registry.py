"""What the loaded plugins provide, by id."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ckprof.errors import InputError, UsageError
from ckprof.model.problem_types import know_problem_type
from ckprof.model.strings.kind import StringKind
from ckprof.plugin import protocols
from ckprof.plugin.additions import Kind, RegistryEntries, kinds_added, kinds_of, objects_of
from ckprof.plugin.boundary import Boundary, exact, guarded, shown
from ckprof.plugin.hookspecs import COMMAND_NAME, Command
from ckprof.plugin.members import members_of
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.instance import Instance
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.model.tensor import Layout
    from ckprof.plugin.additions import Additions
    from ckprof.plugin.manager import PluginManager

T = TypeVar("T")


def _use_directions(registry: Registry, pipelines: RegistryEntries[Any]) -> None:
    for pipeline in pipelines:
        pipeline.use_directions(registry.operations.as_mapping())
        _ = pipeline.directions  # of another type: an error here, or nothing would ever ask for its kernels


def _use_families(registry: Registry, readers: RegistryEntries[Any]) -> None:
    """Give the grammar tables of list lines to what reads lists with them.

    :raises PluginError: a table contradicts itself.
    """
    for reader in readers:
        kinds = [kind for kind in registry.kinds if kind.protocol is reader.family_type]
        reader.use_families(tuple(family for kind in kinds for family in registry.entries(kind)))


def _know_problem_types(registry: Registry, operations: RegistryEntries[Any]) -> None:
    for operation in operations:
        for kind in operation.problem_types:
            know_problem_type(kind)


def _command_name_problem(command: Command) -> str:
    """Return what is wrong with the name of a command; empty if nothing is."""
    if COMMAND_NAME.fullmatch(command.name):
        return ""
    return "its name is not of lower-case words joined by '-'"


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


#: what objects are tried with by ``ckprof plugins --check``
_LISTS: Final = "ckprof.testing.list_trials"
_MEASURED: Final = "ckprof.testing.measurement_trials"


class Registry:
    """Everything that plugins register, by kind.

    A command so loads, and depends on, only the kinds that it works with.

    Entries stand for the objects of plugins: whatever an object raises or returns that its protocol does not
    allow becomes a :class:`~ckprof.errors.PluginError`; see :mod:`ckprof.plugin.boundary`. Every attribute
    raises that error, too, where ids clash or a plugin registers something that its protocol does not allow.
    """

    #: what kernels compute: the directions of convolution, and whatever else there is
    operations = Kind[protocols.Operation](
        "operation",
        protocols.Operation,
        f"{_MEASURED}:operation_trials",
        prepare=_know_problem_types,
    )
    #: the kernel families, which know all operations
    pipelines = Kind[protocols.Pipeline](
        "pipeline",
        protocols.Pipeline,
        f"{_LISTS}:pipeline_trials",
        prepare=_use_directions,
    )
    #: where kernels are built and run
    targets = Kind[protocols.Target](
        "target",
        protocols.Target,
        f"{_MEASURED}:target_trials",
    )
    #: devices that any machine has
    devices = Kind[protocols.NamedDevice]("device", protocols.NamedDevice, f"{_MEASURED}:device_trials")
    #: other libraries to measure
    baselines = Kind[protocols.Baseline]("baseline", protocols.Baseline, f"{_MEASURED}:baseline_trials")
    #: sets of problems, beside those that ship with ckprof
    problem_sets = Kind[protocols.ProblemSetFile](
        "problem set", protocols.ProblemSetFile, f"{_MEASURED}:problem_set_trials"
    )
    #: what makes instances from rules
    rule_sets = Kind[protocols.RuleSet](
        "rule set",
        protocols.RuleSet,
        f"{_LISTS}:rule_set_trials",
    )
    #: what reads evidence while kernels are measured
    observers = Kind[protocols.Observer]("observer", protocols.Observer, f"{_MEASURED}:observer_trials")
    #: formats of the results of runs
    formats = Kind[protocols.ReportFormat](
        "format", protocols.ReportFormat, f"{_MEASURED}:report_format_trials"
    )
    #: formats of comparisons of instance strings
    parity_formats = Kind[protocols.ParityFormat](
        "parity format", protocols.ParityFormat, f"{_MEASURED}:parity_format_trials"
    )
    #: formats of comparisons of measurements
    comparison_formats = Kind[protocols.ComparisonFormat](
        "comparison format",
        protocols.ComparisonFormat,
        f"{_MEASURED}:comparison_format_trials",
    )
    #: what programs get of the results of runs
    results_views = Kind[protocols.ResultsView](
        "view of results", protocols.ResultsView, f"{_MEASURED}:results_view_trials"
    )
    #: what else inspections show
    inspection_views = Kind[protocols.InspectionView](
        "view of inspections", protocols.InspectionView, f"{_MEASURED}:inspection_view_trials"
    )
    #: formats that stores import and export
    store_formats = Kind[protocols.StoreFormat](
        "store format", protocols.StoreFormat, f"{_MEASURED}:store_format_trials"
    )
    #: the kinds of catalogs
    variants = Kind[protocols.CatalogVariant](
        "catalog variant",
        protocols.CatalogVariant,
        f"{_LISTS}:variant_trials",
        identifier="name",
        further_check=_record_type_problem,
    )
    #: what reads instance lists; each has the grammar tables of all plugins
    converters = Kind[protocols.Converter](
        "converter",
        protocols.Converter,
        f"{_LISTS}:converter_trials",
        prepare=_use_families,
    )
    #: what reads the same lists as CK Builder does; each has the grammar tables of all plugins
    builder_readers = Kind[protocols.BuilderReader](
        "builder reader",
        protocols.BuilderReader,
        f"{_LISTS}:builder_reader_trials",
        prepare=_use_families,
    )
    #: the kinds of instance strings
    string_kinds = Kind[StringKind]("kind of instance string", StringKind, f"{_LISTS}:string_kind_trials")
    #: what can be typed after ``ckprof``; those that need not be imported to be listed are in COMMANDS.toml
    commands = Kind[Command](
        "command",
        Command,
        f"{_MEASURED}:command_trials",
        identifier="name",
        further_check=_command_name_problem,
    )

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
        for plugin, additions in self._additions.items():
            boundary = Boundary(plugin, "ckprof_register", self.manager.culprit)
            for item in additions.items:
                if not issubclass(type(item), Kind):
                    for kind in kinds_of(item, self.kinds, boundary):
                        added[kind].append((plugin, item))
        return added

    def check_all(self) -> Registry:
        """Ask for every kind and every attribute, and return the registry.

        :raises PluginError: ids clash, or an object is not what its protocol says.
        """
        for kind in self.kinds:
            for entry in self.entries(kind):
                for member in members_of(kind.protocol):
                    getattr(entry, member.name, None)
        _ = self.strings
        return self

    def _registered(self, kind: Kind[T]) -> Iterator[tuple[str, str, T]]:
        """Yield id, plugin and guarded object of each object of a kind."""
        items = [
            (plugin, item)
            for plugin, added in self._added.get(kind, ())
            for item in objects_of(added, kind, plugin, self.manager.culprit)
        ]
        for plugin, item in items:
            boundary = Boundary(plugin, kind.name, self.manager.culprit)
            with boundary.member(kind.identifier):
                id_ = exact(getattr(item, kind.identifier, None))
            if not isinstance(id_, str) or not id_:
                raise boundary.wrong(f"{shown(item)} has no {kind.identifier}")
            boundary = Boundary(plugin, f"{kind.name} {id_!r}", self.manager.culprit)
            entry = item if kind.protocol is object else guarded(item, boundary, kind.protocol)
            problem = kind.further_check(entry) if kind.further_check is not None else ""
            if problem:
                raise boundary.wrong(problem)
            yield id_, plugin, cast("T", entry)

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
            if name == operation.id or name in operation.aliases:
                return operation
        raise UsageError(unknown_name("direction", name, self.operations.ids))

    def layouts(self, operations: Sequence[str] = ()) -> dict[str, Layout]:
        """Return the layouts that catalogs of some operations can name, by name.

        :param operations: ids or aliases; empty for all.
        :raises UsageError: there is no such operation.
        """
        ids = {self.operation(name).id for name in operations}
        return {
            layout.name: layout
            for variant in self.variants
            if not ids or variant.direction in ids
            for layout in variant.layouts
        }

    def instance_of(self, catalog: Catalog, record: CatalogRecord) -> tuple[protocols.Pipeline, Instance]:
        """Return the instance that a record describes, with its pipeline: the one that its variant names.

        :raises UsageError: the pipeline is not loaded, e.g. because its plugin is not installed.
        :raises InputError: a value of the record has no meaning.
        """
        variant = self.variants.find(catalog.variant)
        id_ = variant.pipeline if variant.pipeline_of is None else variant.pipeline_of(record)
        if id_ not in self.pipelines.ids:
            raise UsageError(
                f"records of variant {variant.name!r} are of the kernel family {id_}, which no plugin has "
                f"registered (loaded families: {', '.join(self.pipelines.ids)})"
            )
        pipeline = self.pipelines.find(id_)
        try:
            return pipeline, pipeline.make_instance(catalog, variant.direction, record)
        except InputError as error:
            raise InputError(
                f"instance {record.id}: {error.message}", error.path, error.line, error.column
            ) from None


#: every kind that plugins can register
KINDS = tuple(kind for kind in vars(Registry).values() if isinstance(kind, Kind))
