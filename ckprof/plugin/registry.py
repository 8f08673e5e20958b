"""What the loaded plugins provide, by id."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from ckprof.errors import PluginError, UsageError
from ckprof.model.problem_types import know_problem_type
from ckprof.model.suggestion import unknown_name
from ckprof.plugin.contracts import CONTRACTS
from ckprof.plugin.guard import guarded
from ckprof.plugin.operations import problem_types_of
from ckprof.plugin.protocols import DirectionUser, FamilyReader
from ckprof.plugin.value_types import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.protocols import (
        Baseline,
        BuilderReader,
        CatalogVariant,
        ComparisonFormat,
        Converter,
        Direction,
        ListExtractor,
        Operation,
        ParityFormat,
        Pipeline,
        ReportFormat,
        RuleSet,
        StoreReportFormat,
        Target,
    )
    from ckprof.strings.kind import StringKind
    from ckprof.strings.string_grammar import StringGrammar


T = TypeVar("T")


class RegistryEntries(Generic[T]):
    """What plugins provide of one kind, sorted by id.

    :param kind: singular name for messages.
    :param entries: (id, plugin name, what it provides).
    :raises PluginError: two entries have the same id; the message names both plugins.
    """

    def __init__(self, kind: str, entries: Sequence[tuple[str, str, T]]) -> None:
        self._kind = kind
        self._providers: dict[str, str] = {}
        self._entries: dict[str, T] = {}
        for id_, provider, entry in sorted(entries, key=lambda item: (item[0], item[1])):
            if id_ in self._entries:
                raise PluginError(
                    f"two plugins provide the {kind} {id_!r}: {self._providers[id_]} and {provider}; "
                    "disable one of them with CKPROF_DISABLE_PLUGINS"
                )
            self._providers[id_] = provider
            self._entries[id_] = entry

    def __iter__(self) -> Iterator[T]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, sorted."""
        return tuple(self._entries)

    def get(self, id_: str) -> T | None:
        """Return the entry with this id, or ``None``."""
        return self._entries.get(id_)

    def provider(self, id_: str) -> str:
        """Return the name of the plugin that provides ``id_``."""
        return self._providers[id_]

    def as_mapping(self) -> dict[str, T]:
        """Return id -> entry."""
        return dict(self._entries)

    def find(self, id_: str) -> T:
        """Return the entry with this id.

        :raises UsageError: there is none; the message suggests near names and lists the known ones.
        """
        if id_ in self._entries:
            return self._entries[id_]
        raise UsageError(unknown_name(self._kind, id_, self._entries, "none: no plugin provides any"))


