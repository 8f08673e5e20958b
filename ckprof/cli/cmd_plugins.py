"""``ckprof plugins``: works with broken plugins, which is when it is needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.commands import CommandTable, command_table
from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.errors import ExitCode, PluginError, UsageError
from ckprof.kernels.requests import BuildOptions
from ckprof.plugin.manager import LoadedPlugin, Origin
from ckprof.plugin.template import EXAMPLES, write_plugin
from ckprof.report.table import Column, Table

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.plugin.registry import Registry
    from ckprof.testing.contract import ContractCheck

_EPILOG = """\
examples:
  ckprof plugins --new my_family      # a package in ./ckprof-my-family that passes its own tests
  ckprof plugins --new my_guard --kind command    # one with the command my-guard

  ckprof plugins --check mine --conf mine.conf --target hip --device emulated

environment:
  CKPROF_DISABLE_PLUGINS=NAME,NAME   do not load these
  CKPROF_TRACE_HOOKS=1               print every hook call on standard error
"""
#: where the families of a plugin are tried
_WHERE = ("target", "arch", "device")


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof plugins``."""
    parser.epilog = _EPILOG
    add_format(parser)
    parser.add_argument(
        "--new",
        metavar="NAME",
        help="write a package with a plugin: a kernel family of that id or a command of that name, tests and "
        "a pyproject.toml",
    )
    parser.add_argument(
        "--kind",
        choices=tuple(EXAMPLES),
        help="with --new: what the package has, a kernel family with a list, or a command (default: family)",
    )
    parser.add_argument(
        "--dir",
        type=Path,
        metavar="FOLDER",
        help="with --new: where the package's folder ckprof-NAME is made (default: here)",
    )
    parser.add_argument(
        "--check",
        metavar="NAME",
        help="try out each object of one plugin: records, rendering, build and run of an instance, formats, "
        "...; exit code 4 if one fails, 1 if one could not be tried",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="FILE",
        help="with --check: a list with instances of the plugin's families (default: the shipped lists)",
    )
    add_fields(parser.add_argument_group("with --check"), BuildOptions, *_WHERE)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command; exit code 4 when a plugin is broken."""
    if arguments.new is not None:
        return _new(arguments, session)
    if arguments.dir is not None or arguments.kind is not None:
        raise UsageError(f"{'--dir' if arguments.dir is not None else '--kind'} goes with --new")
    if arguments.check is not None:
        return _check(arguments, session)
    if arguments.conf or chosen(arguments, BuildOptions, *_WHERE) != BuildOptions():
        raise UsageError("--conf, --target, --arch and --device go with --check")
    table = plugin_table(session)
    session.console.table(table, arguments.format)
    _, errors = _objects(session.registry)
    for error in errors:
        session.console.error(error)
    found = session.manager.plugins
    broken = session.manager.broken or [row for row in table.rows if row.error and row not in found]
    return ExitCode.PLUGIN if broken or errors else ExitCode.OK


def _objects(registry: Registry) -> tuple[dict[str, dict[str, tuple[str, ...]]], list[str]]:
    """Return plugin -> kind -> ids of what is registered, and what is wrong with whole kinds of objects."""
    objects: dict[str, dict[str, tuple[str, ...]]] = {}
    errors: dict[str, None] = {}
    try:
        kinds = registry.kinds
    except PluginError as error:
        return objects, [str(error)]
    for kind in kinds:
        try:
            entries = registry.entries(kind)
        except PluginError as error:
            errors[str(error)] = None  # one for all kinds if it is of a plugin's registration
            continue
        for id_ in entries.ids:
            of_plugin = objects.setdefault(entries.provider(id_), {})
            of_plugin[kind.name] = (*of_plugin.get(kind.name, ()), id_)
    return objects, list(errors)


def _new(arguments: argparse.Namespace, session: Session) -> ExitCode:
    if arguments.check is not None or arguments.conf:
        raise UsageError("--new goes with neither --check nor --conf")
    registry, name, kind = session.registry, arguments.new, arguments.kind or "family"
    taken = {plugin.name for plugin in session.manager.plugins}
    if kind == "family":
        taken |= {*registry.pipelines.ids, *registry.operations.ids, *registry.string_kinds.ids}
    else:
        taken |= {command.name.replace("-", "_") for command in _commands(session)}
    folder = write_plugin(name, arguments.dir or Path(), taken, kind)
    example = f"run fwd --conf {name}.conf" if kind == "family" else f"{name.replace('_', '-')} --help"
    session.console.result(
        f"wrote {folder}\n\n"
        "next:\n"
        f"  cd {folder}\n"
        "  python -m pytest                      # its tests pass as it is (pip install pytest)\n"
        "  pip install -e .                      # from then on ckprof knows the plugin\n"
        f"  ckprof {example}"
    )
    return ExitCode.OK


def _commands(session: Session) -> CommandTable:
    table = command_table()
    table.add_commands_of(session, "plugins", ())
    return table


def plugin_table(session: Session) -> Table[LoadedPlugin]:
    """Return the table of all plugins that were found, with the commands and objects that each brings."""
    objects, _ = _objects(session.registry)
    table = _commands(session)
    plugins = {plugin.name: plugin for plugin in session.manager.plugins}
    brought: dict[str, list[str]] = {}
    for command in table.all:
        owner = f"{command.owner}.plugin" if f"{command.owner}.plugin" in plugins else command.owner
        brought.setdefault(owner, []).append(command.name)
        own = Origin.BUILTIN if command.is_built_in else Origin.ENTRY_POINT
        row = LoadedPlugin(name=owner, origin=own, location=command.place, distribution=command.owner)
        plugin = plugins.setdefault(owner, row)
        problem = command.error or table.clashes.get(command.name, "")
        if problem and not command.is_built_in:
            plugins[owner] = replace(plugin, error=plugin.error or problem)
    columns: list[Column[LoadedPlugin]] = [
        Column("name", lambda plugin: plugin.name, whole_below=True),
        Column("origin", lambda plugin: plugin.origin.value),
        Column("distribution", lambda plugin: plugin.distribution, priority=3),
        Column("version", lambda plugin: plugin.version, priority=2),
        Column("commands", lambda plugin: " ".join(brought.get(plugin.name, ())), priority=1),
        Column(
            "hooks",
            lambda plugin: " ".join(hook.removeprefix("ckprof_") for hook in plugin.hooks),
            priority=1,
        ),
        Column(
            "objects",
            lambda plugin: "; ".join(
                f"{kind}: {' '.join(ids)}" for kind, ids in objects.get(plugin.name, {}).items()
            ),
            text=lambda plugin: ", ".join(
                f"{kind}: {len(ids)}" if len(ids) > 3 else f"{kind} {' '.join(ids)}"
                for kind, ids in objects.get(plugin.name, {}).items()
            ),
            priority=1,
        ),
        Column("state", lambda plugin: plugin.error or "active", whole_below=True),
    ]
    return Table(columns, list(plugins.values()), elsewhere="--format json has every column")


def _check(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.testing.contract import CheckVerdict
    from ckprof.testing.plugin_check import check_plugin

    build = chosen(arguments, BuildOptions, *_WHERE)
    checks = list(check_plugin(session.profiler, arguments.check, arguments.conf, build))
    columns: list[Column[ContractCheck]] = [
        Column("object", lambda check: check.what),
        Column("check", lambda check: check.check),
        Column("result", lambda check: check.verdict.value),
        Column("detail", lambda check: check.detail, whole_below=True),
    ]
    session.console.table(Table(columns, checks), arguments.format)
    if any(check.verdict is CheckVerdict.FAILED for check in checks):
        return ExitCode.PLUGIN
    if untried := [check.what for check in checks if check.verdict is CheckVerdict.NOT_POSSIBLE]:
        session.console.error(f"not everything could be tried: {', '.join(untried)}")
    return ExitCode.FAILED if untried else ExitCode.OK
