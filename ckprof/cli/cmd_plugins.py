"""``ckprof plugins``: works with broken plugins, which is when it is needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tabulate import tabulate

from ckprof.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session

_EPILOG = """\
environment:
  CKPROF_DISABLE_PLUGINS=NAME,NAME   do not load these
  CKPROF_TRACE_HOOKS=1               print every hook call on standard error
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof plugins``."""
    parser.epilog = _EPILOG
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")
    parser.add_argument(
        "--check",
        metavar="NAME",
        help="try out the whole contract of one plugin: records, rendering, build, run of an instance",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="FILE",
        help="with --check: a list with instances of the plugin's families (default: the shipped lists)",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command; exit code 4 when a plugin is broken."""
    if arguments.check is not None:
        return _check(arguments, session)
    if arguments.conf:
        raise UsageError("--conf goes with --check")
    headers, rows = plugin_rows(arguments, session)
    _show(arguments, session, headers, rows)
    return ExitCode.PLUGIN if session.manager.broken else ExitCode.OK


def plugin_rows(
    arguments: argparse.Namespace, session: Session
) -> tuple[Sequence[str], list[tuple[object, ...]]]:
    """Return the table of all plugins that were found."""
    return ("name", "origin", "distribution", "version", "hooks", "state"), [
        (
            plugin.name,
            plugin.origin.value,
            plugin.distribution,
            plugin.version,
            " ".join(hook.removeprefix("ckprof_") for hook in plugin.hooks),
            plugin.error or "active",
        )
        for plugin in session.manager.plugins
    ]


def _check(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.api.plugin_check import Verdict, check_plugin

    checks = list(check_plugin(session.profiler, arguments.check, arguments.conf))
    rows: list[tuple[object, ...]] = [(one.what, one.check, one.verdict.value, one.detail) for one in checks]
    _show(arguments, session, ("object", "check", "result", "detail"), rows)
    failed = any(one.verdict is Verdict.FAILED for one in checks)
    return ExitCode.PLUGIN if failed else ExitCode.OK


def _show(
    arguments: argparse.Namespace,
    session: Session,
    headers: Sequence[str],
    rows: Sequence[tuple[object, ...]],
) -> None:
    if arguments.format == "json":
        session.console.result(json.dumps([dict(zip(headers, row, strict=True)) for row in rows], indent=2))
    else:
        session.console.result(tabulate(rows, headers=headers, disable_numparse=True))