class Registry:
    """Everything that plugins register: each kind asked for when it is first used, checked and kept.

    A command so loads, and depends on, only the kinds that it works with.

    Entries stand for the objects of plugins: whatever an object raises or returns that its protocol does not
    allow becomes a :class:`~ckprof.errors.PluginError`; see :mod:`ckprof.plugin.guard`. Every attribute
    raises that error, too, where ids clash or a plugin registers something that does not fulfil its contract.
    """

    def __init__(self, manager: PluginManager) -> None:
        self.manager = manager

    def check_all(self) -> Registry:
        """Ask for every kind, and return the registry.

        :raises PluginError: ids clash, or a plugin registers something that does not fulfil its contract.
        """
        for name, member in vars(Registry).items():
            if isinstance(member, cached_property):
                getattr(self, name)
        return self

    @cached_property
    def directions(self) -> RegistryEntries[Direction]:
        """The directions of convolution."""
        return self._entries_of("ckprof_register_directions")

    @cached_property
    def operations(self) -> RegistryEntries[Operation]:
        """The directions of convolution and all other operations."""
        others: RegistryEntries[Operation] = self._entries_of("ckprof_register_operations")
        for one in others:
            for kind in problem_types_of(one):
                know_problem_type(kind)
        entries: list[tuple[str, str, Operation]] = [
            (one.id, self.directions.provider(one.id), one) for one in self.directions
        ]
        entries += [(one.id, others.provider(one.id), one) for one in others]
        return RegistryEntries("direction", entries)

    @cached_property
    def pipelines(self) -> RegistryEntries[Pipeline]:
        """The kernel families, which know all directions."""
        found: RegistryEntries[Pipeline] = self._entries_of("ckprof_register_pipelines")
        for pipeline in found:
            if isinstance(pipeline, DirectionUser):
                pipeline.use_directions(self.directions.as_mapping())
        return found

    @cached_property
    def targets(self) -> RegistryEntries[Target]:
        """Where kernels are built and run."""
        return self._entries_of("ckprof_register_targets")

    @cached_property
    def baselines(self) -> RegistryEntries[Baseline]:
        """Other libraries to measure."""
        return self._entries_of("ckprof_register_baselines")

    @cached_property
    def rule_sets(self) -> RegistryEntries[RuleSet]:
        """What makes instances from rules."""
        return self._entries_of("ckprof_register_rule_sets")

    @cached_property
    def formats(self) -> RegistryEntries[ReportFormat]:
        """Formats of the results of runs."""
        return self._entries_of("ckprof_register_report_formats")

    @cached_property
    def parity_formats(self) -> RegistryEntries[ParityFormat]:
        """Formats of comparisons of instance strings."""
        return self._entries_of("ckprof_register_parity_formats")

    @cached_property
    def comparison_formats(self) -> RegistryEntries[ComparisonFormat]:
        """Formats of comparisons of measurements."""
        return self._entries_of("ckprof_register_comparison_formats")

    @cached_property
    def store_report_formats(self) -> RegistryEntries[StoreReportFormat]:
        """Formats of reports on stores."""
        return self._entries_of("ckprof_register_store_report_formats")

    @cached_property
    def extractors(self) -> RegistryEntries[ListExtractor]:
        """What derives lists from installed libraries."""
        return self._entries_of("ckprof_register_extractors")

    @cached_property
    def variants(self) -> RegistryEntries[CatalogVariant]:
        """The kinds of catalogs."""
        return self._entries_of("ckprof_register_catalog_variants")

    @cached_property
    def converters(self) -> RegistryEntries[Converter]:
        """What reads instance lists; each has the grammar tables of all plugins."""
        found: RegistryEntries[Converter] = self._entries_of("ckprof_register_converters")
        self._hand_over_families(found)
        return found

    @cached_property
    def builder_readers(self) -> RegistryEntries[BuilderReader]:
        """What reads the same lists as CK Builder does; each has the grammar tables of all plugins."""
        found: RegistryEntries[BuilderReader] = self._entries_of("ckprof_register_builder_readers")
        self._hand_over_families(found)
        return found

    @cached_property
    def strings(self) -> StringGrammar:
        """The grammar of instance strings, with the kinds of all plugins.

        :raises PluginError: ids clash.
        """
        # Only commands that compare strings need it.
        from ckprof.strings.string_grammar import StringGrammar

        kinds: RegistryEntries[StringKind] = self._entries_of("ckprof_register_string_kinds")
        return StringGrammar([*kinds])

    def operation(self, name: str) -> Operation:
        """Return the operation with this id or alias.

        :raises UsageError: there is none.
        """
        for operation in self.operations:
            if name in operation.aliases:
                return operation
        return self.operations.find(name)

    def direction(self, name: str) -> Operation:
        """Return the same; the name that :meth:`operation` had before there were others than directions."""
        return self.operation(name)

    def pipeline_of(self, catalog: Catalog, record: CatalogRecord) -> Pipeline:
        """Return the one pipeline that claims a record.

        :raises UsageError: none does, e.g. because its plugin is not installed.
        :raises PluginError: several do.
        """
        claims = [pipeline for pipeline in self.pipelines if pipeline.claims(catalog.variant, record)]
        if len(claims) == 1:
            return claims[0]
        if claims:
            names = " and ".join(f"{self.pipelines.provider(p.id)} ({p.id})" for p in claims)
            raise PluginError(f"several pipelines claim a record of variant {catalog.variant!r}: {names}")
        raise UsageError(
            f"no pipeline plugin knows this record of variant {catalog.variant!r} "
            f"(loaded pipelines: {', '.join(self.pipelines.ids)})"
        )

    def _hand_over_families(self, readers: RegistryEntries[T]) -> None:
        """Give the grammar tables of list lines to what reads lists with them.

        :raises PluginError: an item is no such table, or two contradict each other.
        """
        families = self._families
        for reader in readers:
            if not isinstance(reader, FamilyReader):
                continue
            for provider, item in families:
                if not isinstance(item, reader.family_type):
                    raise PluginError(
                        f"plugin {provider}: ckprof_register_conf_families returned {shown(item)}, "
                        f"expected {reader.family_type.__name__}"
                    )
            reader.use_families(tuple(item for _, item in families))

    @cached_property
    def _families(self) -> tuple[tuple[str, object], ...]:
        """Plugin and table, of all grammar tables of list lines."""
        found = self.manager.call("ckprof_register_conf_families")
        return tuple((plugin, item) for plugin, items in found for item in cast("Sequence[object]", items))

    def _entries_of(self, hook: str) -> RegistryEntries[T]:
        """Return what plugins register with a hook.

        Entries are of the type that the hook declares, which :func:`guarded` makes sure of.
        """
        contract = CONTRACTS[hook]
        entries: list[tuple[str, str, T]] = []
        for provider, provided in self.manager.call(hook):
            for item in cast("Sequence[object]", provided):
                entry = guarded(item, contract, provider, self.manager.culprit)
                entries.append((str(getattr(entry, contract.identifier)), provider, cast("T", entry)))
        return RegistryEntries(contract.kind, entries)
