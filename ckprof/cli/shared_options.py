"""Options that commands share: which instances are meant, how lists are read, how kernels are built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.parser import looks_like_list
from ckprof.errors import UsageError
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.model.conversion import ListReading
from ckprof.model.types import DataType
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.kernels.choose import Selection
    from ckprof.model.tensor import Layout

T = TypeVar("T")

#: commands that do without a DIRECTION where lists say it
_DEDUCING: Final = ("run", "sweep", "tune", "parity", "upgrade")

#: option of other programs -> what to type in commands that write a folder
FOLDER_INSTEAD: Final = dict.fromkeys(("-o", "--output"), "name the folder with --build-dir")

#: fields of :class:`BuildOptions` that all commands have which build
_BUILD: Final = (
    "target",
    "arch",
    "compiler",
    "cxx_flags",
    "ck_root",
    "api_level",
    "jobs",
    "compile_timeout_s",
    "build_dir",
)


def add_direction(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add the positional DIRECTION."""
    parser.add_argument(
        "direction",
        metavar="DIRECTION",
        nargs="?" if optional else None,
        help="what is computed: see 'ckprof list directions'",
    )


def chosen_directions(arguments: argparse.Namespace, session: Session) -> list[str]:
    """Return the DIRECTION, or nothing where the lists of ``--conf`` say it.

    :raises UsageError: nothing says it.
    """
    if arguments.direction is not None:
        return [arguments.direction]
    if arguments.conf:
        return []
    ids = ", ".join(session.registry.operations.ids)
    raise UsageError(f"no DIRECTION given ({ids}); only lists, named with --conf, say it themselves")


def add_instances(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add DIRECTION, and everything that says which instances are meant."""
    add_direction(parser, optional=optional)
    add_instance_options(parser)


def add_instance_options(parser: argparse.ArgumentParser) -> None:
    """Add everything that says which instances are meant."""
    group = parser.add_argument_group("instances")
    add_fields(group, InstanceQuery, "conf")
    add_fields(group, ListReading, "layout", "dtype", "lenient")
    add_fields(group, InstanceQuery, "indices", "filters", "excludes", "pipelines")
    add_fields(parser.add_argument_group("rule sets"), InstanceQuery, "rule_set", "ndims", "keep_invalid")


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of generation and build."""
    add_fields(parser.add_argument_group("build"), BuildOptions, *_BUILD)


def chosen_build_options(arguments: argparse.Namespace, *further: str, **others: Any) -> BuildOptions:
    """Return what the options of generation and build say.

    :param further: fields that the command has options for besides the usual ones.
    :param others: values of further fields.
    """
    return cast("BuildOptions", chosen(arguments, BuildOptions, *_BUILD, *further, **others))


def chosen_selection(arguments: argparse.Namespace, session: Session, direction: str) -> Selection:
    """Return the instances of a direction that the options mean, of which there must be some.

    :raises CkprofError: an option or a list is wrong, or no instance is left.
    """
    return session.profiler.instances(chosen_query(arguments, session, [direction])).require()


def chosen_query(
    arguments: argparse.Namespace, session: Session, directions: Sequence[str], *, check_arch: bool = False
) -> InstanceQuery:
    """Return which instances the options mean.

    :param directions: ids or aliases; empty for all.
    :param check_arch: sort out what is not valid for the architecture, of lists as well.
    :raises UsageError: an option is wrong.
    """
    _check_directions(arguments, directions)
    if arguments.conf:
        reading = chosen_list_reading(arguments, session, directions)
    else:
        # what only lists have, so that its use without a list can be found
        layout = _chosen_layout(arguments, session, directions)
        reading = ListReading(layout=layout, lenient=bool(arguments.lenient))
    return chosen(
        arguments,
        InstanceQuery,
        directions=tuple(directions),
        reading=reading,
        dtypes=() if arguments.conf else _dtypes(arguments.dtype),
        ndims=_ndims(arguments.ndim, session, directions),
        target=arguments.target,
        arch=arguments.arch,
        check_arch=check_arch,
        plugin_options=vars(arguments),
    )


def chosen_list_reading(
    arguments: argparse.Namespace, session: Session, directions: Sequence[str] = ()
) -> ListReading:
    """Return how lists are read; what a command has no option for keeps its default.

    :param directions: ids or aliases of the operations that the command names; empty for all.
    :raises UsageError: an option is wrong.
    """
    return chosen(
        arguments,
        ListReading,
        layout=_chosen_layout(arguments, session, directions),
        dtype=None if arguments.dtype is None else DataType.parse(arguments.dtype),
        plugin_options=vars(arguments),
    )


def _chosen_layout(
    arguments: argparse.Namespace, session: Session, directions: Sequence[str]
) -> Layout | None:
    """Return the layout of ``--layout``."""
    if arguments.layout is None:
        return None
    layouts = session.registry.layouts(directions)
    layout = layouts.get(arguments.layout.lower())
    if layout is None:
        where = f" of {', '.join(directions)}" if directions else ""
        raise UsageError(f"--layout: {unknown_name(f'layout{where}', arguments.layout, layouts)}")
    return layout


def _check_directions(arguments: argparse.Namespace, directions: Sequence[str]) -> None:
    """Say what to type where a list stands in the direction's place."""
    for word in directions:
        if looks_like_list(word):
            direction = "" if arguments.command in _DEDUCING else "DIRECTION "
            call = f"ckprof {arguments.command} {direction}--conf {word}"
            raise UsageError(f"{word!r} is not a direction; a list is named with --conf: type '{call}'")


def _ndims(text: str | None, session: Session, directions: Sequence[str]) -> tuple[int, ...]:
    if not text:
        return ()
    parts = text.split(",")
    layouts = session.registry.layouts(directions).values()
    possible = sorted({layout.ndim for layout in layouts if layout.ndim or directions})
    if not all(part.isdecimal() and int(part) in possible for part in parts):
        if possible == [0]:
            raise UsageError(f"--ndim {text}: {', '.join(directions)} has no spatial dimensions")
        *most, last = map(str, possible)
        expected = f"{', '.join(most)} or {last}, or several joined by commas" if most else last
        raise UsageError(f"--ndim {text}: expected {expected}")
    return _each_once("--ndim", [int(part) for part in parts])


def _dtypes(text: str | None) -> tuple[DataType, ...]:
    return _each_once("--dtype", [DataType.parse(part) for part in text.split(",")]) if text else ()


def _each_once(option: str, values: Sequence[T]) -> tuple[T, ...]:
    if len(set(values)) < len(values):
        raise UsageError(f"{option}: the same value is named twice")
    return tuple(values)
