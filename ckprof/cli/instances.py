"""The options that say which instances are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ckprof.api.requests import InstanceQuery, ListReading
from ckprof.cli import shared_options
from ckprof.cli.parser import looks_like_list
from ckprof.errors import UsageError
from ckprof.model.dtype import DataType
from ckprof.plugin.operations import layouts_named

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session

T = TypeVar("T")


def add_instance_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add everything that says which instances are meant."""
    shared_options.add_list_options(parser)
    group = parser.add_argument_group("rule sets")
    known = "; ".join(f"{rule_set.id}: {rule_set.label}" for rule_set in session.registry.rule_sets)
    group.add_argument("--rule-set", metavar="ID", help=f"enumerate the instances instead ({known})")
    group.add_argument(
        "--ndim",
        metavar="N,N",
        help="numbers of spatial dimensions (default: 2,3; one instance given by its tile: 2)",
    )
    group.add_argument(
        "--upstream-defects",
        action="store_true",
        help="keep the kernels that upstream's generator makes although the architecture cannot run them or "
        "they are known to be wrong",
    )


def chosen_query(
    arguments: argparse.Namespace, session: Session, directions: Sequence[str], *, check_arch: bool = False
) -> InstanceQuery:
    """Return which instances the options mean.

    :param directions: ids or aliases; empty for all.
    :param check_arch: sort out what is not valid for the architecture, of lists as well.
    :raises UsageError: an option is wrong.
    """
    _check_directions(arguments, directions)
    from_list = bool(arguments.conf)
    return InstanceQuery(
        conf=tuple(arguments.conf),
        rule_set=arguments.rule_set,
        directions=tuple(directions),
        reading=shared_options.chosen_list_reading(arguments, session, directions)
        if from_list
        else _reading(arguments, session, directions),
        dtypes=() if from_list else _dtypes(arguments.dtype),
        ndims=_ndims(arguments.ndim, session, directions),
        indices=tuple(arguments.instance),
        filters=tuple(arguments.filter),
        excludes=tuple(arguments.exclude),
        pipelines=tuple(arguments.pipeline),
        target=arguments.target,
        arch=arguments.arch,
        check_arch=check_arch,
        keep_invalid=arguments.upstream_defects,
        plugin_options=vars(arguments),
    )


def split_names(names: Sequence[str]) -> list[str]:
    """Return the values of a repeatable option whose values may be joined by commas."""
    return [part for name in names for part in name.split(",")]


def _check_directions(arguments: argparse.Namespace, directions: Sequence[str]) -> None:
    """Say what to type where a list stands in the direction's place."""
    for word in directions:
        if looks_like_list(word):
            direction = "" if arguments.command == "run" else "DIRECTION "
            call = f"ckprof {arguments.command} {direction}--conf {word}"
            raise UsageError(f"{word!r} is no direction; a list is named with --conf: type '{call}'")


def _reading(arguments: argparse.Namespace, session: Session, directions: Sequence[str]) -> ListReading:
    """Return options that only lists have, so that their use without a list can be found."""
    layout = shared_options.chosen_layout(arguments, session, directions)
    return ListReading(layout=layout, lenient=arguments.lenient)


def _ndims(text: str | None, session: Session, directions: Sequence[str]) -> tuple[int, ...]:
    if not text:
        return ()
    parts = text.split(",")
    layouts = layouts_named(session.registry, directions).values()
    known = sorted({layout.ndim for layout in layouts if layout.ndim or directions})
    if not all(part.isdecimal() and int(part) in known for part in parts):
        if known == [0]:
            raise UsageError(f"--ndim {text}: {', '.join(directions)} has no spatial dimensions")
        *most, last = map(str, known)
        expected = f"{', '.join(most)} or {last}, or several joined by commas" if most else last
        raise UsageError(f"--ndim {text}: expected {expected}")
    return _each_once("--ndim", [int(part) for part in parts])


def _dtypes(text: str | None) -> tuple[DataType, ...]:
    if not text:
        return ()
    return _each_once("--dtype", [DataType.parse(part) for part in text.split(",")])


def _each_once(option: str, values: Sequence[T]) -> tuple[T, ...]:
    if len(set(values)) < len(values):
        raise UsageError(f"{option}: the same value is named twice")
    return tuple(values)
