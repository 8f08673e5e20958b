"""The sources of chosen instances: written for a build, or for programs that bring their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ckprof.errors import NothingLeftError, PluginError
from ckprof.kernels.build_dir import build_dir_for
from ckprof.kernels.machine_parts import make_parts
from ckprof.kernels.source.source_tree import TreeRequest, generate_tree
from ckprof.kernels.validity import CheckedInstances, check_validity
from ckprof.model.recipe import Purpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.requests import BuildOptions
    from ckprof.kernels.source.source_tree import SourceTree
    from ckprof.kernels.validity import Rejection
    from ckprof.plugin.protocols import KernelRanking
    from ckprof.session import Session


def generate_sources(
    session: Session, selection: Selection, options: BuildOptions
) -> tuple[SourceTree, list[Rejection]]:
    """Write the sources of a selection without compiling them.

    :returns: the tree, and the candidates that a rule rejects.
    :raises NothingLeftError: no instance is valid.
    :raises CkprofError: no toolchain, or the folder cannot be written.
    """
    build_dir = build_dir_for(session, selection.candidates, options, Purpose.RUN, sources_only=True)
    checked = CheckedInstances(valid=selection.candidates)
    if not selection.is_checked_for(build_dir.arch, build_dir.recipe.api_level):
        checked = check_validity(selection.candidates, build_dir.arch, build_dir.recipe.api_level)
    if not checked.valid:
        raise NothingLeftError(f"no instance of {selection.source} is valid for {build_dir.arch}")
    build_dir = _ranked(session, options, build_dir, checked.valid)
    # what another build system will link with
    make_parts(session, build_dir.recipe, options.jobs or session.settings.jobs)
    with build_dir.lock:
        tree, _ = generate(checked.valid, build_dir, keep_invalid=True)
    return tree, list(checked.invalid)


def _ranked(
    session: Session, options: BuildOptions, build_dir: BuildDir, candidates: Sequence[Candidate]
) -> BuildDir:
    """Return a folder whose registry and C functions choose kernels as a plugin ranks them, if one does.

    :raises PluginError: several plugins do.
    """
    rankings = session.manager.call(
        "ckprof_rank_kernels",
        arguments=options.plugin_options,
        session=session,
        build_dir=build_dir,
        candidates=candidates,
    )
    if not rankings or build_dir.embedding is None:
        return build_dir
    if len(rankings) > 1:
        names = " and ".join(name for name, _ in rankings)
        raise PluginError(f"{names} both rank the kernels: leave the options of one of them out")
    ranking = cast("KernelRanking", rankings[0][1])
    return replace(build_dir, embedding=replace(build_dir.embedding, ranking=ranking))


def generate(
    candidates: Sequence[Candidate], build_dir: BuildDir, *, keep_invalid: bool = False
) -> tuple[SourceTree, list[Rejection]]:
    """Write the sources of all valid candidates.

    :param keep_invalid: write those that a rule rejects as well.
    :returns: the tree, and the candidates that were left out because a rule rejects them.
    """
    checked = CheckedInstances(valid=tuple(candidates))
    if not keep_invalid:
        checked = check_validity(candidates, build_dir.arch, build_dir.recipe.api_level)
    tree = generate_tree(
        TreeRequest(
            root=build_dir.root,
            library_name=build_dir.direction.interface.library,
            direction=build_dir.direction,
            arch=build_dir.arch,
            api_level=build_dir.recipe.api_level,
            target=build_dir.recipe.target,
            candidates=checked.valid,
            embedding=build_dir.embedding,
        )
    )
    return tree, list(checked.invalid)
