"""What a kind of objects is that plugins register, and what all plugins provide of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ckprof.errors import PluginError, UsageError
from ckprof.plain_text import unknown_name

if TYPE_CHECKING:
    from ckprof.plugin.registry import Registry

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
        #: in the order in which plugins give them
        self.registered: tuple[T, ...] = tuple(entry for _, _, entry in entries)

    def __iter__(self) -> Iterator[T]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, sorted."""
        return tuple(self._entries)

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


@dataclass(frozen=True, eq=False)
class Kind(Generic[T]):
    """One kind of objects that plugins register: as an attribute of a registry, all that there are.

    They are asked for when they are first used, checked, and kept.
    """

    #: singular name for messages
    name: str
    #: what an object must have
    protocol: type
    #: ``module:function``: yields what ``ckprof plugins --check`` tries with an object
    trials: str
    #: attribute that identifies an object among its kind
    identifier: str = "id"
    #: says what else is wrong with an object; empty if nothing is
    further_check: Callable[[Any], str] | None = None
    #: called once with the registry and all objects
    prepare: Callable[[Registry, RegistryEntries[Any]], None] | None = None

    @overload
    def __get__(self, registry: None, owner: type) -> Kind[T]: ...
    @overload
    def __get__(self, registry: Registry, owner: type) -> RegistryEntries[T]: ...
    def __get__(self, registry: Registry | None, owner: type) -> Kind[T] | RegistryEntries[T]:
        """Return the kind itself of the class, what plugins provide of a registry.

        :raises PluginError: ids clash, or an object is not what its protocol says.
        """
        return self if registry is None else registry.entries(self)
