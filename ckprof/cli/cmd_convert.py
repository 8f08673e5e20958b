"""``ckprof convert``: legacy lists to JSON catalogs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.catalog.writer import render_catalog, write_catalog
from ckprof.cli import options
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.flow.inputs import find_list, read_list

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.model.catalog import Catalog

_EPILOG = """\
examples:
  ckprof convert nhwgc_fp16.conf                      # the catalog on standard output
  ckprof convert nhwgc_fp16.conf -o nhwgc_fp16.json
  ckprof convert ngchw_depthwise.conf -o catalogs/    # a list of several types gives several catalogs

A list with wrong lines gives no catalog: all of them are reported, and nothing is written.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof convert``."""
    parser.epilog = _EPILOG
    parser.add_argument("conf", metavar="FILE", help="the list; lists that ship with ckprof work by name")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="the catalog, or a folder for one catalog per type (default: standard output)",
    )
    parser.add_argument("--direction", metavar="ID", help="insist on a list of this direction")
    options.add_reading_options(parser)
    parser.add_argument(
        "--mma-k-table",
        metavar="A/B",
        help="K of the half types' MMA tiles, for 32-wide and for all others (default: 16/32; "
        "upstream's committed catalogs have 8/16)",
    )
    parser.add_argument(
        "--upstream-comments",
        action="store_true",
        help="lose a line with a # or ; anywhere in it, as upstream's converter does",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: the list is wrong, or a catalog cannot be written.
    """
    direction = session.registry.direction(arguments.direction) if arguments.direction else None
    conversion = read_list(
        find_list(arguments.conf),
        session.registry,
        direction=direction.id if direction else None,
        layout=options.chosen_layout(arguments),
        dtype=options.chosen_dtype(arguments),
        mma_k_table=_mma_k_table(arguments.mma_k_table),
        lenient=arguments.lenient,
        upstream_comments=arguments.upstream_comments,
    )
    options.report_conversion(conversion, session)
    if not any(catalog.records for catalog in conversion.catalogs):
        raise InputError("no instance is left; the dropped lines are counted above", conversion.path)
    if arguments.output is None:
        if len(conversion.catalogs) != 1:
            raise UsageError(
                f"the list gives {len(conversion.catalogs)} catalogs ({_names(conversion.catalogs)}): "
                "name a folder with -o, or one type with --dtype"
            )
        session.console.exact(render_catalog(conversion.catalogs[0]))
        return ExitCode.OK
    for path, catalog in _targets(arguments.output, conversion.catalogs):
        written = write_catalog(path, catalog)
        session.console.info(
            f"{'wrote' if written else 'unchanged'} {path}: {len(catalog.records)} instances"
        )
    return ExitCode.OK


def _targets(output: Path, catalogs: Sequence[Catalog]) -> list[tuple[Path, Catalog]]:
    """Return where each catalog goes: the file itself, or ``<layout>_<dtype>.json`` in the folder."""
    if len(catalogs) == 1 and not output.is_dir():
        return [(output, catalogs[0])]
    if output.is_file():
        raise UsageError(
            f"the list gives {len(catalogs)} catalogs ({_names(catalogs)}), but {output} is a file"
        )
    paths = [output / f"{catalog.layout.name}_{catalog.dtype.value}.json" for catalog in catalogs]
    if len(set(paths)) < len(paths):
        # the same layout and type twice: only the variant tells them apart
        paths = [
            path.with_stem(f"{path.stem}_{catalog.variant}")
            for path, catalog in zip(paths, catalogs, strict=True)
        ]
    return list(zip(paths, catalogs, strict=True))


def _names(catalogs: Sequence[Catalog]) -> str:
    return ", ".join(f"{catalog.variant} {catalog.layout.name} {catalog.dtype.value}" for catalog in catalogs)


def _mma_k_table(text: str | None) -> tuple[int, int] | None:
    """Parse ``16/32``.

    :raises UsageError: it is not two positive integers.
    """
    if text is None:
        return None
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UsageError(f"--mma-k-table: expected two positive integers such as 16/32, got {text!r}")
    return int(parts[0]), int(parts[1])
