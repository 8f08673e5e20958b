"""What plugins register: objects, whose kind is the protocol that they have, or where objects are found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ckprof.errors import PluginError, UsageError
from ckprof.plugin.boundary import Boundary, exact, has_member, shown
from ckprof.plugin.members import Member, required_members
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.plugin.boundary import Culprit
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


#: members that nearly every kind has; they tell nothing about an object
_COMMON = ("id", "label")


@dataclass(frozen=True, slots=True)
class Lazy:
    """Objects of a kind, which are imported when the kind is first asked for."""

    protocol: type
    #: ``module:attribute``
    place: str


class Additions:
    """What one plugin registers; :func:`ckprof.plugin.hookspecs.ckprof_register` gets it as ``registry``."""

    def __init__(self) -> None:
        #: objects, and places of objects, in the order in which they were added
        self.items: list[object] = []

    def add(self, *items: object) -> None:
        """Register objects; the kind of each is the protocol whose members it has, or that it derives from.

        A :class:`ckprof.plugin.additions.Kind` is a kind of objects that plugins may add from then on.
        """
        self.items += items

    def add_lazy(self, protocol: type, *places: str) -> None:
        """Register what is imported when a command first asks for objects of the kind.

        :param protocol: that of the kind, e.g. :class:`ckprof.plugin.protocols.Pipeline`.
        :param places: ``module:attribute``: an object, a list or tuple of objects, or a class or function
            without parameters that returns either.
        """
        self.items += [Lazy(protocol, place) for place in places]


def kinds_added(additions: Mapping[str, Additions]) -> Iterator[tuple[str, Kind[Any]]]:
    """Yield the kinds of objects that plugins add, with their plugins."""
    for plugin, added in additions.items():
        for item in added.items:
            if issubclass(type(item), Kind):
                yield plugin, item  # type: ignore[misc]


def kinds_of(item: object, kinds: Sequence[Kind[Any]], boundary: Boundary) -> list[Kind[Any]]:
    """Return the kind of an object; where it has no protocol as a whole, those that it is nearest to.

    :raises PluginError: it has no member of any protocol, or has several protocols.
    """
    if type(item) is Lazy:
        named = [kind for kind in kinds if kind.protocol is item.protocol]
        if not named:
            known = ", ".join(kind.protocol.__name__ for kind in kinds)
            raise boundary.wrong(f"add_lazy: {item.protocol.__name__} is not a protocol of a kind ({known})")
        return named
    derived = [kind for kind in kinds if kind.protocol in type(item).__mro__]
    if derived:
        return derived
    if issubclass(type(item), type):
        raise boundary.wrong("added a class, expected an object of it; add_lazy takes the place of a class")
    # texts and numbers have members of their own
    apart = type(item).__module__ == "builtins"
    shares = {kind: 0 if apart else _share(item, kind) for kind in kinds}
    whole = [kind for kind in kinds if shares[kind] == 1 and not dataclasses.is_dataclass(kind.protocol)]
    near: dict[Kind[Any], float] = {kind: len(required_members(kind.protocol)) for kind in whole}
    near = near or {kind: share for kind, share in shares.items() if share}
    best = [kind for kind, value in near.items() if value == max(near.values())]
    if not best:
        raise boundary.wrong(f"added {shown(item)}, {_nearest(item, kinds, boundary)}")
    if whole and len(best) > 1:
        names = " and ".join(kind.protocol.__name__ for kind in best)
        raise boundary.wrong(f"added {shown(item)}, which has {names}: derive it from the one that is meant")
    return best


def objects_of(item: object, kind: Kind[Any], plugin: str, culprit: Culprit) -> Sequence[object]:
    """Return an object as a sequence of its own, or what is found at a place.

    :raises PluginError: it cannot be imported or made.
    """
    if type(item) is not Lazy:
        return (item,)
    with Boundary(plugin, f"{kind.name} at {item.place}", culprit):
        found: Any = resolve_name(item.place)
        if issubclass(type(found), (type, FunctionType)):
            found = found()
    return found if issubclass(type(found), (list, tuple)) else (found,)


def _nearest(item: object, kinds: Sequence[Kind[Any]], boundary: Boundary) -> str:
    """Return which kind an object of no kind is nearest to, and what it lacks, for messages."""
    with boundary.member("id"):
        id_ = exact(getattr(item, "id", None))
    lacking = {
        kind.name: [
            member.spelling for member in required_members(kind.protocol) if not _has(item, member, kind)
        ]
        for kind in kinds
        if kind.identifier == "id" and not dataclasses.is_dataclass(kind.protocol)
    }
    if not isinstance(id_, str):
        return "which has no member of any kind of objects"
    least = min(map(len, lacking.values()))
    near = [f"{name} (lacks {', '.join(names)})" for name, names in lacking.items() if len(names) == least]
    return f"{id_!r}, which is of no kind; nearest: {', '.join(near)}"


def _share(item: object, kind: Kind[Any]) -> float:
    """Return which part of the members that tell a kind's objects from others an object has."""
    members = [member for member in required_members(kind.protocol) if member.name not in _COMMON]
    return sum(_has(item, member, kind) for member in members) / max(1, len(members))


def _has(item: object, member: Member, kind: Kind[Any]) -> bool:
    """Say whether an object has a member; one that cannot be read is reported where it is used."""
    try:
        return has_member(item, Boundary("", member.name), member, kind.protocol)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return True
