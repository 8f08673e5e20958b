"""What predictions add to commands of others: the options of ``sweep``, and what runs instead."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ckprof.cli.parser import CommandParser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from ckprof.cli.session import Session

    Instead: TypeAlias = "Callable[[argparse.Namespace, Session], int | None]"

_STORED: Final = "ckprof_plugins.tuning.stored.commands"
#: command -> module and function that does its work for predictions
_INSTEAD: Final = {
    "results": (_STORED, "show_results"),
    "report": (_STORED, "show_report"),
    "compare": (_STORED, "compare_stores"),
    "inspect": ("ckprof_plugins.tuning.gate.command", "run_page"),
}


def add_options(command: str, parser: argparse.ArgumentParser) -> None:
    """Add what predictions need to a command."""
    before: Instead | None = parser.get_default("instead")
    if command == "sweep":
        group = parser.add_argument_group("predictions")
        group.add_argument(
            "--predict",
            action="store_true",
            help="store times that follow from the kernels' machine code, as 'ckprof predict' says them; "
            "nothing is run or measured",
        )
        group.add_argument(
            "--gpu", metavar="NAME", help="product whose times are predicted, e.g. MI300X (of --predict)"
        )
        if isinstance(parser, CommandParser):
            parser.first = (*parser.first, "--predict") if parser.first else parser.first

    def instead(arguments: argparse.Namespace, session: Session) -> int | None:
        code = before(arguments, session) if before is not None else None
        if code is not None:
            return code
        if command == "sweep":
            from ckprof_plugins.tuning.stored.commands import predict_sweep

            return predict_sweep(arguments, session, _measuring(parser, arguments))
        module, function = _INSTEAD[command]
        found: int | None = getattr(import_module(module), function)(arguments, session)
        return found

    parser.set_defaults(instead=instead)


def _measuring(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> list[str]:
    """Return the options that were typed and mean nothing where nothing is measured."""
    from ckprof.cli import shared_options
    from ckprof.cli.fields import add_fields
    from ckprof.cli.run_options import add_problem_options
    from ckprof.sweep.requests import SweepOptions
    from ckprof_plugins.tuning.options import PredictOptions

    known = CommandParser(add_help=False)
    shared_options.add_instances(known, optional=True)
    add_problem_options(known)
    add_fields(known, PredictOptions, "gpu", "splits")
    add_fields(known, SweepOptions, "store", "fresh", "retry_failed", "max_time_s", "wait", "tags")
    shared_options.add_build_options(known)
    kept = {action.dest for action in known.all_actions()} | {"predict", "dry_run"}
    actions: Iterable[argparse.Action] = parser.all_actions() if isinstance(parser, CommandParser) else ()
    return [
        action.option_strings[-1]
        for action in actions
        if action.option_strings
        and action.dest not in kept
        and action.default is not argparse.SUPPRESS
        and getattr(arguments, action.dest, action.default) != action.default
    ]
