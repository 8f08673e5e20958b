"""``ckprof build``: compile the kernels of a list into a shared library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields
from ckprof.cli.instance_report import report_rejections
from ckprof.errors import ExitCode
from ckprof.kernels.requests import BuildOptions

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.kernels.choose import Selection

_EPILOG = """\
example:
  ckprof build fwd --conf legacy.conf --build-dir build/

Prints the path of the library; on a target whose device is not there, of the folder with the code objects
(see 'ckprof inspect'). Kernels that do not compile are reported one by one and excluded.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof build``."""
    parser.epilog = _EPILOG
    parser.set_defaults(typed_instead=shared_options.FOLDER_INSTEAD)
    shared_options.add_instances(parser)
    shared_options.add_build_options(parser)
    group = parser.add_argument_group("output")
    add_fields(group, BuildOptions, "device")
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
    selection = shared_options.chosen_selection(arguments, session, arguments.direction)
    build = shared_options.chosen_build_options(arguments, "device")
    if not arguments.link:
        return build_and_report(session, selection, build)
    library, rejected = session.profiler.link(selection, build)
    report_rejections(rejected, session.console)
    if library is None:
        return ExitCode.FAILED
    session.console.result(str(library))
    return ExitCode.OK


def build_and_report(session: Session, selection: Selection, build: BuildOptions) -> ExitCode:
    """Build the instances and print where the result lies.

    :raises CkprofError: the toolchain or the build system failed.
    """
    library = session.profiler.build(selection, build, run=False)
    report_rejections(library.rejected, session.console)
    for name, seconds in library.summary.slowest[:5]:
        session.console.detail(f"{seconds:6.2f} s  {name}")
    made = library.path or library.code_objects
    if made is None:
        return ExitCode.FAILED
    session.console.result(str(made))
    return ExitCode.FAILED if any(r.status.is_failure for r in library.rejected) else ExitCode.OK
