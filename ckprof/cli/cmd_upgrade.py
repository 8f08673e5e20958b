"""``ckprof upgrade``: what changes from one library or compiler to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import Outputs, add_outputs
from ckprof.cli.run_options import add_problem_options, given_problems, parsed_problems
from ckprof.cli.shared_options import add_instance_options, chosen_query
from ckprof.consumers.requests import DeviceChoice
from ckprof.consumers.upgrade import upgrade
from ckprof.consumers.upgrade_call import UpgradeCall
from ckprof.errors import ExitCode, UsageError
from ckprof.report.upgrade_formats import UPGRADE_FORMATS, upgrade_document

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.kernels.choose import Selection
    from ckprof.model.problem_case import ProblemCase

_EPILOG = """\
examples:
  ckprof upgrade --old /opt/rocm-6.4 --new /opt/rocm-7.2                 # lists of both libraries
  ckprof upgrade --old old.deb --new new.deb --database ~/.config/miopen # and which rows they affect
  ckprof upgrade bwd_weight --old ck-july --new ck-november --conf legacy.conf --target hip --arch gfx942 \\
      --problems problems.txt
  ckprof upgrade fwd --old clang++-19 --new clang++-22 --conf legacy.conf --target hip --arch gfx942

Nothing is run. Lists are derived as by 'ckprof extract'; kernels are compiled for both sides and compared as
by 'ckprof inspect --diff'; problems are asked about as by 'ckprof check-support'; databases are judged as by
'ckprof audit', by the lists of either side. What a side does not have is told and not compared. Exit code 0:
nothing is affected, 1: something has changed that --fail-on names, 2: wrong usage, 3: a side or a database
that cannot be read, 5: kernels that cannot be built.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof upgrade``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, optional=True)
    group = parser.add_argument_group("sides")
    add_fields(group, UpgradeCall, "old", "new", "databases")
    add_instance_options(parser)
    add_problem_options(parser)
    shared_options.add_build_options(parser)
    add_fields(parser.add_argument_group("device of the databases"), DeviceChoice, "compute_units")
    group = parser.add_argument_group("result")
    add_fields(group, UpgradeCall, "fail_on")
    group.add_argument(
        "--format",
        default="text",
        choices=UPGRADE_FORMATS.ids,
        help="format of the result (default: text); text shows some changes of each kind",
    )
    add_outputs(group)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a side, a database, a list, an option or the toolchain is wrong.
    """
    selection = _selection(arguments, session)
    problems: tuple[ProblemCase, ...] = ()
    if selection is not None:
        operation = session.registry.operation(selection.direction)
        problems = tuple(parsed_problems(arguments, session, operation))
    elif given_problems(arguments, session) or arguments.problems:
        raise UsageError("problems are asked about of kernels: name some with --conf or --rule-set")
    call = chosen(
        arguments,
        UpgradeCall,
        selection=selection,
        problems=problems,
        build=shared_options.chosen_build_options(arguments),
        device=DeviceChoice(arch=arguments.arch or "", compute_units=arguments.compute_units),
    )
    with Outputs(arguments, session, UPGRADE_FORMATS) as outputs:
        found = upgrade(session.profiler, call)
        fitted = outputs.format.id == "text"
        outputs.deliver(found, (lambda: session.console.result(upgrade_document(found))) if fitted else None)
    return ExitCode.OK if found.passed else ExitCode.FAILED


def _selection(arguments: argparse.Namespace, session: Session) -> Selection | None:
    if not arguments.conf and not arguments.rule_set:
        if arguments.direction:
            raise UsageError("a DIRECTION is of kernels that are built: name some with --conf or --rule-set")
        return None
    directions = [arguments.direction] if arguments.direction else []
    if arguments.rule_set and not directions:
        raise UsageError("--rule-set needs a DIRECTION")
    return session.profiler.instances(chosen_query(arguments, session, directions)).require()
