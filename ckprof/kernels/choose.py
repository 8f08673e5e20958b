"""Which instances are meant: those of lists, of a rule set, or of a plugin's own options."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, TypeVar, cast

from ckprof.errors import InputError, NothingLeftError, UsageError
from ckprof.events import Event, Message
from ckprof.formatting import counted
from ckprof.kernels.candidates import (
    Candidate,
    KernelNames,
    check_validity,
    entry_candidates,
    list_candidates,
)
from ckprof.kernels.filters import select
from ckprof.lists.list_files import find_list, read_list
from ckprof.model.architecture import LATEST_API_LEVEL, find_architecture
from ckprof.model.instance import Instance
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof.plugin.protocols import RuleSetEntry, RuleSetRequest
from ckprof.sanitize import encodable, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ckprof.kernels.candidates import Rejection
    from ckprof.kernels.requests import BuildOptions, InstanceQuery
    from ckprof.model.architecture import Architecture
    from ckprof.model.conversion import Conversion, ListReading
    from ckprof.plugin.protocols import Operation
    from ckprof.plugin.registry import Registry
    from ckprof.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRead(Event):
    """A list was read and converted."""

    conversion: Conversion


#: what a rule set is asked for when the query does not say it
_NDIMS = (2, 3)
_DTYPES = (DataType.FP16, DataType.BF16, DataType.FP32)

#: where an instance comes from that a plugin has added
ADDED_BY_PLUGIN = "added by a plugin"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The instances of a query, in order."""

    #: what was read; empty unless the instances come from lists
    conversions: tuple[Conversion, ...]
    candidates: tuple[Candidate, ...]
    #: instances that are not valid for the architecture, if it was asked
    invalid: tuple[Rejection, ...] = ()
    #: how many instances the filters dropped
    filtered: int = 0
    #: what the instances come from, for messages
    source: str
    #: the architecture whose rules were asked; ``None``: the build will ask
    arch: Architecture | None = None
    #: the API level that was asked with it
    api_level: str = LATEST_API_LEVEL
    #: keep what the rules reject
    keep_invalid: bool = False

    @property
    def direction(self) -> str:
        """Id of the one direction of all instances.

        :raises UsageError: there are several, or no instance.
        """
        directions = {candidate.instance.direction for candidate in self.candidates}
        if len(directions) != 1:
            what = f"instances of {' and '.join(sorted(directions))}" if directions else "no instance"
            todo = f"; name one, such as {min(directions)}" if directions else ""
            raise UsageError(f"{self.source} holds {what}, expected those of one direction{todo}")
        return directions.pop()

    def checked_for(self, arch: str, api_level: str) -> tuple[tuple[Candidate, ...], tuple[Rejection, ...]]:
        """Return what kernels are written of, and what the rules reject where they were not asked before."""
        asked = self.arch is not None and (self.arch.name, self.api_level) == (arch, api_level)
        if asked or self.keep_invalid:
            return self.candidates, ()
        return check_validity(self.candidates, arch, api_level)

    def require(self) -> Selection:
        """Return the selection, if there is something to do.

        :raises UsageError: the filters left none.
        :raises InputError: lists gave none at all.
        :raises NothingLeftError: a rule set has none, or the rules left none.
        """
        if self.candidates:
            return self
        if self.filtered and not self.invalid:
            raise UsageError(
                f"none of the {self.filtered} instances passes --instance, --filter, --exclude and --family"
            )
        what = f"no instance is left of {self.source}"
        if self.invalid and self.arch is not None:
            raise NothingLeftError(
                f"{what}: all {len(self.invalid)} are not valid for {self.arch.name}, "
                f"the first because {self.invalid[0].unmet_requirements[0].message}; "
                "'ckprof list instances --why' shows all reasons, --upstream-defects keeps them"
            )
        if self.conversions:
            raise InputError(f"{what}; the dropped lines are counted above")
        raise NothingLeftError(f"{what}" + (f": it has none for {self.arch.name}" if self.arch else ""))


def choose_instances(session: Session, query: InstanceQuery) -> Selection:
    """Return the instances of a query, after what plugins remove, add or reorder.

    :raises UsageError: the query contradicts itself, or a name or filter is wrong.
    :raises InputError: a list cannot be used.
    :raises PluginError: a plugin's answer is of no use.
    """
    query = replace(query, pipelines=asked_families(session, query))
    directions = [session.registry.operation(name) for name in as_tuple(query.directions)]
    if len({direction.id for direction in directions}) < len(directions):
        raise UsageError("the same direction is named twice")
    from_plugins = _instances_of_plugins(session, query, directions)
    _check_sources(query, from_plugins is not None)
    if query.conf:
        direction = directions[0].id if directions else None
        return choose_from_lists(session, query, read_lists(session, query, direction))
    return _of_entries(session, query, directions, from_plugins)


