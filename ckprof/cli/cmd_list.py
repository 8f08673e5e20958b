"""``ckprof list``: what there is. Never touches a compiler or a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.cli.cmd_plugins import plugin_table
from ckprof.cli.fields import add_format
from ckprof.cli.instance_report import FORMATS, add_export, export_json, render_instances, render_reasons
from ckprof.cli.outputs import add_output_file
from ckprof.cli.parser import CommandParser
from ckprof.cli.shared_options import add_instance_options, chosen_query
from ckprof.errors import ExitCode, UsageError
from ckprof.lists.list_files import find_lists
from ckprof.model.architecture import architectures
from ckprof.paths import conf_root
from ckprof.report.table import Column, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ckprof.cli.session import Session
    from ckprof.model.architecture import Architecture
    from ckprof.plugin.additions import RegistryEntries

#: what the short help of ``list instances`` shows
_FIRST: Final = (
    *("--conf", "--rule-set", "--direction", "--filter", "--exclude", "--dtype", "--arch", "--why"),
    *("--count", "--format"),
)

_EPILOG = """\
examples:
  ckprof list lists
  ckprof list instances --conf forward/tests/nhwgc_fp16 --filter compv4
  ckprof list instances --conf legacy.conf --arch gfx942 --why
  ckprof list instances --rule-set full --arch gfx942 --direction fwd --count
  ckprof list instances --rule-set full --filter 'tile_n >= 128 and gemm_pipeline == "compv4"' --format names
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof list``."""
    parser.epilog = _EPILOG
    kinds = parser.add_subparsers(dest="kind", metavar="WHAT", required=True, title="what to list")
    for name, (summary, table) in _KINDS.items():
        sub = kinds.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if table is None and isinstance(sub, CommandParser):
            _add_instance_options(sub, session)
            continue
        add_format(sub)


def _add_instance_options(parser: CommandParser, session: Session) -> None:
    add_instance_options(parser)
    group = parser.add_argument_group("architecture and direction")
    group.add_argument(
        "--direction",
        action="append",
        default=[],
        metavar="ID",
        help="insist on lists of this direction; of a rule set, one or several joined by commas or repeated, "
        "which are enumerated in one call (default: all)",
    )
    group.add_argument(
        "--arch",
        metavar="NAME",
        help="exclude what is not valid for this architecture (default for rule sets and instances given "
        "by their tile: that of the settings or of the target)",
    )
    group.add_argument(
        "--target",
        metavar="ID",
        help="where kernels are built and run: see 'ckprof list targets' (default: that of the settings)",
    )
    group = parser.add_argument_group("output")
    group.add_argument("--count", action="store_true", help="print the number of instances only")
    group.add_argument(
        "--why", action="store_true", help="print what is excluded instead, and the rules that it breaks"
    )
    group.add_argument(
        "--format",
        choices=FORMATS,
        default="table",
        help="format of the result (default: table; names: one a line)",
    )
    add_output_file(group)
    add_export(group)
    session.manager.call("ckprof_add_arguments", command="list instances", parser=parser)
    parser.show_first(*_FIRST)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list or an option is wrong.
    """
    _, table = _KINDS[arguments.kind]
    if table is None:
        return _list_instances(arguments, session)
    session.console.table(table(session), arguments.format)
    return ExitCode.OK


def _entries(entries: RegistryEntries[Any], *columns: Column[Any]) -> Table[Any]:
    return Table(
        [
            Column("id", lambda entry: entry.id),
            *columns,
            Column("what", lambda entry: entry.label, whole_below=True),
            Column("plugin", lambda entry: entries.provider(entry.id), priority=1),
        ],
        [*entries],
    )


def _directions(session: Session) -> Table[Any]:
    return _entries(session.registry.operations, Column("aliases", lambda one: ", ".join(one.aliases)))


def _pipelines(session: Session) -> Table[Any]:
    directions: Column[Any] = Column("directions", lambda one: ", ".join(sorted(one.directions)))
    return _entries(session.registry.pipelines, directions)


def _targets(session: Session) -> Table[Any]:
    return _entries(session.registry.targets, Column("default arch", lambda target: target.default_arch))


def _lists(session: Session) -> Table[Path]:
    root = conf_root()
    columns: list[Column[Path]] = [
        Column("list", lambda path: path.relative_to(root).with_suffix("").as_posix()),
        Column("lines", lambda path: path.read_bytes().count(b"\n")),
    ]
    return Table(columns, find_lists(root, None))


def _list_instances(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Print the instances of lists, of a rule set, or given by its tile."""
    if arguments.why and arguments.upstream_defects:
        raise UsageError("--why and --upstream-defects contradict each other: the latter excludes nothing")
    check_arch = arguments.why or arguments.arch is not None
    directions = [part for name in arguments.direction for part in name.split(",")]
    query = chosen_query(arguments, session, directions, check_arch=check_arch)
    chosen = session.profiler.instances(query)
    if arguments.export_json:
        export_json(chosen, arguments.export_json)
    if arguments.count:
        session.console.result(str(len(chosen.invalid if arguments.why else chosen.candidates)))
    elif arguments.why:
        session.console.result(render_reasons(chosen, arguments.format))
    elif chosen.candidates:
        session.console.result(render_instances(chosen, arguments.format))
    if not arguments.why:
        chosen.require()
    return ExitCode.OK


def _archs(session: Session) -> Table[Architecture]:
    columns: list[Column[Architecture]] = [
        Column("name", lambda arch: arch.name),
        Column("lanes", lambda arch: arch.lanes_per_wave),
        Column("LDS", lambda arch: arch.lds_bytes // 1024, unit="KiB"),
        Column(
            "wave grids",
            lambda arch: " ".join("x".join(map(str, grid)) for grid in arch.wave_grids),
            whole_below=True,
        ),
        Column("types", lambda arch: ", ".join(arch.mma_tiles), whole_below=True),
        Column("what", lambda arch: arch.label, whole_below=True),
    ]
    return Table(columns, [*architectures().values()])


#: what can be listed -> what that is, and its table; instances have options of their own
_KINDS: Final[dict[str, tuple[str, Callable[[Session], Table[Any]] | None]]] = {
    "directions": ("what can be computed", _directions),
    "pipelines": ("kernel families", _pipelines),
    "targets": ("where kernels are built and run", _targets),
    "plugins": ("everything that was loaded, and what was not", plugin_table),
    "lists": ("instance lists that ship with ckprof", _lists),
    "rule-sets": (
        "enumerations of instances per architecture",
        lambda session: _entries(session.registry.rule_sets),
    ),
    "archs": ("architectures whose limits are known", _archs),
    "instances": ("the instances of lists or of a rule set", None),
}
