"""``ckprof list``: what there is. Never touches a compiler or a device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tabulate import tabulate

from ckprof.arch.architectures import architectures
from ckprof.cli.cmd_plugins import plugin_rows
from ckprof.cli.instance_report import FORMATS, export_json, render_instances, render_reasons
from ckprof.cli.instances import add_instance_options, chosen_query, split_names
from ckprof.errors import ExitCode, UsageError
from ckprof.paths import conf_root

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session

_KINDS = {
    "directions": "what can be computed",
    "pipelines": "kernel families",
    "targets": "where kernels are built and run",
    "plugins": "everything that was loaded, and what was not",
    "lists": "instance lists that ship with ckprof",
    "rule-sets": "enumerations of instances per architecture",
    "archs": "architectures whose limits are known",
    "instances": "the instances of lists or of a rule set",
}

_EPILOG = """\
examples:
  ckprof list pipelines
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
    for name, summary in _KINDS.items():
        sub = kinds.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == "instances":
            _add_instance_options(sub, session)
            continue
        sub.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def _add_instance_options(parser: argparse.ArgumentParser, session: Session) -> None:
    add_instance_options(parser, session)
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
        help="leave out what is not valid for this architecture (default for rule sets and instances given "
        "by their tile: that of the settings or of the target)",
    )
    group.add_argument("--target", metavar="ID", help="target whose architecture is the default")
    group = parser.add_argument_group("output")
    group.add_argument("--count", action="store_true", help="print the number of instances only")
    group.add_argument(
        "--why", action="store_true", help="print what is left out instead, and the rules that it breaks"
    )
    group.add_argument(
        "--format", choices=FORMATS, default="table", help="names: one a line (default: table)"
    )
    group.add_argument(
        "--export-json",
        type=Path,
        metavar="PATH",
        help="write all fields of the instances to this file as well",
    )
    session.manager.call("ckprof_add_arguments", command="list instances", parser=parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list or an option is wrong.
    """
    if arguments.kind == "instances":
        return _list_instances(arguments, session)
    headers, rows = _LISTERS[arguments.kind](arguments, session)
    if arguments.format == "json":
        session.console.result(json.dumps([dict(zip(headers, row, strict=True)) for row in rows], indent=2))
    else:
        session.console.result(tabulate(rows, headers=headers, disable_numparse=True))
    return ExitCode.OK


_Table = tuple["Sequence[str]", "list[tuple[object, ...]]"]


def _directions(arguments: argparse.Namespace, session: Session) -> _Table:
    entries = session.registry.operations
    return ("id", "aliases", "what", "plugin"), [
        (d.id, ", ".join(d.aliases), d.label, entries.provider(d.id)) for d in entries
    ]


def _pipelines(arguments: argparse.Namespace, session: Session) -> _Table:
    entries = session.registry.pipelines
    return ("id", "directions", "what", "plugin"), [
        (p.id, ", ".join(sorted(p.directions)), p.label, entries.provider(p.id)) for p in entries
    ]


def _targets(arguments: argparse.Namespace, session: Session) -> _Table:
    entries = session.registry.targets
    return ("id", "default arch", "what", "plugin"), [
        (t.id, t.default_arch, t.label, entries.provider(t.id)) for t in entries
    ]


def _lists(arguments: argparse.Namespace, session: Session) -> _Table:
    root = conf_root()
    paths = sorted(root.rglob("*.conf"))
    return ("list", "lines"), [
        (path.relative_to(root).with_suffix("").as_posix(), path.read_bytes().count(b"\n")) for path in paths
    ]


def _list_instances(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Print the instances of lists, of a rule set, or given by its tile.

    :raises NothingLeftError: there is none.
    """
    if arguments.why and arguments.upstream_defects:
        raise UsageError("--why and --upstream-defects contradict each other: the latter leaves nothing out")
    check_arch = arguments.why or arguments.arch is not None
    query = chosen_query(arguments, session, split_names(arguments.direction), check_arch=check_arch)
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


def _rule_sets(arguments: argparse.Namespace, session: Session) -> _Table:
    entries = session.registry.rule_sets
    return ("id", "what", "plugin"), [(r.id, r.label, entries.provider(r.id)) for r in entries]


def _archs(arguments: argparse.Namespace, session: Session) -> _Table:
    return ("name", "lanes", "LDS [KiB]", "wave grids", "types", "what"), [
        (
            arch.name,
            arch.lanes_per_wave,
            arch.lds_bytes // 1024,
            " ".join("x".join(map(str, grid)) for grid in arch.wave_grids),
            ", ".join(arch.mma_tiles),
            arch.label,
        )
        for arch in architectures().values()
    ]


_LISTERS = {
    "rule-sets": _rule_sets,
    "archs": _archs,
    "directions": _directions,
    "pipelines": _pipelines,
    "targets": _targets,
    "plugins": plugin_rows,
    "lists": _lists,
}
