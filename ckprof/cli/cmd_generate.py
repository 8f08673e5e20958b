"""``ckprof generate``: write the sources without compiling them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli import options
from ckprof.cli.building import place_for
from ckprof.cli.instances import add_instance_options, chosen_instances, require_instances
from ckprof.errors import ExitCode, NothingLeftError

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG = """\
example:
  ckprof generate fwd --conf legacy.conf --keep sources/

Prints the folder: one header and one source per kernel, and manifest.json with everything about them.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof generate``."""
    parser.epilog = _EPILOG
    options.add_direction(parser, session)
    add_instance_options(parser, session)
    options.add_build_options(parser, session)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, an option or the toolchain is wrong.
    """
    from ckprof.flow.library import generate

    direction = options.chosen_direction(arguments, session)
    chosen = chosen_instances(arguments, session, [direction])
    require_instances(chosen)
    candidates = chosen.candidates
    target = options.chosen_target(arguments, session)
    place = place_for(arguments, session, candidates, direction, target)
    with place.lock:
        tree, rejected = generate(candidates, place, keep_refused=chosen.keep_refused)
    for rejection in rejected:
        session.console.warning(f"{rejection.candidate.name}: {rejection.reason}")
    if not tree.kernels:
        raise NothingLeftError(f"no instance of {chosen.source} is valid for {place.arch}")
    session.console.info(f"generated {len(tree.kernels)} kernels, left out {len(rejected)}")
    session.console.result(str(tree.root))
    return ExitCode.FAILED if rejected else ExitCode.OK
