"""``ckprof generate``: write the sources without compiling them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.cli.building import build_dir_for
from ckprof.cli.instance_report import export_json
from ckprof.cli.instances import add_instance_options, chosen_instances, require_instances
from ckprof.codegen.embedding import DEFAULT_CHUNK_SIZE
from ckprof.errors import ExitCode, NothingLeftError

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.flow.kernel_library import Rejection

_EPILOG = """\
examples:
  ckprof generate fwd --conf legacy.conf --keep sources/
  ckprof generate fwd --rule-set full --arch gfx942 --keep sources/ --chunk-size 50
  cmake -S sources -B out && cmake --build out --parallel

Prints the folder: one header and one source per kernel, registration sources, CMakeLists.txt,
compile_commands.json, and manifest.json with everything about the kernels. Files that would not change are
not touched; files of an earlier generation that are gone are removed.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof generate``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, session)
    add_instance_options(parser, session)
    shared_options.add_build_options(parser, session)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--chunk-size",
        type=int,
        metavar="N",
        help=f"kernels per registration source (default: {DEFAULT_CHUNK_SIZE}, or as in the folder)",
    )
    group.add_argument(
        "--export-json",
        type=Path,
        metavar="PATH",
        help="write all fields of the instances to this file as well",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, an option or the toolchain is wrong, or no instance is left.
    """
    from ckprof.flow.kernel_library import generate, split_valid

    direction = shared_options.chosen_direction(arguments, session)
    chosen = chosen_instances(arguments, session, [direction])
    require_instances(chosen)
    target = shared_options.chosen_target(arguments, session)
    build_dir = build_dir_for(
        arguments,
        session,
        chosen.candidates,
        direction,
        target,
        sources_only=True,
        chunk_size=arguments.chunk_size,
    )
    valid = list(chosen.candidates)
    rejected: list[Rejection] = []
    if not chosen.is_checked_for(build_dir.arch, build_dir.recipe.api_level):
        valid, rejected = split_valid(chosen.candidates, build_dir.arch, build_dir.recipe.api_level)
    for rejection in rejected:
        session.console.warning(f"{rejection.candidate.name}: {rejection.reason}")
    if not valid:
        raise NothingLeftError(f"no instance of {chosen.source} is valid for {build_dir.arch}")
    with build_dir.lock:
        tree, _ = generate(valid, build_dir, keep_invalid=True)
    if arguments.export_json:
        export_json(chosen, arguments.export_json)
    invalid = len(rejected) + len(chosen.invalid)
    session.console.info(
        f"generated {len(tree.kernels)} kernels, left out {invalid}; "
        f"{len(tree.written)} files written, {len(tree.removed)} removed"
    )
    session.console.result(str(tree.root))
    return ExitCode.FAILED if rejected else ExitCode.OK
