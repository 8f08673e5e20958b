"""Which instances a command is about: those of lists, of a rule set, or given by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.arch.architectures import find_architecture
from ckprof.cli import shared_options
from ckprof.errors import InputError, NothingLeftError, UsageError
from ckprof.flow.candidates import list_candidates, select
from ckprof.flow.rule_sets import check_candidates, check_validity, enumerate_rule_set
from ckprof.model.api_level import LATEST_API_LEVEL
from ckprof.model.dtype import DataType
from ckprof.plugin.protocols import RuleSetEntry

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from ckprof.arch.architecture import Architecture
    from ckprof.cli.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.flow.rule_sets import InvalidInstance, Selection
    from ckprof.model.conversion import Conversion
    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import Direction

_NDIMS = (2, 3)
_KNOWN_NDIMS = (1, 2, 3)
_DTYPES = (DataType.FP16, DataType.BF16, DataType.FP32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The instances of a command, in order."""

    #: what was read; empty unless the instances come from lists
    conversions: list[Conversion]
    candidates: list[Candidate]
    #: instances that are not valid for the architecture, if it was asked
    invalid: list[InvalidInstance]
    #: how many instances the filters dropped
    filtered: int
    #: what the instances come from, for messages
    source: str
    #: the architecture whose rules were asked; ``None``: the build will ask
    arch: Architecture | None
    #: keep what the rules reject
    keep_invalid: bool

    def is_checked_for(self, arch: str, api_level: str) -> bool:
        """Say whether the rules need not be asked again before kernels are written for these."""
        if self.keep_invalid:
            return True
        return self.arch is not None and (self.arch.name, LATEST_API_LEVEL) == (arch, api_level)