def chosen_architecture(session: Session, query: InstanceQuery | BuildOptions) -> Architecture:
    """Return the architecture of what is asked for, of the settings, or the target's default.

    :raises UsageError: no family has that name.
    """
    return find_architecture(query.arch or session.settings.arch or session.target(query.target).default_arch)


def asked_families(session: Session, query: InstanceQuery) -> tuple[str, ...]:
    """Return the ids of the kernel families that a query names by themselves or by their library.

    :raises UsageError: no family has that name.
    """
    named: dict[str, dict[str, None]] = {}
    for one in session.registry.pipelines:
        for name in filter(None, (one.library, one.id)):
            named.setdefault(name, {})[one.id] = None
    for name in as_tuple(query.pipelines):
        if name not in named:
            raise UsageError(unknown_name("family", name, named))
    return tuple(id_ for name in as_tuple(query.pipelines) for id_ in named[name])


def read_lists(session: Session, query: InstanceQuery, direction: str | None) -> list[Conversion]:
    """Read the lists of a query as each of the asked families reads them.

    :param query: with the ids of families.
    :raises InputError: one cannot be used.
    """
    asked = dict.fromkeys(session.registry.pipelines.find(id_).library for id_ in query.pipelines)
    readings = [replace(query.reading, library=name) for name in asked or ("",)]
    lists = product(map(str, as_tuple(query.conf)), readings)
    return [load_list(session, name, direction, reading) for name, reading in lists]


def load_list(
    session: Session, name: Path | str, direction: str | None, reading: ListReading | None
) -> Conversion:
    """Read a list, and notify of it.

    :param name: a path, or the name of a list that ships with ckprof.
    :param direction: id of the direction that it must belong to, or ``None``.
    :raises InputError: it cannot be used.
    """
    conversion = read_list(find_list(str(name)), session.registry, direction=direction, reading=reading)
    session.emit(ListRead(conversion=conversion))
    return conversion


def as_tuple(values: T | tuple[T, ...]) -> tuple[T, ...]:
    """Return values of which one may stand for itself."""
    return values if isinstance(values, tuple) else (values,)


def _check_sources(query: InstanceQuery, from_plugins: bool) -> None:
    sources = [
        name
        for name, given in (
            ("--conf", bool(query.conf)),
            ("--rule-set", query.rule_set is not None),
            ("an instance given by its tile", from_plugins),
        )
        if given
    ]
    if len(sources) > 1:
        raise UsageError(f"{sources[0]} and {sources[1]} contradict each other: name the instances once")
    if not sources:
        raise UsageError("no instances: give --conf FILE, --rule-set ID, or one instance by its tile")
    if query.conf:
        if query.ndims:
            raise UsageError("--ndim chooses from a rule set, --conf says the dimensions itself")
        if len(as_tuple(query.directions)) > 1:
            raise UsageError("lists are read for one direction: name one with --direction, or none")
        return
    if query.reading.layout:
        raise UsageError(f"--layout says how a list is read, {sources[0]} reads none")


def choose_from_lists(session: Session, query: InstanceQuery, conversions: Sequence[Conversion]) -> Selection:
    """Return the instances of lists that are read already; the query says which of them.

    :raises UsageError: a name or filter is wrong.
    :raises PluginError: a plugin's answer is of no use.
    """
    candidates = list_candidates(conversions, session.registry)
    source = encodable(", ".join(str(name) for name in as_tuple(query.conf)))
    if query.arch:
        # a misspelt name is an error also where nothing depends on it
        find_architecture(query.arch)
    arch = chosen_architecture(session, query) if query.check_arch else None
    return _chosen(session, query, tuple(conversions), candidates, source, arch)


def _of_entries(
    session: Session,
    query: InstanceQuery,
    directions: Sequence[Operation],
    from_plugins: Sequence[Instance] | None,
) -> Selection:
    arch = chosen_architecture(session, query)
    if from_plugins is not None:
        entries: Iterable[RuleSetEntry] = [RuleSetEntry(instance) for instance in from_plugins]
        source = "given by its tile"
    else:
        rule_set = session.registry.rule_sets.find(cast("str", query.rule_set))
        source = f"rule set {rule_set.id}"
        registered = session.registry.operations.registered
        asked = [operation for operation in registered if not directions or operation in directions]
        entries = rule_set.enumerate(
            RuleSetRequest(
                arch=arch,
                directions=tuple(direction.id for direction in asked),
                ndims=query.ndims or _NDIMS,
                dtypes=query.dtypes or _DTYPES,
                read_lists=shipped_list_reader(session.registry),
                plugin_options=query.plugin_options,
            )
        )
    candidates = entry_candidates(entries, session.registry, source)
    return _chosen(session, query, (), candidates, source, arch)


