"""``ckprof generate``: write the sources without compiling them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields
from ckprof.cli.instance_report import add_export, export_json, report_rejections
from ckprof.errors import ExitCode
from ckprof.formatting import counted
from ckprof.kernels.requests import BuildOptions

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof generate fwd --conf legacy.conf --build-dir sources/
  ckprof generate fwd --rule-set full --arch gfx942 --build-dir sources/ --chunk-size 50
  cmake -S sources -B out && cmake --build out --parallel

Prints the folder: one header and one source per kernel, registration sources, CMakeLists.txt,
compile_commands.json, and manifest.json with everything about the kernels. Files that would not change are
not touched; files of an earlier generation that are gone are removed. Programs that do not name a kernel get
the first one of the list that supports their problem.
"""


#: of the build options, what only source trees have
_FIELDS = ("device", "chunk_size")


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof generate``."""
    parser.epilog = _EPILOG
    parser.set_defaults(typed_instead=shared_options.FOLDER_INSTEAD)
    shared_options.add_instances(parser)
    shared_options.add_build_options(parser)
    group = parser.add_argument_group("output")
    add_fields(group, BuildOptions, *_FIELDS)
    add_export(group)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, an option or the toolchain is wrong, or no instance is left.
    """
    selection = shared_options.chosen_selection(arguments, session, arguments.direction)
    build = shared_options.chosen_build_options(arguments, *_FIELDS, plugin_options=vars(arguments))
    tree, rejected = session.profiler.generate(selection, build)
    report_rejections(rejected, session.console)
    if arguments.export_json:
        export_json(selection, arguments.export_json)
    session.console.info(
        f"generated {counted(len(tree.kernels), 'kernel')}, excluded {len(rejected) + len(selection.invalid)}"
        f"; {counted(len(tree.written), 'file')} written, {len(tree.removed)} removed"
    )
    session.console.result(str(tree.root))
    return ExitCode.FAILED if rejected else ExitCode.OK
