"""Generation and build as ``run``, ``generate`` and ``build`` call them, with their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import ToolchainError
from ckprof.flow.kernel_library import build, choose_build_dir
from ckprof.model.outcome import Outcome
from ckprof.model.recipe import Purpose

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuildDir, BuiltLibrary
    from ckprof.plugin.protocols import Direction, Target


def build_dir_for(
    arguments: argparse.Namespace,
    session: Session,
    candidates: Sequence[Candidate],
    direction: Direction,
    target: Target,
    purpose: Purpose = Purpose.RUN,
    *,
    sources_only: bool = False,
    embed: bool = False,
    chunk_size: int | None = None,
) -> BuildDir:
    """Return where the library of these candidates is generated and built.

    :param embed: make the tree ready for other build systems wherever it lies.
    :raises CkprofError: no toolchain, or the folder cannot be made.
    """
    settings = session.settings
    return choose_build_dir(
        candidates,
        direction,
        target,
        arch=arguments.arch or settings.arch,
        compiler=arguments.compiler or settings.compiler,
        purpose=purpose,
        ck_root=arguments.ck_root,
        api_level=arguments.api_level,
        keep=arguments.keep,
        configured_work_dir=settings.work_dir,
        sources_only=sources_only,
        embed=embed,
        chunk_size=chunk_size,
    )


def build_candidates(
    arguments: argparse.Namespace,
    session: Session,
    candidates: Sequence[Candidate],
    direction: Direction,
    target: Target,
    *,
    keep_invalid: bool = False,
    purpose: Purpose = Purpose.RUN,
) -> BuiltLibrary:
    """Build the candidates' library, show progress, and say what was done.

    :param keep_invalid: try to build what the rules reject, too.
    :param purpose: what the kernels are built for.
    :raises CkprofError: no toolchain, the build system failed, or kernels to be run cannot be run here.
    """
    settings = session.settings
    build_dir = build_dir_for(arguments, session, candidates, direction, target, purpose)
    if purpose is Purpose.RUN and build_dir.recipe.cannot_run:
        raise ToolchainError(
            f"--target {target.id}: {build_dir.recipe.cannot_run}; add --build-only to compile them, "
            f"see what "
            f"they need with 'ckprof inspect', or run them on the CPU without --target {target.id}"
        )
    session.console.detail(f"compiler: {build_dir.recipe.compiler.description}")
    session.call("ckprof_before_build", direction=direction.id, instances=[c.instance for c in candidates])
    with session.console.progress("build") as progress:
        library = build(
            candidates,
            build_dir,
            jobs=arguments.jobs or settings.jobs,
            keep_invalid=keep_invalid,
            compile_timeout_s=arguments.compile_timeout or settings.compile_timeout,
            on_progress=progress.update,
        )
    summary = library.summary
    rejected = sum(not rejection.status.is_failure for rejection in library.rejected)
    session.console.info(
        f"built {len(library.built)} of {len(candidates)} kernels: {summary.compiled} compiled, "
        f"{summary.from_cache} from the cache, {summary.failed} failed"
        + (f", {rejected} not valid for {build_dir.arch}" if rejected else "")
        + f"; {summary.wall_s:.1f} s on {summary.jobs} job{'s' if summary.jobs != 1 else ''}"
    )
    failures = [
        Outcome(key=r.candidate.instance.key, problem_index=0, status=r.status, reason=r.reason)
        for r in library.rejected
        if r.status.is_failure
    ]
    session.call("ckprof_after_build", direction=direction.id, failures=failures)
    return library
