"""``ckprof convert``: instance lists to JSON catalogs, one by one or a whole folder; catalogs to lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.convert_report import (
    FORMATS,
    ConvertReport,
    report_conversion,
    report_dropped_lines,
    report_lossy_lines,
)
from ckprof.cli.fields import add_fields, chosen
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.files import write_output
from ckprof.formatting import counted
from ckprof.lists.catalogs import check_outputs, plan_tree, render_catalog, write_outputs
from ckprof.lists.list_files import find_folder, find_list, read_list
from ckprof.model.conversion import CatalogFile, CatalogState, ListReading, ListState, TreeList
from ckprof.report.ci import failure_annotations

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.model.catalog import Catalog
    from ckprof.model.conversion import Conversion

_EPILOG = """\
examples:
  ckprof convert nhwgc_fp16.conf                      # the catalog on standard output
  ckprof convert nhwgc_fp16.conf -o nhwgc_fp16.json
  ckprof convert ngchw_depthwise.conf -o catalogs/    # a list of several types gives several catalogs
  ckprof convert ckprofiler.log --layout nhwgc --dtype fp16 -o seen.json
  ckprof convert conf -o catalogs                     # <direction>/<set>/<name>.conf to .../<target>.json
  ckprof convert conf -o catalogs --check             # for CI: exit 1 and the differences, nothing is written
  ckprof convert nhwgc_fp16.json --to native          # back to a list, in CK Tile's own spelling

