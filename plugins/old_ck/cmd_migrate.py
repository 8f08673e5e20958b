"""``ckprof migrate``: what each line of a list loses and gains when its new kernel replaces its old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import Outputs, add_outputs
from ckprof.cli.run_options import add_problem_options, parsed_problems
from ckprof.errors import ExitCode, UsageError
from ckprof.measure.options import RunOptions
from ckprof_plugins.old_ck.migration import MigrateOptions, lines_of, migrate
from ckprof_plugins.old_ck.migration_report import MIGRATION_FORMATS, migration_document

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG: Final = """\
examples:
  ckprof migrate fwd --conf legacy.conf --target hip --arch gfx942 --device emulated
  ckprof migrate fwd --conf legacy.conf --target hip --arch gfx942 --device emulated --problems p.txt \\
      --gpu MI300X --fail-on support,results,slower=10% --format html -o migrate.html
  ckprof migrate bwd_weight --conf legacy.conf --target hip --arch gfx942 --problems p.txt   # on a GPU

Both kernels of each line are built: the old library's own and the one of CK Tile. They are asked which
problems they support, run on some of them and compared with the reference; their machine code is read, and
the given problems are timed: on a GPU, or predicted on the emulated device. Lines are sorted by what they
lose. Exit code 1 by --fail-on.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof migrate``."""
    parser.epilog = _EPILOG
    shared_options.add_instances(parser)
    add_problem_options(parser)
    group = parser.add_argument_group("comparison")
    add_fields(group, MigrateOptions)
    add_fields(group, RunOptions, "seed", "timeout_s", "device", "checks")
    shared_options.add_build_options(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        default="table",
        choices=MIGRATION_FORMATS.ids,
        help="format of the result (default: table)",
    )
    add_outputs(group)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option or the toolchain is wrong.
    """
    with Outputs(arguments, session, MIGRATION_FORMATS) as outputs:
        query = shared_options.chosen_query(arguments, session, [arguments.direction])
        if not query.conf:
            raise UsageError("name a list with --conf: its lines say what the old kernels are")
        if query.pipelines:
            raise UsageError("--family: both families of a line are compared, no other one")
        operation = session.registry.operation(arguments.direction)
        options = chosen(
            arguments,
            MigrateOptions,
            problems=tuple(parsed_problems(arguments, session, operation)),
            build=shared_options.chosen_build_options(arguments),
            run=chosen(arguments, RunOptions, "seed", "timeout_s", "device", "checks"),
        )
        found = migrate(session.profiler, lines_of(session.profiler, query), options)
        outputs.deliver(found, migration_document)
    if found.failures:
        session.console.info(f"failed: {', '.join(found.failures)}")
    return ExitCode.FAILED if found.failures else ExitCode.OK
