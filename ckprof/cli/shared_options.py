"""Options that several commands share, with the same meaning everywhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.model.api_level import API_LEVELS
from ckprof.model.conversion import MMA_K_TABLE, ListReading
from ckprof.model.dtype import DataType, spellings
from ckprof.model.suggestion import unknown_name
from ckprof.plugin.operations import layouts_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.requests import BuildOptions
    from ckprof.cli.session import Session
    from ckprof.model.layout import Layout

#: of the largest number of an instance; no list comes near
_DIGITS: Final = 6


def add_direction(parser: argparse.ArgumentParser, session: Session, *, optional: bool = False) -> None:
    """Add the positional DIRECTION."""
    known = ", ".join(session.registry.operations.ids)
    parser.add_argument(
        "direction",
        metavar="DIRECTION",
        nargs="?" if optional else None,
        help=f"what is computed: {known}",
    )


def add_list_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which instances are meant."""
    group = parser.add_argument_group("instances")
    group.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="FILE",
        help="instance list: a legacy .conf in any dialect, or a JSON catalog; the name of a list that ships "
        "with ckprof works as well, e.g. forward/tests/nhwgc_fp16 (repeatable)",
    )
    add_reading_options(group)
    group.add_argument(
        "--instance",
        action="extend",
        type=_positions,
        default=[],
        metavar="N,N-N,...",
        help="only the instances with these numbers, such as 3 or 3,7-9; see --list-instances (repeatable)",
    )
    group.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="EXPR|REGEX",
        help="only instances for which an expression over their fields holds, such as "
        "'tile_n >= 128 and gemm_pipeline == \"compv4\"', or whose kernel name or instance string a regular "
        "expression finds; a text that compares or joins with and, or, not is the former (repeatable, ORed)",
    )
    group.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="EXPR|REGEX",
        help="not the instances that --filter with the same text would choose (repeatable)",
    )
    group.add_argument(
        "--pipeline", action="append", default=[], metavar="ID", help="only this kernel family (repeatable)"
    )


def add_reading_options(group: argparse._ActionsContainer, *, lenient: bool = True) -> None:
    """Add the options that say how a list is read.

    :param lenient: with ``--lenient``.
    """
    group.add_argument(
        "--layout",
        metavar="NAME",
        help="layout of lists whose lines and file names do not say it, e.g. nhwgc or rcr",
    )
    group.add_argument(
        "--dtype",
        metavar="NAME",
        help=f"data type of lists whose lines and file names do not say it: {spellings(DataType)}; of a rule "
        "set, one or several joined by commas (default: all)",
    )
    if lenient:
        group.add_argument(
            "--lenient",
            action="store_true",
            help="leave wrong lines out, with a warning each, instead of stopping",
        )


def add_conversion_options(group: argparse._ActionsContainer) -> None:
    """Add the options in which upstream's converter differs, then and now."""
    group.add_argument(
        "--mma-k-table",
        metavar="A/B",
        help="K of the half types' MMA tiles, for 32-wide and for all others (default: 16/32; "
        "upstream's committed catalogs have 8/16)",
    )
    group.add_argument(
        "--upstream-comments",
        action="store_true",
        help="lose a line with a # or ; anywhere in it, as upstream's converter does",
    )


