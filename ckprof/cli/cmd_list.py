"""``ckprof list``: what there is. Never touches a compiler or a device."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tabulate import tabulate

from ckprof.cli import options
from ckprof.cli.cmd_plugins import plugin_rows
from ckprof.errors import ExitCode
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
    "instances": "the instances of a list",
}

_EPILOG = """\
examples:
  ckprof list pipelines
  ckprof list lists
  ckprof list instances --conf forward/tests/nhwgc_fp16 --filter compv4
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof list``."""
    parser.epilog = _EPILOG
    kinds = parser.add_subparsers(dest="kind", metavar="WHAT", required=True, title="what to list")
    for name, summary in _KINDS.items():
        sub = kinds.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == "instances":
            options.add_list_options(sub)
            sub.add_argument("--direction", metavar="ID", help="insist on a list of this direction")
        sub.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list or an option is wrong.
    """
    headers, rows = _LISTERS[arguments.kind](arguments, session)
    if arguments.format == "json":
        session.console.result(json.dumps([dict(zip(headers, row, strict=True)) for row in rows], indent=2))
    else:
        session.console.result(tabulate(rows, headers=headers, disable_numparse=True))
    return ExitCode.OK


_Table = tuple["Sequence[str]", "list[tuple[object, ...]]"]


def _directions(arguments: argparse.Namespace, session: Session) -> _Table:
    shelf = session.registry.directions
    return ("id", "aliases", "what", "plugin"), [
        (d.id, ", ".join(d.aliases), d.label, shelf.owner(d.id)) for d in shelf
    ]


def _pipelines(arguments: argparse.Namespace, session: Session) -> _Table:
    shelf = session.registry.pipelines
    return ("id", "directions", "what", "plugin"), [
        (p.id, ", ".join(sorted(p.directions)), p.label, shelf.owner(p.id)) for p in shelf
    ]


def _targets(arguments: argparse.Namespace, session: Session) -> _Table:
    shelf = session.registry.targets
    return ("id", "default arch", "what", "plugin"), [
        (t.id, t.default_arch, t.label, shelf.owner(t.id)) for t in shelf
    ]


def _lists(arguments: argparse.Namespace, session: Session) -> _Table:
    root = conf_root()
    paths = sorted(root.rglob("*.conf"))
    return ("list", "lines"), [
        (path.relative_to(root).with_suffix("").as_posix(), path.read_bytes().count(b"\n")) for path in paths
    ]


def _instances(arguments: argparse.Namespace, session: Session) -> _Table:
    direction = session.registry.direction(arguments.direction) if arguments.direction else None
    conversions = options.read_lists(arguments, session, direction)
    candidates = options.selected_candidates(arguments, session, conversions)
    return ("instance", "pipeline", "name", "instance string", "source"), [
        (c.index, c.pipeline.id, c.name, c.instance_string, c.source) for c in candidates
    ]


_LISTERS = {
    "directions": _directions,
    "pipelines": _pipelines,
    "targets": _targets,
    "plugins": plugin_rows,
    "lists": _lists,
    "instances": _instances,
}
