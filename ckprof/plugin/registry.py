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
    """Everything that plugins register, asked for once, checked and kept.

    Entries stand for the objects of plugins: whatever an object raises or returns that its protocol does not
    allow becomes a :class:`~ckprof.errors.PluginError`; see :mod:`ckprof.plugin.guard`.

    :raises PluginError: ids clash, or a plugin registers something that does not fulfil its contract.
    """

    def __init__(self, manager: PluginManager) -> None:
        self.manager = manager
        self.directions: RegistryEntries[Direction] = self._entries_of("ckprof_register_directions")
        #: the directions of convolution and all others
        self.operations = self._operations()
        self.pipelines: RegistryEntries[Pipeline] = self._entries_of("ckprof_register_pipelines")
        self.targets: RegistryEntries[Target] = self._entries_of("ckprof_register_targets")
        self.baselines: RegistryEntries[Baseline] = self._entries_of("ckprof_register_baselines")
        self.rule_sets: RegistryEntries[RuleSet] = self._entries_of("ckprof_register_rule_sets")
        self.formats: RegistryEntries[ReportFormat] = self._entries_of("ckprof_register_report_formats")
        self.converters: RegistryEntries[Converter] = self._entries_of("ckprof_register_converters")
        self.extractors: RegistryEntries[ListExtractor] = self._entries_of("ckprof_register_extractors")
        self.variants: RegistryEntries[CatalogVariant] = self._entries_of("ckprof_register_catalog_variants")
        self.builder_readers: RegistryEntries[BuilderReader] = self._entries_of(
            "ckprof_register_builder_readers"
        )
        self.parity_formats: RegistryEntries[ParityFormat] = self._entries_of(
            "ckprof_register_parity_formats"
        )
        self.comparison_formats: RegistryEntries[ComparisonFormat] = self._entries_of(
            "ckprof_register_comparison_formats"
        )
        self.store_report_formats: RegistryEntries[StoreReportFormat] = self._entries_of(
            "ckprof_register_store_report_formats"
        )
        for pipeline in self.pipelines:
            if isinstance(pipeline, DirectionUser):
                pipeline.use_directions(self.directions.as_mapping())
        self._hand_over_families()

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

    def _operations(self) -> RegistryEntries[Operation]:
        """Return directions and all other operations.

        :raises PluginError: ids clash.
        """
        others: RegistryEntries[Operation] = self._entries_of("ckprof_register_operations")
        for one in others:
            for kind in problem_types_of(one):
                know_problem_type(kind)
        entries: list[tuple[str, str, Operation]] = [
            (one.id, self.directions.provider(one.id), one) for one in self.directions
        ]
        entries += [(one.id, others.provider(one.id), one) for one in others]
        return RegistryEntries("direction", entries)

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

    def _hand_over_families(self) -> None:
        """Give the grammar tables of list lines to whatever reads lists with them.

        :raises PluginError: an item is no such table, or two contradict each other.
        """
        families = self.manager.call("ckprof_register_conf_families")
        for reader in (*self.converters, *self.builder_readers):
            if not isinstance(reader, FamilyReader):
                continue
            for provider, provided in families:
                for item in cast("Sequence[object]", provided):
                    if not isinstance(item, reader.family_type):
                        raise PluginError(
                            f"plugin {provider}: ckprof_register_conf_families returned {shown(item)}, "
                            f"expected {reader.family_type.__name__}"
                        )
            reader.use_families(
                tuple(item for _, provided in families for item in cast("Sequence[object]", provided))
            )

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
