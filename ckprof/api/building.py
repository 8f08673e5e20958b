"""Generation and build of a selection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.events import BuildFinished, BuildProgress, BuildStarted
from ckprof.errors import NothingLeftError, ToolchainError
from ckprof.flow.build_dir import BuildPlace, prepare_build_dir
from ckprof.flow.kernel_library import BuildLimits, Rejection, build, generate, rejection_of
from ckprof.flow.validity import check_validity
from ckprof.model.outcome import Outcome
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.parity.kernel_strings import check_kernel_strings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.instances import Selection
    from ckprof.api.requests import BuildOptions
    from ckprof.api.session import Session
    from ckprof.codegen.source_tree import SourceTree
    from ckprof.flow.build_dir import BuildDir
    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary


def build_dir_for(
    session: Session,
    candidates: Sequence[Candidate],
    options: BuildOptions,
    purpose: Purpose,
    *,
    sources_only: bool = False,
    embed: bool = False,
) -> BuildDir:
    """Return where the library of these candidates, all of one direction, is generated and built.

    :param sources_only: nothing will be compiled here.
    :param embed: make the tree ready for other build systems wherever it lies.
    :raises CkprofError: no toolchain, or the folder cannot be made.
    """
    settings = session.settings
    target = session.target(options.target)
    direction = session.registry.operation(candidates[0].instance.direction)
    request = BuildRequest(
        arch=options.arch or settings.arch or target.default_arch,
        operation=direction.id,
        compiler=options.compiler or settings.compiler,
        purpose=purpose,
        ck_root=options.ck_root,
        api_level=options.api_level,
        sources_only=sources_only,
    )
    place = BuildPlace(
        folder=options.build_dir,
        base=Path(settings.work_dir) if settings.work_dir else None,
        embed=embed,
        chunk_size=options.chunk_size,
    )
    return prepare_build_dir(candidates, direction, target, request, place)


def build_library(
    session: Session,
    candidates: Sequence[Candidate],
    options: BuildOptions,
    purpose: Purpose,
    *,
    keep_invalid: bool = False,
    compare_strings: bool = True,
) -> BuiltLibrary:
    """Build the candidates' library.

    :param candidates: of one direction, at least one.
    :param keep_invalid: try to build what the rules reject, too.
    :param compare_strings: a kernel whose text differs from that of its pipeline is an error.
    :raises CkprofError: no toolchain, the build system failed, kernels to be run cannot be run here, or the
        texts of kernels differ from those of their pipelines.
    """
    build_dir = build_dir_for(session, candidates, options, purpose)
    recipe, direction = build_dir.recipe, build_dir.direction.id
    if purpose is Purpose.RUN and recipe.cannot_run:
        raise ToolchainError(
            f"--target {recipe.target}: {recipe.cannot_run}; add --build-only to compile them, see what "
            f"they need with 'ckprof inspect', or run them on the CPU without --target {recipe.target}"
        )
    session.tell(BuildStarted(compiler=recipe.compiler.description, kernels=len(candidates)))
    call = session.manager.call
    call("ckprof_before_build", direction=direction, instances=[one.instance for one in candidates])
    library: BuiltLibrary | None = None
    try:
        library = build(
            candidates,
            build_dir,
            build_limits(session, options),
            keep_invalid=keep_invalid,
            on_progress=lambda done, total, name: session.tell(
                BuildProgress(done=done, total=total, name=name)
            ),
        )
    finally:
        session.tell(BuildFinished(library=library))
    if compare_strings and purpose is not Purpose.SUPPORT_CHECK:
        check_kernel_strings(library, session.registry)
    failures = [
        Outcome(key=one.candidate.instance.key, problem_index=0, status=one.status, reason=one.reason)
        for one in library.rejected
        if one.status.is_failure
    ]
    call("ckprof_after_build", direction=direction, failures=failures)
    return library


def generate_sources(
    session: Session, selection: Selection, options: BuildOptions
) -> tuple[SourceTree, list[Rejection]]:
    """Write the sources of a selection without compiling them.

    :returns: the tree, and the candidates that a rule rejects.
    :raises NothingLeftError: no instance is valid.
    :raises CkprofError: no toolchain, or the folder cannot be written.
    """
    build_dir = build_dir_for(session, selection.candidates, options, Purpose.RUN, sources_only=True)
    valid, rejected = selection.candidates, list[Rejection]()
    if not selection.is_checked_for(build_dir.arch, build_dir.recipe.api_level):
        checked = check_validity(selection.candidates, build_dir.arch, build_dir.recipe.api_level)
        valid, rejected = checked.valid, [rejection_of(one) for one in checked.invalid]
    if not valid:
        raise NothingLeftError(f"no instance of {selection.source} is valid for {build_dir.arch}")
    if options.time_model is not None:
        from ckprof.api.model_embedding import with_time_model

        build_dir = with_time_model(session, build_dir, valid, options)
    with build_dir.lock:
        tree, _ = generate(valid, build_dir, keep_invalid=True)
    return tree, rejected


def link_library(
    session: Session, selection: Selection, options: BuildOptions
) -> tuple[Path | None, list[Rejection]]:
    """Build the generated tree with CMake, as programs that embed kernels do.

    :returns: the shared library, ``None`` if no kernel is valid, and the candidates that a rule rejects.
    :raises CkprofError: no toolchain, no CMake, or the build failed.
    """
    from ckprof.flow.cmake_build import build_with_cmake

    build_dir = build_dir_for(session, selection.candidates, options, Purpose.RUN, embed=True)
    library: Path | None = None
    with build_dir.lock:
        tree, rejected = generate(selection.candidates, build_dir, keep_invalid=selection.keep_invalid)
        if tree.kernels:
            compiler = build_dir.recipe.compiler.description
            session.tell(BuildStarted(compiler=compiler, kernels=len(tree.kernels)))
            library = build_with_cmake(
                tree,
                build_dir.recipe,
                jobs=options.jobs or session.settings.jobs,
                on_progress=lambda done, total, name: session.tell(
                    BuildProgress(done=done, total=total, name=name)
                ),
            )
    return library, rejected


def build_limits(session: Session, options: BuildOptions) -> BuildLimits:
    """Return what a build may take, by the options or else by the settings."""
    return BuildLimits(
        jobs=options.jobs or session.settings.jobs,
        compile_timeout_s=options.compile_timeout_s or session.settings.compile_timeout,
    )
