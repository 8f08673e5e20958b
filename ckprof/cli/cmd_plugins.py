"""``ckprof plugins``: works with broken plugins, which is when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli.fields import add_format
from ckprof.errors import ExitCode, UsageError
from ckprof.report.table import Column, Table

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.plugin.manager import LoadedPlugin
    from ckprof.testing.plugin_check import ContractCheck

_EPILOG = """\
environment:
  CKPROF_DISABLE_PLUGINS=NAME,NAME   do not load these
  CKPROF_TRACE_HOOKS=1               print every hook call on standard error
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof plugins``."""
    parser.epilog = _EPILOG
    add_format(parser)
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
    session.console.table(plugin_table(session), arguments.format)
    return ExitCode.PLUGIN if session.manager.broken else ExitCode.OK


def plugin_table(session: Session) -> Table[LoadedPlugin]:
    """Return the table of all plugins that were found."""
    columns: list[Column[LoadedPlugin]] = [
        Column("name", lambda plugin: plugin.name, whole_below=True),
        Column("origin", lambda plugin: plugin.origin.value),
        Column("distribution", lambda plugin: plugin.distribution, priority=3),
        Column("version", lambda plugin: plugin.version, priority=2),
        Column(
            "hooks",
            lambda plugin: " ".join(hook.removeprefix("ckprof_") for hook in plugin.hooks),
            priority=1,
        ),
        Column("state", lambda plugin: plugin.error or "active", whole_below=True),
    ]
    return Table(columns, session.manager.plugins, elsewhere="--format json has every column")


def _check(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.testing.plugin_check import Verdict, check_plugin

    checks = list(check_plugin(session.profiler, arguments.check, arguments.conf))
    columns: list[Column[ContractCheck]] = [
        Column("object", lambda check: check.what),
        Column("check", lambda check: check.check),
        Column("result", lambda check: check.verdict.value),
        Column("detail", lambda check: check.detail, whole_below=True),
    ]
    session.console.table(Table(columns, checks), arguments.format)
    failed = any(check.verdict is Verdict.FAILED for check in checks)
    return ExitCode.PLUGIN if failed else ExitCode.OK