def add_instance_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add everything that says which instances are meant."""
    shared_options.add_list_options(parser)
    group = parser.add_argument_group("rule sets")
    known = "; ".join(f"{rule_set.id}: {rule_set.label}" for rule_set in session.registry.rule_sets)
    group.add_argument("--rule-set", metavar="ID", help=f"enumerate the instances instead ({known})")
    group.add_argument(
        "--ndim",
        metavar="N,N",
        help="numbers of spatial dimensions (default: 2,3; one instance given by hand: 2)",
    )
    group.add_argument(
        "--upstream-defects",
        action="store_true",
        help="keep the kernels that upstream's generator makes although the architecture cannot run them or "
        "they are known to be wrong",
    )


def chosen_instances(
    arguments: argparse.Namespace,
    session: Session,
    directions: Sequence[Direction],
    *,
    ask_arch: bool = False,
) -> Chosen:
    """Return the instances that the options name, and say what was read and left out.

    :param directions: those asked for; empty for all.
    :param ask_arch: sort out what is not valid for the architecture; done for rule sets and instances given
        by hand in any case.
    :raises UsageError: options contradict each other, or a name or filter is wrong.
    :raises InputError: a list cannot be used.
    """
    for id_ in arguments.pipeline:
        session.registry.pipelines.find(id_)
    from_cli = _instances_from_cli(arguments, session, directions)
    sources = [
        name
        for name, given in (
            ("--conf", arguments.conf),
            ("--rule-set", arguments.rule_set),
            ("an instance given by hand", from_cli is not None),
        )
        if given
    ]
    if len(sources) > 1:
        raise UsageError(f"{sources[0]} and {sources[1]} contradict each other: name the instances once")
    if not sources:
        raise UsageError("no instances: give --conf FILE, --rule-set ID, or one instance by its tile")
    if arguments.conf:
        return _of_lists(arguments, session, directions, ask_arch)
    for option in ("layout", "lenient"):
        if getattr(arguments, option):
            raise UsageError(f"--{option} says how a list is read, {sources[0]} reads none")
    arch = chosen_arch(arguments, session)
    if from_cli is not None:
        entries, source = [RuleSetEntry(instance) for instance in from_cli], "given by hand"
    else:
        rule_set = session.registry.rule_sets.find(arguments.rule_set)
        source = f"rule set {rule_set.id}"
        entries = list(
            enumerate_rule_set(
                rule_set,
                session.registry,
                arch=arch,
                directions=[d.id for d in _ordered(directions or session.registry.directions)],
                ndims=_ndims(arguments, _NDIMS),
                dtypes=_dtypes(arguments, _DTYPES),
            )
        )
    selection = check_validity(
        entries,
        session.registry,
        arch=arch,
        api_level=LATEST_API_LEVEL,
        source=source,
        keep_defects=arguments.upstream_defects,
    )
    return _chosen(arguments, session, [], selection, source, arch)


def chosen_arch(arguments: argparse.Namespace, session: Session) -> Architecture:
    """Return the architecture of the flag, the settings, or the target's default.

    :raises UsageError: there is none of that name.
    """
    name = arguments.arch or session.settings.arch
    return find_architecture(name or shared_options.chosen_target(arguments, session).default_arch)


def _of_lists(
    arguments: argparse.Namespace, session: Session, directions: Sequence[Direction], ask_arch: bool
) -> Chosen:
    if len(directions) > 1:
        raise UsageError("lists are read for one direction: name one with --direction, or none")
    if arguments.ndim:
        raise UsageError("--ndim chooses from a rule set, --conf says the dimensions itself")
    conversions = shared_options.read_lists(arguments, session, directions[0] if directions else None)
    candidates = list_candidates(conversions, session.registry)
    source = ", ".join(arguments.conf)
    arch = chosen_arch(arguments, session) if ask_arch else None
    if arch is None or arguments.upstream_defects:
        return _chosen(arguments, session, conversions, candidates, source, arch)
    selection = check_candidates(candidates, arch, LATEST_API_LEVEL)
    return _chosen(arguments, session, conversions, selection, source, arch)


def _chosen(
    arguments: argparse.Namespace,
    session: Session,
    conversions: list[Conversion],
    instances: Selection | list[Candidate],
    source: str,
    arch: Architecture | None,
) -> Chosen:
    """Apply the filters, and say what the rules left out."""
    candidates, invalid = (
        (instances, []) if isinstance(instances, list) else (instances.candidates, list(instances.invalid))
    )

    def pick(among: Sequence[Candidate], indices: Sequence[int]) -> list[Candidate]:
        return select(
            among,
            indices=indices,
            filters=arguments.filter,
            excludes=arguments.exclude,
            pipelines=arguments.pipeline,
        )

    everything = [*candidates, *(one.candidate for one in invalid)]
    wanted = {id(candidate) for candidate in pick(everything, ())}
    chosen = [c for c in pick(candidates, arguments.instance) if id(c) in wanted]
    rejected = [one for one in invalid if id(one.candidate) in wanted]
    if rejected and arch is not None:
        rules = Counter(one.unmet_requirements[0].rule for one in rejected)
        session.console.info(
            f"{source} for {arch.name}: {len(chosen)} instances; left out {len(rejected)} that are not valid "
            f"({', '.join(f'{count} {rule}' for rule, count in rules.most_common())})"
        )
    return Chosen(
        conversions=conversions,
        candidates=chosen,
        invalid=rejected,
        filtered=len(everything) - len(chosen) - len(rejected),
        source=source,
        arch=arch,
        keep_invalid=arguments.upstream_defects,
    )


def require_instances(chosen: Chosen) -> None:
    """Check that there is something to do.

    :raises UsageError: the filters left none.
    :raises InputError: lists gave none at all.
    :raises NothingLeftError: a rule set has none, or the rules left none.
    """
    if chosen.candidates:
        return
    if chosen.filtered and not chosen.invalid:
        raise UsageError(
            f"none of the {chosen.filtered} instances passes --instance, --filter, --exclude and --pipeline"
        )
    what = f"no instance is left of {chosen.source}"
    if chosen.invalid and chosen.arch is not None:
        first = chosen.invalid[0]
        raise NothingLeftError(
            f"{what}: all {len(chosen.invalid)} are not valid for {chosen.arch.name}, "
            f"the first because {first.unmet_requirements[0].message}; "
            "'ckprof list instances --why' tells all reasons, --upstream-defects keeps them"
        )
    if chosen.conversions:
        raise InputError(f"{what}; the dropped lines are counted above")
    raise NothingLeftError(f"{what}" + (f": it has none for {chosen.arch.name}" if chosen.arch else ""))


def _instances_from_cli(
    arguments: argparse.Namespace, session: Session, directions: Sequence[Direction]
) -> list[Instance] | None:
    """Return the instances that plugins make of their own options; ``None`` if none is used."""
    answers: list[Any] = [
        answer
        for _, answer in session.manager.call(
            "ckprof_make_instances",
            arguments=arguments,
            directions=tuple(direction.id for direction in directions),
            ndims=_ndims(arguments, _NDIMS[:1]),
            dtypes=_dtypes(arguments, _DTYPES[:1]) if not arguments.conf else (),
        )
    ]
    return [instance for answer in answers for instance in answer] if answers else None


def _ordered(directions: Any) -> list[Direction]:
    """Return directions as everybody lists them: in the order of MIOpenDriver's bits."""
    return sorted(directions, key=lambda direction: direction.miopen_flag)


def _ndims(arguments: argparse.Namespace, default: tuple[int, ...]) -> tuple[int, ...]:
    if not arguments.ndim:
        return default
    parts = arguments.ndim.split(",")
    if not all(part.isdecimal() and int(part) in _KNOWN_NDIMS for part in parts):
        raise UsageError(f"--ndim {arguments.ndim}: expected 1, 2 or 3, or several joined by commas")
    return _each_once("--ndim", [int(part) for part in parts])


def _dtypes(arguments: argparse.Namespace, default: tuple[DataType, ...]) -> tuple[DataType, ...]:
    if not arguments.dtype:
        return default
    return _each_once("--dtype", [DataType.parse(part) for part in arguments.dtype.split(",")])


def _each_once(option: str, values: list[Any]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise UsageError(f"{option}: the same value is named twice")
    return tuple(values)


def chosen_directions(
    names: Sequence[str], find: Callable[[str], Direction], option: str = "--direction"
) -> list[Direction]:
    """Return the directions of a repeatable option whose values may be joined by commas.

    :raises UsageError: there is none of a name, or one is named twice.
    """
    found = [find(part) for name in names for part in name.split(",")]
    if len({direction.id for direction in found}) < len(found):
        raise UsageError(f"{option}: the same direction is named twice")
    return found