A list with wrong lines gives no catalog: all of them are reported, and its catalogs on disk stay as they are.
Files appear whole or not at all. A folder is converted list by list up to the first one with wrong lines;
nothing is ever deleted. 'ckprof explain FILE:LINE' shows what becomes of one line and why.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof convert``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "conf",
        metavar="FILE|FOLDER",
        help="a list in any dialect, ckProfiler's output, a JSON catalog, or a folder of lists; what ships "
        "with ckprof works by name",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="the catalog; for lists of several types and for folders, or if it ends in /, the folder of the "
        "catalogs (default: standard output)",
    )
    parser.set_defaults(typed_instead={"": "; one list at a time, or a folder of lists"})
    parser.add_argument("--direction", metavar="ID", help="insist on instances of this direction")
    add_fields(parser, ListReading)
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit with 1 and a field-by-field difference unless what -o names is on disk",
    )
    parser.add_argument(
        "--to",
        choices=("json", "native"),
        default="json",
        help="form that is written (default: json; native: lists of CK Tile's own kernel names)",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="say on standard output what was converted, skipped and why; needs -o (default: a table for "
        "folders); github: as annotations for GitHub Actions",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list is wrong, or a file cannot be written.
    """
    if arguments.output is None and (arguments.check or arguments.format):
        option = "--check" if arguments.check else "--format"
        raise UsageError(f"{option} needs -o, the catalog or folder that is meant")
    if arguments.to == "native" and (arguments.check or arguments.format):
        raise UsageError("--to native goes with neither --check nor --format")
    folder = find_folder(arguments.conf)
    if folder is not None:
        return _convert_folder(folder, arguments, session)
    conversion = _read(arguments, session)
    if arguments.to == "native":
        return _write_native(conversion, arguments, session)
    return _convert_list(conversion, arguments, session)


def _read(arguments: argparse.Namespace, session: Session) -> Conversion:
    direction = session.registry.operation(arguments.direction).id if arguments.direction else None
    try:
        conversion = read_list(
            find_list(arguments.conf),
            session.registry,
            direction=direction,
            reading=shared_options.chosen_list_reading(arguments, session, [direction] if direction else []),
        )
    except InputError as exc:
        if arguments.format == "github":
            session.console.exact(failure_annotations(exc))
        raise
    report_conversion(conversion, session.console)
    if not conversion.catalogs:
        raise InputError("no line gives an instance; their reasons are counted above", conversion.path)
    if not any(catalog.records for catalog in conversion.catalogs):
        session.console.warning(f"{conversion.path}: no instance is left, the catalog is empty")
    return conversion


def _convert_list(conversion: Conversion, arguments: argparse.Namespace, session: Session) -> ExitCode:
    if arguments.output is None:
        session.console.exact(render_catalog(_only_catalog(conversion)))
        return ExitCode.OK
    outputs = [
        CatalogFile(path=path, catalog=catalog, sources=(conversion.path,))
        for path, catalog in _targets(arguments, conversion, ".json")
    ]
    converted = TreeList(path=conversion.path, state=ListState.CONVERTED, conversion=conversion)
    report = ConvertReport([converted], _written_or_checked(outputs, arguments, None))
    if arguments.format:
        report.show(arguments.format, session.console)
    else:
        for file in report.files:
            session.console.info(
                f"{file.state.value} {file.path}: {counted(len(file.catalog.records), 'instance')}"
            )
    return _verdict(report, arguments, session)


def _convert_folder(folder: Path, arguments: argparse.Namespace, session: Session) -> ExitCode:
    if arguments.to == "native":
        raise UsageError("--to native takes one file, not a folder")
    if arguments.output is None:
        raise UsageError(f"{folder} is a folder: name the folder of the catalogs with -o")
    for option in ("layout", "dtype", "direction"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} goes with one file, not with a folder")
    out = Path(arguments.output)
    if out.exists() and not out.is_dir():
        raise UsageError(f"-o {out} is a file, expected a folder")
    catalogs, lists = plan_tree(folder, chosen(arguments, ListReading), session.registry)
    outputs = [replace(item, path=out / item.path) for item in catalogs]
    report = ConvertReport(lists, _written_or_checked(outputs, arguments, out))
    notes: dict[str, None] = {}
    for item in lists:
        if item.conversion is not None:
            report_lossy_lines(item.conversion, session.console)
            report_dropped_lines(item.conversion, session.console)
            notes.update(dict.fromkeys(item.conversion.notes))
    for note in notes:
        session.console.info(f"note: {note}")
    report.show(arguments.format, session.console)
    for item in lists:
        if item.error is not None:
            raise item.error
    return _verdict(report, arguments, session)


def _written_or_checked(
    outputs: Sequence[CatalogFile], arguments: argparse.Namespace, within: Path | None
) -> list[CatalogFile]:
    return check_outputs(outputs) if arguments.check else write_outputs(outputs, within)


def _verdict(report: ConvertReport, arguments: argparse.Namespace, session: Session) -> ExitCode:
    if not arguments.check:
        return ExitCode.OK
    wrong = [file for file in report.files if file.state is not CatalogState.AS_EXPECTED]
    if arguments.format not in ("json", "github"):
        for text in report.difference_lines():
            session.console.result(text)
    return ExitCode.FAILED if wrong else ExitCode.OK


def _write_native(conversion: Conversion, arguments: argparse.Namespace, session: Session) -> ExitCode:
    texts = []
    for catalog in conversion.catalogs:
        native = session.registry.variants.find(catalog.variant).native
        if native is None:
            raise UsageError(f"catalogs of variant {catalog.variant} have no native form")
        texts.append("".join(f"{line}\n" for line in native(catalog)))
    if arguments.output is None:
        _only_catalog(conversion)
        session.console.exact(texts[0])
        return ExitCode.OK
    targets = _targets(arguments, conversion, ".conf")
    for (path, catalog), text in zip(targets, texts, strict=True):
        written = write_output(path, text)
        session.console.info(
            f"{'written' if written else 'unchanged'} {path}: {counted(len(catalog.records), 'instance')}"
        )
    return ExitCode.OK


def _only_catalog(conversion: Conversion) -> Catalog:
    if len(conversion.catalogs) != 1:
        raise _several(conversion)
    return conversion.catalogs[0]


def _targets(call: argparse.Namespace, conversion: Conversion, suffix: str) -> list[tuple[Path, Catalog]]:
    """Return where each catalog goes: the file itself, or into the folder.

    There it is named after the list, or ``<layout>_<dtype>`` if the list gives several.
    """
    catalogs, path = conversion.catalogs, Path(call.output)
    if path.is_file() and path.samefile(find_list(call.conf)):
        raise UsageError(f"-o {path} is the list itself, which would be lost")
    if len(catalogs) == 1:
        folder = path.is_dir() or call.output.endswith("/")
        return [(path / f"{conversion.path.stem}{suffix}" if folder else path, catalogs[0])]
    if path.is_file() or (path.suffix == suffix and not path.is_dir()):
        raise _several(conversion)
    paths = [path / f"{catalog.layout.name}_{catalog.dtype.value}{suffix}" for catalog in catalogs]
    if len(set(paths)) < len(paths):
        # the same layout and type twice: only the variant distinguishes them
        paths = [
            path.with_stem(f"{path.stem}_{catalog.variant}")
            for path, catalog in zip(paths, catalogs, strict=True)
        ]
    return list(zip(paths, catalogs, strict=True))


def _several(conversion: Conversion) -> UsageError:
    names = ", ".join(f"{one.variant} {one.layout.name} {one.dtype.value}" for one in conversion.catalogs)
    flags = "--dtype" if len({one.dtype for one in conversion.catalogs}) > 1 else "--direction and --lenient"
    return UsageError(
        f"the list gives {len(conversion.catalogs)} catalogs ({names}), one file each: name a folder, "
        f"such as -o {conversion.path.stem}/, or choose one with {flags}"
    )
