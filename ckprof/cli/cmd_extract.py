"""``ckprof extract``: instance lists from an installed library."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.extract_report import comparison_lines, summary
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.report_file import write_report
from ckprof.errors import ExitCode, UsageError
from ckprof.model.extraction import ExtractRequest
from ckprof.paths import conf_root
from ckprof.wording import counted

if TYPE_CHECKING:
    from ckprof.cli.session import Session
    from ckprof.model.extraction import ExtractionReport, ExtractorOption, ListComparison

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
    extractors = session.registry.extractors
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
    report = session.profiler.extract(_request(arguments, session))
    for note in report.notes:
        session.console.info(f"note: {note}")
    comparisons: tuple[ListComparison, ...] = ()
    if arguments.check is not None:
        folder = conf_root() if arguments.check == _SHIPPED else Path(arguments.check)
        comparisons = session.profiler.compare_lists(report, folder)
    code = _show(report, comparisons, arguments, session)
    if arguments.json is not None:
        _write_json(report, comparisons, arguments.json)
    for error in report.failures.values():
        session.console.error(str(error))
    return ExitCode.INPUT if report.failures else code


def _request(arguments: argparse.Namespace, session: Session) -> ExtractRequest:
    name = getattr(arguments, "extractor", "")
    extractors = session.registry.extractors
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
        _print_list(report, arguments, session)
        return ExitCode.OK
    if arguments.check is not None:
        for line in comparison_lines(comparisons):
            session.console.result(line)
        return ExitCode.OK if all(item.is_same for item in comparisons) else ExitCode.FAILED
    if arguments.output is not None:
        written = session.profiler.write_lists(
            report, arguments.output, force=arguments.overwrite, with_remarks=arguments.remarks
        )
        changed = sum(item.written for item in written)
        session.console.info(
            f"{arguments.output}: {counted(changed, 'file')} written, {len(written) - changed} unchanged"
        )
    session.console.result(summary(report))
    return ExitCode.OK


def _print_list(report: ExtractionReport, arguments: argparse.Namespace, session: Session) -> None:
    from ckprof.lists.extraction import remarks

    meant = len(report.lists) + len(report.absent) + len(report.failures)
    if meant > 1 or len(arguments.set or ()) > 1:
        raise UsageError(
            f"--stdout prints one list of one set, but {counted(meant, 'list')} are meant; "
            "narrow them with --direction, --layout, --dtype and --set"
        )
    if not report.files:
        return
    file = report.files[0]
    session.console.exact(file.content(remarks(report, file) if arguments.remarks else ()))


def _write_json(report: ExtractionReport, comparisons: tuple[ListComparison, ...], path: Path) -> None:
    from ckprof.lists.extraction import comparison_values, facts

    values = facts(report)
    values["lines"] = {file.place: list(file.texts) for file in report.files}
    values["comparisons"] = [comparison_values(item) for item in comparisons]
    values["seconds"] = round(report.seconds, 3)
    write_report(f"{json.dumps(values, indent=2)}\n", path)
