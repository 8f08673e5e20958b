"""From chosen instances to their sources, and to a kernel library: what the build makes of each of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import NothingLeftError, PluginError, ToolchainError
from ckprof.events import Level, Message, Progress, ProgressEnded
from ckprof.formatting import counted
from ckprof.kernels.build_dir import build_dir_for
from ckprof.kernels.builder import BuildResult, build_tree
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.candidates import Rejection
from ckprof.kernels.code_objects import read_ahead, write_code_objects
from ckprof.kernels.source_tree import generate_tree
from ckprof.model.recipe import Product, Purpose
from ckprof.paths import object_cache_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.requests import BuildOptions
    from ckprof.kernels.source_tree import SourceTree
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.recipe import BuildRecipe, MachinePart
    from ckprof.model.results import BuildSummary
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session

#: kernels that a message names
_NAMED: Final = 3


def make_parts(session: Session, recipe: BuildRecipe, jobs: int | None = None) -> None:
    """Bring what the recipe needs on this machine up to date, and say so where that takes time.

    :param jobs: compilers at once; ``None`` for one per CPU.
    :raises ToolchainError: no compiler, it fails, or there is no space.
    """
    for part in recipe.parts:
        _Making(session, part).run(jobs)


class _Making:
    def __init__(self, session: Session, part: MachinePart) -> None:
        self._session = session
        self._part = part
        self._started = False

    def run(self, jobs: int | None) -> None:
        if not self._part.present:
            self._start(self._part.cpu_s)
        try:
            self._part.make(jobs, self._step)
        finally:
            if self._started:
                self._session.emit(ProgressEnded())

    def _start(self, cpu_s: float | None) -> None:
        self._started = True
        takes = "what has changed" if cpu_s is None else f"about {cpu_s:.0f} s of CPU time"
        name, folder = self._part.name, self._part.folder
        self._session.emit(Message(f"compiling {name}, once on this machine: {takes}; kept in {folder}"))
        self._session.emit(Progress(what=name, done=0, total=0))

    def _step(self, done: int, total: int, name: str) -> None:
        # what is up to date takes no step
        if not self._started:
            self._start(None)
        self._session.emit(Progress(what=self._part.name, done=done, total=total, name=name))


def generate_sources(
    session: Session, selection: Selection, options: BuildOptions
) -> tuple[SourceTree, list[Rejection]]:
    """Write the sources of a selection without compiling them.

    :returns: the tree, and the candidates that a rule rejects.
    :raises NothingLeftError: no instance is valid.
    :raises CkprofError: no toolchain, or the folder cannot be written.
    """
    build_dir = build_dir_for(session, selection.candidates, options, Purpose.RUN, sources_only=True)
    valid, invalid = selection.checked_for(build_dir.arch, build_dir.recipe.api_level)
    if not valid:
        raise NothingLeftError(f"no instance of {selection.source} is valid for {build_dir.arch}")
    build_dir = _extended(session, options, build_dir, valid)
    # what another build system will link with
    make_parts(session, build_dir.recipe, options.jobs or session.settings.jobs)
    with build_dir.lock:
        return generate_tree(build_dir, valid), list(invalid)


def _extended(
    session: Session, options: BuildOptions, build_dir: BuildDir, candidates: Sequence[Candidate]
) -> BuildDir:
    """Return a folder that gets what plugins add; registry and C functions choose kernels as one ranks them.

    :raises PluginError: several plugins rank them.
    """
    found: list[tuple[str, Any]] = session.manager.call(
        "ckprof_add_sources",
        arguments=options.plugin_options,
        session=session,
        build_dir=build_dir,
        candidates=candidates,
    )
    rankings = [name for name, addition in found if addition.rank]
    if len(rankings) > 1:
        raise PluginError(f"{' and '.join(rankings)} both rank the kernels: omit the options of one")
    return replace(build_dir, additions=tuple(addition for _, addition in found))


@dataclass(frozen=True, kw_only=True)
class BuiltLibrary:
    """What the build gave."""

    direction: Operation
    #: all that were asked for, in order
    candidates: tuple[Candidate, ...]
    #: ``None`` when not a single kernel compiled
    path: Path | None
    recipe: BuildRecipe
    #: the candidates whose kernels are in the library, in order
    built: tuple[Candidate, ...]
    #: the others: invalid by a rule, or failed to compile
    rejected: tuple[Rejection, ...]
    summary: BuildSummary
    #: where the kernels' code objects and the list of them lie; ``None`` if the build made none
    code_objects: Path | None = None
    #: content key of a built instance -> content key of its object
    object_keys: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def kernels(self) -> tuple[SelectedKernel, ...]:
        """All candidates as measurements, stores and reports name them; without an object if not built."""
        built = {candidate.instance.key for candidate in self.built}
        return tuple(
            candidate.selected(
                self.object_keys.get(candidate.instance.key, "") if candidate.instance.key in built else ""
            )
            for candidate in self.candidates
        )


def build_library(
    session: Session, selection: Selection, options: BuildOptions, purpose: Purpose
) -> BuiltLibrary:
    """Build the library of all instances of a selection that are valid.

    :param selection: of one direction, with at least one instance.
    :raises CkprofError: no toolchain, the build system failed, or kernels to be run cannot be run here.
    """
    candidates = selection.candidates
    build_dir = build_dir_for(session, candidates, options, purpose)
    recipe, direction = build_dir.recipe, build_dir.direction.id
    if purpose is Purpose.RUN and recipe.cannot_run:
        raise _not_runnable(session, recipe)
    jobs = options.jobs or session.settings.jobs
    make_parts(session, recipe, jobs)
    call = session.manager.call
    instances = [candidate.instance for candidate in candidates]
    call("ckprof_before_build", direction=direction, instances=instances)
    result, code_objects = BuildResult(), None
    with _building(session, recipe, len(candidates)) as step, build_dir.lock:
        valid, invalid = selection.checked_for(build_dir.arch, recipe.api_level)
        tree = generate_tree(build_dir, valid)
        if tree.kernels:
            result = build_tree(
                tree,
                recipe,
                work_dir=build_dir.root,
                cache=ObjectCache(object_cache_dir()),
                timeout_s=options.compile_timeout_s or session.settings.compile_timeout,
                jobs=jobs,
                on_progress=step,
            )
        if recipe.product is Product.CODE_OBJECTS and result.objects:
            code_objects = write_code_objects(tree, recipe, result.objects)
            read_ahead(build_dir.target, build_dir.arch, result.objects.values())
    failures = [
        Rejection(candidate=candidate, status=failure[0], reason=failure[1])
        for candidate in valid
        if (failure := result.failures.get(candidate.instance.key)) is not None
    ]
    library = BuiltLibrary(
        direction=build_dir.direction,
        candidates=candidates,
        path=result.library,
        recipe=recipe,
        built=tuple(one for one in valid if one.instance.key not in result.failures),
        rejected=(*invalid, *failures),
        summary=result.summary,
        code_objects=code_objects,
        object_keys=result.object_keys,
    )
    for message in build_messages(library):
        session.emit(message)
    outcomes = [rejection.outcome for rejection in library.rejected if rejection.status.is_failure]
    call("ckprof_after_build", direction=direction, failures=outcomes)
    return library


def _not_runnable(session: Session, recipe: BuildRecipe) -> ToolchainError:
    devices = [
        f"--device {device.id} runs them on the CPU; "
        for device in session.registry.devices
        if device.target == recipe.target and recipe.arch.partition(":")[0] in device.archs
    ]
    return ToolchainError(
        f"--target {recipe.target}: {recipe.cannot_run}; {''.join(devices)}compile them with 'ckprof build', "
        "see what they need with 'ckprof inspect', or run them on the CPU without "
        f"--target {recipe.target}"
    )


@contextmanager
def _building(
    session: Session, recipe: BuildRecipe, kernels: int
) -> Iterator[Callable[[int, int, str], None]]:
    """Report a build from its compiler to its end; what is entered takes note of compile steps."""
    session.emit(Message(f"compiler: {recipe.compiler.description}", Level.DETAIL))
    session.emit(Progress(what="build", done=0, total=kernels))
    try:
        yield lambda done, total, name: session.emit(
            Progress(what="build", done=done, total=total, name=name)
        )
    finally:
        session.emit(ProgressEnded())


def link_library(
    session: Session, selection: Selection, options: BuildOptions
) -> tuple[Path | None, list[Rejection]]:
    """Build the generated tree with CMake, as programs that embed kernels do.

    :returns: the shared library, ``None`` if no kernel is valid, and the candidates that a rule rejects.
    :raises CkprofError: no toolchain, no CMake, or the build failed.
    """
    from ckprof.kernels.build_systems import build_with_cmake

    build_dir = build_dir_for(session, selection.candidates, options, Purpose.RUN, embed=True)
    jobs = options.jobs or session.settings.jobs
    make_parts(session, build_dir.recipe, jobs)
    library: Path | None = None
    with build_dir.lock:
        valid, invalid = selection.checked_for(build_dir.arch, build_dir.recipe.api_level)
        tree = generate_tree(build_dir, valid)
        if tree.kernels:
            with _building(session, build_dir.recipe, len(tree.kernels)) as step:
                library = build_with_cmake(tree, build_dir.recipe, jobs=jobs, on_progress=step)
    return library, list(invalid)


def build_messages(library: BuiltLibrary) -> list[Message]:
    """Return what users hear of a build: its counts, and kernels that did not compile together."""
    summary = library.summary
    invalid = sum(not rejection.status.is_failure for rejection in library.rejected)
    text = (
        f"built {len(library.built)} of {counted(len(library.candidates), 'kernel')}: "
        f"{summary.compiled} compiled, {summary.from_cache} from the cache, {summary.failed} failed"
        + (f", {invalid} not valid for {library.recipe.arch}" if invalid else "")
        + f"; {summary.wall_s:.1f} s on {counted(summary.jobs, 'job')}"
    )
    return [Message(text), *(Message(_separated(*apart), Level.WARNING) for apart in summary.separated)]


def _separated(names: Sequence[str], reason: str) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"these {len(names)} kernels compile, but did not in one translation unit, so that the build took "
        f"longer: {', '.join(names[:_NAMED])}{more}: {reason}"
    )
