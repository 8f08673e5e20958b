"""Options that ``parity`` and ``diff`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.errors import ExitCode, UsageError
from ckprof.model.parity import DEFAULT_FAIL_ON, ParityFinding
from ckprof.strings.revision import all_revisions, default_revision

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.model.parity import ParityReport


def add_comparison_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add what decides how strings are compared and reported."""
    group = parser.add_argument_group("comparison")
    formats = session.registry.parity_formats
    group.add_argument(
        "--format",
        default="table",
        metavar="ID",
        help="output format (default: table): " + "; ".join(f"{f.id}: {f.label}" for f in formats),
    )
    group.add_argument(
        "--fail-on",
        metavar="LIST",
        help="what makes the command exit with 1, separated by commas: "
        f"{', '.join(trouble.value for trouble in ParityFinding)}, or none "
        f"(default: {','.join(trouble.value for trouble in DEFAULT_FAIL_ON)})",
    )
    known = "; ".join(f"{revision.name}: {revision.note}" for revision in all_revisions())
    group.add_argument(
        "--revision",
        metavar="NAME",
        help=f"CK revision whose strings CK Builder prints (default: {default_revision().name}): {known}",
    )


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add how lists are read."""
    group = parser.add_argument_group("lists")
    shared_options.add_reading_options(group)
    group.add_argument(
        "--mma-k-table",
        metavar="A/B",
        help="K of the half types' MMA tiles, for 32-wide and for all others (default: 16/32; "
        "upstream's committed catalogs have 8/16)",
    )


def chosen_findings(arguments: argparse.Namespace) -> tuple[ParityFinding, ...]:
    """Return what fails the command.

    :raises UsageError: a word is unknown.
    """
    if arguments.fail_on is None:
        return DEFAULT_FAIL_ON
    known = {trouble.value: trouble for trouble in ParityFinding}
    words = [word.strip() for word in arguments.fail_on.split(",") if word.strip()]
    if words == ["none"]:
        return ()
    for word in words:
        if word not in known:
            raise UsageError(f"--fail-on: unknown {word!r}, expected {', '.join(known)} or none")
    if not words:
        raise UsageError(f"--fail-on: expected {', '.join(known)} or none")
    return tuple(trouble for trouble in ParityFinding if trouble.value in words)


def print_report(arguments: argparse.Namespace, session: Session, report: ParityReport) -> ExitCode:
    """Print the comparisons and return whether they are fine.

    :raises UsageError: there is no such format.
    """
    session.console.exact(session.registry.parity_formats.find(arguments.format).render(report))
    return ExitCode.OK if report.passed else ExitCode.FAILED
