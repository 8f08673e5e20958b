"""``ckprof build``: compile the kernels of a list into a shared library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.building import build_candidates
from ckprof.cli.instances import add_instance_options, chosen_instances, require_instances
from ckprof.errors import ExitCode
from ckprof.model.recipe import Purpose

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.instances import Chosen
    from ckprof.cli.session import Session
    from ckprof.plugin.protocols import Direction, Target

_EPILOG = """\
example:
  ckprof build fwd --conf legacy.conf --keep build/

Prints the path of the library; on a target whose device is not there, of the folder with the code objects
(see 'ckprof inspect'). Kernels that do not compile are reported one by one and left out of it.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof build``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, session)
    add_instance_options(parser, session)
    shared_options.add_build_options(parser, session)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--link",
        action="store_true",
        help="build the tree of 'ckprof generate' with CMake: a shared library for programs that register or "
        "call the kernels, with device code, whether or not they can be run here",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, an option or the toolchain is wrong.
    """
    direction = shared_options.chosen_direction(arguments, session)
    chosen = chosen_instances(arguments, session, [direction])
    require_instances(chosen)
    target = shared_options.chosen_target(arguments, session)
    if arguments.link:
        return _link(arguments, session, chosen, direction, target)
    return build_and_report(arguments, session, chosen, direction, target)


def _link(
    arguments: argparse.Namespace,
    session: Session,
    chosen: Chosen,
    direction: Direction,
    target: Target,
) -> ExitCode:
    from ckprof.cli.building import build_dir_for
    from ckprof.flow.cmake_build import build_with_cmake
    from ckprof.flow.kernel_library import generate

    build_dir = build_dir_for(arguments, session, chosen.candidates, direction, target, embed=True)
    with build_dir.lock:
        tree, rejected = generate(chosen.candidates, build_dir, keep_invalid=chosen.keep_invalid)
        for rejection in rejected:
            session.console.warning(f"{rejection.candidate.name}: {rejection.reason}")
        if not tree.kernels:
            return ExitCode.FAILED
        jobs = arguments.jobs or session.settings.jobs
        with session.console.progress("build") as progress:
            library = build_with_cmake(tree, build_dir.recipe, jobs=jobs, on_progress=progress.update)
    session.console.result(str(library))
    return ExitCode.OK


def build_and_report(
    arguments: argparse.Namespace,
    session: Session,
    chosen: Chosen,
    direction: Direction,
    target: Target,
) -> ExitCode:
    """Build the instances and print where the result lies.

    :raises CkprofError: the toolchain or the build system failed.
    """
    library = build_candidates(
        arguments,
        session,
        chosen.candidates,
        direction,
        target,
        keep_invalid=chosen.keep_invalid,
        purpose=Purpose.BUILD,
    )
    for rejection in library.rejected:
        session.console.warning(f"{rejection.status.value}: {rejection.candidate.name}: {rejection.reason}")
    for name, seconds in library.summary.slowest[:5]:
        session.console.detail(f"{seconds:6.2f} s  {name}")
    made = library.path or library.code_objects
    if made is None:
        return ExitCode.FAILED
    session.console.result(str(made))
    return ExitCode.FAILED if any(r.status.is_failure for r in library.rejected) else ExitCode.OK