def add_build_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of generation and build."""
    group = parser.add_argument_group("build")
    known = ", ".join(session.registry.targets.ids)
    group.add_argument("--target", metavar="ID", help=f"where kernels are built and run: {known}")
    group.add_argument("--arch", metavar="NAME", help="architecture, on the CPU the modelled one")
    group.add_argument(
        "--compiler",
        metavar="COMMAND",
        help="C++ compiler, by name, path or command; zig for that of the package ziglang "
        "(default: the first usable one)",
    )
    group.add_argument(
        "--ck-root",
        type=Path,
        metavar="DIR",
        help="CK Tile headers: the folder that holds ck_tile/, an installation or a checkout, for targets "
        "that do not bring their own (default: $CK_ROOT, else what 'ckprof doctor' shows)",
    )
    group.add_argument(
        "--api-level",
        choices=API_LEVELS,
        help="state of CK Tile's interface that a target without real headers models (default: the latest)",
    )
    group.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="parallel compiler processes (default: as many as cores and free memory allow)",
    )
    group.add_argument(
        "--compile-timeout",
        type=_seconds,
        metavar="S",
        help=f"seconds for one kernel's compilation (default: {session.settings.compile_timeout:g})",
    )
    group.add_argument(
        "--build-dir",
        type=Path,
        metavar="DIR",
        help="generate and build in this folder, and leave everything there",
    )
    # as it was called before
    group.add_argument("--keep", dest="build_dir", type=Path, help=argparse.SUPPRESS)


def chosen_layout(
    arguments: argparse.Namespace, session: Session, directions: Sequence[str] = ()
) -> Layout | None:
    """Return the layout of ``--layout``.

    :param directions: ids or aliases of the operations that the command names; empty for all.
    :raises UsageError: they have no such layout, or there is no such operation.
    """
    if arguments.layout is None:
        return None
    known = layouts_named(session.registry, directions)
    layout = known.get(arguments.layout.lower())
    if layout is None:
        where = f" of {', '.join(directions)}" if directions else ""
        raise UsageError(f"--layout: {unknown_name(f'layout{where}', arguments.layout, known)}")
    return layout


def chosen_dtype(arguments: argparse.Namespace) -> DataType | None:
    """Return the type of ``--dtype``.

    :raises UsageError: no such type.
    """
    return None if arguments.dtype is None else DataType.parse(arguments.dtype)


def parse_mma_k_table(text: str | None) -> tuple[int, int]:
    """Parse ``16/32``; without a text the default.

    :raises UsageError: it is not two positive integers.
    """
    if text is None:
        return MMA_K_TABLE
    parts = text.split("/")
    if len(parts) != 2 or not all(
        part.isascii() and part.isdecimal() and 0 < int(part) < 10**6 for part in parts
    ):
        raise UsageError(f"--mma-k-table: expected two positive integers such as 16/32, got {text!r}")
    return int(parts[0]), int(parts[1])


def chosen_list_reading(
    arguments: argparse.Namespace, session: Session, directions: Sequence[str] = ()
) -> ListReading:
    """Return how lists are read; what a command has no option for keeps its default.

    :param directions: see :func:`chosen_layout`.
    :raises UsageError: an option is wrong.
    """
    return ListReading(
        layout=chosen_layout(arguments, session, directions),
        dtype=chosen_dtype(arguments),
        mma_k_table=parse_mma_k_table(getattr(arguments, "mma_k_table", None)),
        lenient=getattr(arguments, "lenient", False),
        upstream_comments=getattr(arguments, "upstream_comments", False),
    )


def chosen_build_options(arguments: argparse.Namespace, *, chunk_size: int | None = None) -> BuildOptions:
    """Return what the options of generation and build say."""
    from ckprof.api.requests import BuildOptions

    return BuildOptions(
        target=arguments.target,
        arch=arguments.arch,
        compiler=arguments.compiler,
        ck_root=arguments.ck_root,
        api_level=arguments.api_level,
        jobs=arguments.jobs,
        compile_timeout_s=arguments.compile_timeout,
        build_dir=arguments.build_dir,
        chunk_size=chunk_size,
    )


def positive(text: str) -> int:
    """Parse a positive integer; the type of options."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _positions(text: str) -> list[int]:
    """Parse ``3,7-9``.

    :raises argparse.ArgumentTypeError: it is something else.
    """
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdecimal() and len(end) <= _DIGITS for end in ends):
            raise argparse.ArgumentTypeError(
                f"expected a non-negative integer, or several such as 3,7-9, got {text!r}"
            )
        low, high = map(int, ends)
        if high < low:
            raise argparse.ArgumentTypeError(f"the range {part} is empty: it ends before it begins")
        numbers += range(low, high + 1)
    return numbers


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


# argparse names the type in "invalid ... value"
positive.__name__ = "positive integer"
_seconds.__name__ = "number of seconds"
