"""``ckprof extract``: instance lists from an installed library."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import write_report
from ckprof.errors import ExitCode, UsageError
from ckprof.formatting import counted
from ckprof.paths import conf_root
from ckprof.report.document import Document
from ckprof.report.table import Column, Table
from ckprof_plugins.extract.lists import (
    ExtractRequest,
    compare_lists,
    comparison_values,
    extract_lists,
    facts,
    remarks,
    write_lists,
)
from ckprof_plugins.extract.protocols import EXTRACTORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.cli.session import Session
    from ckprof_plugins.extract.lists import ExtractionReport, ExtractorOption, ListComparison


_EPILOG = """\
examples:
  ckprof extract                                      # what the installed library has, as a table
  ckprof extract --from /opt/rocm -o lists            # lists/<direction>/<set>/<layout>_<dtype>.conf
  ckprof extract --from libck.deb --direction fwd --layout nhwgc --dtype fp16 --stdout
  ckprof extract --check                              # for CI: what an upgrade added or removed
  ckprof run fwd --conf lists/forward/tests/nhwgc_fp16.conf

The library is searched in $CK_ROOT, $ROCM_PATH, /opt/rocm* (newest first) and /usr. Neither a compiler nor a
GPU is needed. A list that cannot be derived is not written; the others are, and the exit code is 3.
"""
#: --check without a folder
_SHIPPED = ""
#: title, counts and skipped functions
_Row = tuple[str, Mapping[str, int], Mapping[str, int]]


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof extract``."""
    parser.epilog = _EPILOG
    add_fields(parser, ExtractRequest)
    _add_extractor_options(parser, session)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("-o", "--output", type=Path, metavar="DIR", help="write the lists below this folder")
    output.add_argument("--stdout", action="store_true", help="print one list on standard output")
    output.add_argument(
        "--check",
        nargs="?",
        const=_SHIPPED,
        metavar="DIR",
        help="write nothing; compare with the lists of a folder (default: those that ship with ckprof) and "
        "exit with 1 if they differ",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that hold something else")
    parser.add_argument("--remarks", action="store_true", help="begin lists with comments on their origin")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write everything that was found as JSON")


def _add_extractor_options(parser: argparse.ArgumentParser, session: Session) -> None:
    extractors = session.registry.entries(EXTRACTORS)
    if len(extractors) > 1:
        parser.add_argument("--extractor", choices=extractors.ids, default="", help="which library is meant")
    added: set[str] = set()
    for extractor in extractors:
        group = parser.add_argument_group(extractor.label)
        for option in extractor.options:
            if option.name not in added:
                added.add(option.name)
                _add_option(group, option)


def _add_option(group: argparse._ArgumentGroup, option: ExtractorOption) -> None:
    if option.default is False:
        group.add_argument(
            f"--{option.name}", dest=_dest(option.name), action="store_true", default=None, help=option.help
        )
        return
    group.add_argument(
        f"--{option.name}",
        dest=_dest(option.name),
        choices=option.choices or None,
        type=int if isinstance(option.default, int) else str,
        metavar=None if option.choices else "N",
        help=f"{option.help} (default: {option.default})",
    )


def _dest(name: str) -> str:
    return f"extractor_{name}"


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: the library is missing, or a list cannot be derived or written.
    """
    if arguments.output is None and (arguments.overwrite or arguments.remarks) and not arguments.stdout:
        option = "--overwrite" if arguments.overwrite else "--remarks"
        raise UsageError(f"{option} needs -o, the folder of the lists")
    report = extract_lists(session.profiler, _request(arguments, session))
    for note in report.notes:
        session.console.info(f"note: {note}")
    comparisons: tuple[ListComparison, ...] = ()
    if arguments.check is not None:
        folder = conf_root() if arguments.check == _SHIPPED else Path(arguments.check)
        comparisons = compare_lists(report, folder)
    code = _show(report, comparisons, arguments, session)
    if arguments.json is not None:
        values = facts(report)
        values["lines"] = {file.place: list(file.texts) for file in report.files}
        values["comparisons"] = [comparison_values(item) for item in comparisons]
        values["seconds"] = round(report.seconds, 3)
        write_report(f"{json.dumps(values, indent=2)}\n", arguments.json)
    for error in report.failures.values():
        session.console.error(str(error))
    return ExitCode.INPUT if report.failures else code


def _request(arguments: argparse.Namespace, session: Session) -> ExtractRequest:
    name = getattr(arguments, "extractor", "")
    extractors = session.registry.entries(EXTRACTORS)
    asked = [item for item in extractors if not name or item.id == name][:1]
    options = {
        option.name: value
        for extractor in asked
        for option in extractor.options
        if (value := getattr(arguments, _dest(option.name))) is not None
    }
    return chosen(arguments, ExtractRequest, extractor=name, options=options)


def _show(
    report: ExtractionReport,
    comparisons: tuple[ListComparison, ...],
    arguments: argparse.Namespace,
    session: Session,
) -> ExitCode:
    if arguments.stdout:
        meant = len(report.lists) + len(report.absent) + len(report.failures)
        if meant > 1 or len(arguments.set or ()) > 1:
            raise UsageError(
                f"--stdout prints one list of one set, but {counted(meant, 'list')} are meant; "
                "narrow them with --direction, --layout, --dtype and --set"
            )
        for file in report.files[:1]:
            session.console.exact(file.content(remarks(report, file) if arguments.remarks else ()))
        return ExitCode.OK
    if arguments.check is not None:
        for line in comparison_lines(comparisons):
            session.console.result(line)
        return ExitCode.OK if all(item.is_same for item in comparisons) else ExitCode.FAILED
    if arguments.output is not None:
        written = write_lists(
            report, arguments.output, force=arguments.overwrite, with_remarks=arguments.remarks
        )
        changed = sum(written.values())
        session.console.info(
            f"{arguments.output}: {counted(changed, 'file')} written, {len(written) - changed} unchanged"
        )
    session.console.result(summary(report))
    return ExitCode.OK


#: removed lines of one list that are printed with their nearest neighbour
_SHOWN: Final = 20


def change_lines(item: ListComparison) -> Iterator[str]:
    """Yield the verdict on a list, its added lines by function, and what became of removed ones."""
    yield f"{item.place}: {item.verdict}"
    if item.missing:
        return
    for function, lines in item.added.items():
        yield f"  + {len(lines)} {function}"
    for removed in item.removed[:_SHOWN]:
        yield f"  - {removed.text}"
        if removed.nearest:
            changes = "; ".join(f"{name} {old} -> {new}" for name, old, new in removed.changes)
            yield f"    nearest added: {changes}"
    if len(item.removed) > _SHOWN:
        yield f"  - ... and {len(item.removed) - _SHOWN} more"


def summary(report: ExtractionReport) -> Document:
    """Return one row per list, a total, and what the lists come from."""
    total: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for item in report.lists:
        total.update(item.counts)
        skipped.update(item.skipped)
    rows = [(f"{item.direction} {item.name}", item.counts, item.skipped) for item in report.lists]
    columns: list[Column[_Row]] = [
        Column("list", lambda row: row[0]),
        *(_count_column(name) for name in dict.fromkeys(name for _, counts, _ in rows for name in counts)),
        Column("skipped functions", _skipped, priority=1),
    ]
    library = report.library
    origin = " ".join(library[key] for key in ("name", "version", "commit") if key in library)
    origin += f" ({library.get('package') or library.get('source', '')})"
    lines = [f"{origin}: {counted(len(report.lists), 'list')} in {report.seconds:.1f} s"]
    lines += [f"not in this library: {name}" for name in report.absent]
    lines += [f"not derived: {name}" for name in report.failures]
    return Document([Table(columns, [*rows, ("total", total, skipped)]), "\n".join(lines)])


def _count_column(name: str) -> Column[_Row]:
    return Column(name.replace("_", " "), lambda row: row[1][name], align="right")


def _skipped(row: _Row) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(row[2].items()) if number)


def comparison_lines(comparisons: Sequence[ListComparison]) -> Iterator[str]:
    """Yield how each list differs, and a summary."""
    for item in comparisons:
        yield from change_lines(item)
    different = sum(not item.is_same for item in comparisons)
    added = sum(item.added_count for item in comparisons if not item.missing)
    removed_count = sum(len(item.removed) for item in comparisons)
    yield (
        f"{counted(len(comparisons), 'list')}: {len(comparisons) - different} same, {different} different; "
        f"{counted(added, 'line')} added, {removed_count} removed"
    )