def shipped_list_reader(registry: Registry) -> Callable[[str], Sequence[Instance]]:
    """Return what a rule set reads lists that ship with ckprof by: one, or those in a folder.

    It raises an :class:`InputError` for a name that neither has.
    """

    def read_shipped(name: str) -> list[Instance]:
        paths = sorted((conf_root() / name).glob("*.conf")) or [find_list(name)]
        conversions = [read_list(path, registry) for path in paths]
        return [candidate.instance for candidate in list_candidates(conversions, registry)]

    return read_shipped


def _chosen(
    session: Session,
    query: InstanceQuery,
    conversions: tuple[Conversion, ...],
    candidates: Sequence[Candidate],
    source: str,
    arch: Architecture | None,
) -> Selection:
    """Ask the rules, apply the filters, report what is excluded, and let plugins change the rest.

    :param conversions: empty where the instances come from no list.
    """
    valid: tuple[Candidate, ...] = tuple(candidates)
    invalid: tuple[Rejection, ...] = ()
    if arch is not None and not query.keep_invalid:
        valid, invalid = check_validity(candidates, arch.name, query.api_level or LATEST_API_LEVEL)
    if not conversions:
        # the numbers of a rule set count both apart
        valid = tuple(replace(item, index=index) for index, item in enumerate(valid))
        invalid = tuple(
            replace(item, candidate=replace(item.candidate, index=index))
            for index, item in enumerate(invalid)
        )
    for index in query.indices:
        if not 0 <= index < len(valid):
            raise UsageError(f"instance {index}: there are {len(valid)} instances, from 0")
    total, chosen = len(valid) + len(invalid), valid
    if query.filters or query.excludes or query.pipelines:
        wanted = select(
            [*valid, *(item.candidate for item in invalid)],
            filters=as_tuple(query.filters),
            excludes=as_tuple(query.excludes),
            pipelines=as_tuple(query.pipelines),
        )
        invalid = tuple(item for item in invalid if id(item.candidate) in wanted)
        chosen = tuple(item for item in valid if id(item) in wanted)
    if query.indices:
        chosen = tuple(item for item in chosen if item.index in query.indices)
    if invalid and arch is not None:
        rules = Counter(rejection.unmet_requirements[0].rule for rejection in invalid)
        counts = ", ".join(f"{count} {rule}" for rule, count in rules.most_common())
        skipped = f"skipped {len(invalid)} that are not valid ({counts})"
        session.emit(Message(f"{source} for {arch.name}: {counted(len(chosen), 'instance')}; {skipped}"))
    selection = Selection(
        conversions=conversions,
        candidates=chosen,
        invalid=invalid,
        filtered=total - len(chosen) - len(invalid),
        source=source,
        arch=arch,
        api_level=query.api_level or LATEST_API_LEVEL,
        keep_invalid=query.keep_invalid,
    )
    return _modified(session, query, selection)


def _modified(session: Session, query: InstanceQuery, selection: Selection) -> Selection:
    """Let plugins remove, add, change and reorder instances, once per direction that there is."""
    directions = dict.fromkeys(candidate.instance.direction for candidate in selection.candidates)
    candidates: list[Candidate] = []
    names = KernelNames((candidate.name, candidate.instance) for candidate in selection.candidates)
    number = max((candidate.index for candidate in selection.candidates), default=-1)
    arch = selection.arch
    for direction in directions:
        before = {c.instance.key: c for c in selection.candidates if c.instance.direction == direction}
        instances: list[Instance] = [candidate.instance for candidate in before.values()]
        asked = {"direction": direction, "instances": instances, "arguments": query.plugin_options}
        session.manager.call("ckprof_modify_instances", **asked)
        keys = {instance.key for instance in instances}
        gone = [candidate for key, candidate in before.items() if key not in keys]
        places = iter(gone if len(gone) == len(keys - before.keys()) else ())
        for instance in instances:
            candidate = before.get(instance.key)
            if candidate is None:
                pipeline = session.registry.pipelines.find(instance.pipeline)
                number += 1
                place = next(places, None)
                index, source = (place.index, place.source) if place else (number, ADDED_BY_PLUGIN)
                candidate = names.candidate(instance, pipeline, index=index, source=source)
                # nobody has asked whether it is valid
                arch = None
            candidates.append(candidate)
    if selection.candidates and not candidates:
        raise NothingLeftError(
            f"no instance is left of {selection.source}: a plugin removed all {len(selection.candidates)}"
        )
    return replace(selection, candidates=tuple(candidates), arch=arch)


def _instances_of_plugins(
    session: Session, query: InstanceQuery, directions: Sequence[Operation]
) -> list[Instance] | None:
    """Return the instances that plugins make of their own options; ``None`` if none is used."""
    answers = session.manager.call(
        "ckprof_make_instances",
        arguments=query.plugin_options,
        directions=tuple(direction.id for direction in directions),
        ndims=query.ndims or _NDIMS[:1],
        dtypes=(query.dtypes or _DTYPES[:1]) if not query.conf else (),
    )
    if not answers:
        return None
    return [instance for _, answer in answers for instance in cast("Sequence[Instance]", answer)]
