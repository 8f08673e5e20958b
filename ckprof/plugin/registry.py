"""What the loaded plugins offer, by id."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from ckprof.errors import PluginError, UsageError
from ckprof.model.suggestion import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import msgspec

    from ckprof.model.catalog import Catalog
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.protocols import (
        BuilderReader,
        CatalogVariant,
        Converter,
        Direction,
        ParityFormat,
        Pipeline,
        ReportFormat,
        RuleSet,
        Target,
    )
    from ckprof.strings.kind import StringKind
    from ckprof.strings.string_grammar import StringGrammar


T = TypeVar("T")


class RegistryEntries(Generic[T]):
    """The offers of one kind, sorted by id.

    :param kind: singular name for messages.
    :param offers: (id, plugin name, offer).
    :raises PluginError: two offers have the same id; the message names both plugins.
    """

    def __init__(self, kind: str, offers: Sequence[tuple[str, str, T]]) -> None:
        self._kind = kind
        self._owners: dict[str, str] = {}
        self._offers: dict[str, T] = {}
        for id_, owner, offer in sorted(offers, key=lambda item: (item[0], item[1])):
            if id_ in self._offers:
                raise PluginError(
                    f"two plugins offer the {kind} {id_!r}: {self._owners[id_]} and {owner}; "
                    "disable one of them with CKPROF_DISABLE_PLUGINS"
                )
            self._owners[id_] = owner
            self._offers[id_] = offer

    def __iter__(self) -> Iterator[T]:
        return iter(self._offers.values())

    def __len__(self) -> int:
        return len(self._offers)

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, sorted."""
        return tuple(self._offers)

    def get(self, id_: str) -> T | None:
        """Return the offer with this id, or ``None``."""
        return self._offers.get(id_)

    def owner(self, id_: str) -> str:
        """Return the name of the plugin that offers ``id_``."""
        return self._owners[id_]

    def as_mapping(self) -> dict[str, T]:
        """Return id -> offer."""
        return dict(self._offers)

    def find(self, id_: str) -> T:
        """Return the offer with this id.

        :raises UsageError: there is none; the message suggests near names and lists the known ones.
        """
        if id_ in self._offers:
            return self._offers[id_]
        raise UsageError(unknown_name(self._kind, id_, self._offers, "none: no plugin offers any"))


class Registry:
    """Everything that plugins register, asked for once and kept.

    :raises PluginError: ids clash, or a plugin returns something without an id.
    """

    def __init__(self, manager: PluginManager) -> None:
        self.manager = manager
        self.directions: RegistryEntries[Direction] = self._entries_of(
            "direction", "ckprof_register_directions"
        )
        self.pipelines: RegistryEntries[Pipeline] = self._entries_of("pipeline", "ckprof_register_pipelines")
        self.targets: RegistryEntries[Target] = self._entries_of("target", "ckprof_register_targets")
        self.rule_sets: RegistryEntries[RuleSet] = self._entries_of("rule set", "ckprof_register_rule_sets")
        self.formats: RegistryEntries[ReportFormat] = self._entries_of(
            "format", "ckprof_register_report_formats"
        )
        self.converters: RegistryEntries[Converter] = self._entries_of(
            "converter", "ckprof_register_converters"
        )
        self.variants: RegistryEntries[CatalogVariant] = self._entries_of(
            "catalog variant", "ckprof_register_catalog_variants", attribute="name"
        )
        self.builder_readers: RegistryEntries[BuilderReader] = self._entries_of(
            "builder reader", "ckprof_register_builder_readers"
        )
        self.parity_formats: RegistryEntries[ParityFormat] = self._entries_of(
            "parity format", "ckprof_register_parity_formats"
        )
        families = [
            family
            for _, offered in manager.call("ckprof_register_conf_families")
            for family in cast("Sequence[object]", offered)
        ]
        for reader in (*self.converters, *self.builder_readers):
            use_families = getattr(reader, "use_families", None)
            if use_families is not None:
                use_families(tuple(families))

    @cached_property
    def strings(self) -> StringGrammar:
        """The grammar of instance strings, with the kinds of all plugins.

        :raises PluginError: ids clash.
        """
        # Only commands that compare strings need it.
        from ckprof.strings.string_grammar import StringGrammar

        kinds: RegistryEntries[StringKind] = self._entries_of(
            "kind of instance string", "ckprof_register_string_kinds"
        )
        return StringGrammar([*kinds])

    def direction(self, name: str) -> Direction:
        """Return the direction with this id or alias.

        :raises UsageError: there is none.
        """
        for direction in self.directions:
            if name in direction.aliases:
                return direction
        return self.directions.find(name)

    def pipeline_of(self, catalog: Catalog, record: msgspec.Struct) -> Pipeline:
        """Return the one pipeline that claims a record.

        :raises UsageError: none does, e.g. because its plugin is not installed.
        :raises PluginError: several do.
        """
        claims = [pipeline for pipeline in self.pipelines if pipeline.claims(catalog.variant, record)]
        if len(claims) == 1:
            return claims[0]
        if claims:
            names = " and ".join(f"{self.pipelines.owner(p.id)} ({p.id})" for p in claims)
            raise PluginError(f"several pipelines claim a record of variant {catalog.variant!r}: {names}")
        raise UsageError(
            f"no pipeline plugin knows this record of variant {catalog.variant!r} "
            f"(loaded pipelines: {', '.join(self.pipelines.ids)})"
        )

    def _entries_of(self, kind: str, hook: str, attribute: str = "id") -> RegistryEntries[T]:
        offers: list[tuple[str, str, T]] = []
        for owner, offered in self.manager.call(hook):
            if not isinstance(offered, (list, tuple)):
                raise PluginError(
                    f"plugin {owner}: {hook} returned {type(offered).__name__}, expected a list"
                )
            for offer in offered:
                id_ = getattr(offer, attribute, None)
                if not isinstance(id_, str) or not id_:
                    raise PluginError(f"plugin {owner}: {hook} returned {offer!r}, which has no {attribute}")
                offers.append((id_, owner, offer))
        return RegistryEntries(kind, offers)
