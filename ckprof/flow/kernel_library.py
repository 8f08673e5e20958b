"""From selected instances to a kernel library."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from ckprof.build.builder import build_library
from ckprof.build.cache import ObjectCache
from ckprof.codegen.embedding import DEFAULT_CHUNK_SIZE, Embedding
from ckprof.codegen.library_api import CONV_API_SOURCES, library_name
from ckprof.codegen.manifest import chunk_size_of, direction_of
from ckprof.codegen.source_tree import generate_tree
from ckprof.errors import InputError, UsageError
from ckprof.flow.code_objects import read_ahead, write_code_objects
from ckprof.model.outcome import Status
from ckprof.model.recipe import BuildRequest, Product, Purpose
from ckprof.model.results import BuildSummary
from ckprof.paths import object_cache_dir, work_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.codegen.source_tree import SourceTree
    from ckprof.flow.candidates import Candidate
    from ckprof.model.recipe import BuildRecipe
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.plugin.protocols import Direction, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A candidate that has no kernel in the library."""

    candidate: Candidate
    status: Status
    reason: str
    #: the rules that it breaks
    unmet_requirements: tuple[UnmetRequirement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltLibrary:
    """What the build gave."""

    #: ``None`` when not a single kernel compiled
    path: Path | None
    recipe: BuildRecipe
    #: the candidates whose kernels are in the library, in order
    built: tuple[Candidate, ...]
    #: the others: rejected by a rule before, or failed to compile
    rejected: tuple[Rejection, ...]
    summary: BuildSummary
    #: where the kernels' code objects and the list of them lie; ``None`` if the build made none
    code_objects: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildDir:
    """Where a library is generated and built, for which target."""

    direction: Direction
    target: Target
    arch: str
    root: Path
    recipe: BuildRecipe
    #: makes the sources ready for another build system; ``None`` leaves that out
    embedding: Embedding | None = None

    @property
    def lock(self) -> FileLock:
        """Keeps two processes from writing the same tree at once."""
        return FileLock(self.root.with_name(f"{self.root.name}.lock"))


def choose_build_dir(
    candidates: Sequence[Candidate],
    direction: Direction,
    target: Target,
    *,
    arch: str | None,
    compiler: str | None,
    purpose: Purpose = Purpose.RUN,
    ck_root: Path | None = None,
    api_level: str | None = None,
    keep: Path | None,
    configured_work_dir: str | None,
    sources_only: bool = False,
    embed: bool = False,
    chunk_size: int | None = None,
) -> BuildDir:
    """Decide where the sources and the library of these candidates go.

    Without ``keep`` the folder's name is a digest of direction, target, architecture and instances, so that
    the same call finds its library again and different calls do not disturb each other.

    :param sources_only: nothing will be compiled here.
    :param embed: make the tree ready for other build systems, wherever it lies.
    :param chunk_size: kernels per registration source; ``None`` keeps what an earlier tree has, or else the
        default. Trees in ``keep``, and those of sources only, are made ready for other build systems.
    :raises ToolchainError: the target has no usable compiler or headers.
    :raises UsageError: a chunk would hold no kernel, or the folder holds another direction.
    :raises InputError: the folder cannot be made.
    """
    chosen_arch = arch or target.default_arch
    recipe = target.recipe(
        BuildRequest(
            arch=chosen_arch,
            compiler=compiler,
            purpose=purpose,
            ck_root=ck_root,
            api_level=api_level,
            sources_only=sources_only,
        )
    )
    parts = [direction.id, target.id, chosen_arch, *(c.instance.key for c in candidates)]
    if purpose is not Purpose.RUN:
        parts.append(purpose.value)
    if embed:
        parts.append("embed")
    if api_level is not None:
        parts.append(api_level)
    text = "\n".join(parts)
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    base = Path(configured_work_dir).absolute() if configured_work_dir else work_dir()
    root = keep.absolute() if keep else base / f"{direction.id}-{target.id}-{digest}"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise InputError(f"cannot make the folder: {exc.strerror}", root) from None
    owner = direction_of(root)
    if owner not in (None, direction.id):
        raise UsageError(
            f"{root} holds the kernels of {owner}: those of {direction.id} need a folder of their own"
        )
    embedding = None
    # what a program embeds is a library
    if (keep or sources_only or embed) and recipe.product is Product.LIBRARY:
        size = chunk_size if chunk_size is not None else chunk_size_of(root)
        embedding = Embedding(recipe=recipe, chunk_size=DEFAULT_CHUNK_SIZE if size is None else size)
    return BuildDir(
        direction=direction,
        target=target,
        arch=chosen_arch,
        root=root,
        recipe=recipe,
        embedding=embedding,
    )


def split_valid(
    candidates: Sequence[Candidate], arch: str, api_level: str
) -> tuple[list[Candidate], list[Rejection]]:
    """Ask each candidate's pipeline whether it is valid for the architecture and the API level."""
    valid: list[Candidate] = []
    rejected: list[Rejection] = []
    for candidate in candidates:
        unmet_requirements = candidate.pipeline.unmet_requirements(candidate.instance, arch, api_level)
        if unmet_requirements:
            reason = "; ".join(f"{rejection.message} ({rejection.rule})" for rejection in unmet_requirements)
            rejected.append(
                Rejection(
                    candidate=candidate,
                    status=Status.UNSUPPORTED,
                    reason=reason,
                    unmet_requirements=tuple(unmet_requirements),
                )
            )
        else:
            valid.append(candidate)
    return valid, rejected


def generate(
    candidates: Sequence[Candidate], build_dir: BuildDir, *, keep_invalid: bool = False
) -> tuple[SourceTree, list[Rejection]]:
    """Write the sources of all valid candidates.

    :param keep_invalid: write those that a rule rejects as well.
    :returns: the tree, and the candidates that were left out because a rule rejects them.
    """
    valid: list[Candidate] = list(candidates)
    rejected: list[Rejection] = []
    if not keep_invalid:
        valid, rejected = split_valid(candidates, build_dir.arch, build_dir.recipe.api_level)
    tree = generate_tree(
        build_dir.root,
        library_name(build_dir.direction.id),
        [candidate.instance for candidate in valid],
        {candidate.pipeline.id: candidate.pipeline for candidate in valid},
        build_dir.direction,
        build_dir.arch,
        build_dir.recipe.api_level,
        build_dir.embedding,
    )
    return tree, rejected


def build(
    candidates: Sequence[Candidate],
    build_dir: BuildDir,
    *,
    jobs: int | None,
    compile_timeout_s: float,
    keep_invalid: bool = False,
    on_progress: Callable[[int, int, str], None],
) -> BuiltLibrary:
    """Generate and compile all valid candidates into one library.

    :param on_progress: told (done, total, name) after each compile step.
    :raises ToolchainError: the build system itself failed.
    """
    with build_dir.lock:
        tree, rejected = generate(candidates, build_dir, keep_invalid=keep_invalid)
        if not tree.kernels:
            return BuiltLibrary(
                path=None, recipe=build_dir.recipe, built=(), rejected=tuple(rejected), summary=BuildSummary()
            )
        result = build_library(
            tree,
            build_dir.recipe,
            jobs=jobs,
            timeout_s=compile_timeout_s,
            work_dir=build_dir.root,
            cache=ObjectCache(object_cache_dir()),
            further_sources=CONV_API_SOURCES,
            on_progress=on_progress,
        )
        code_objects = None
        if build_dir.recipe.product is Product.CODE_OBJECTS and result.objects:
            code_objects = write_code_objects(tree, build_dir.recipe, result.objects)
            read_ahead(build_dir.target, build_dir.arch, result.objects.values())
    invalid = {rejection.candidate.instance.key for rejection in rejected}
    built: list[Candidate] = []
    for candidate in candidates:
        failure = result.failures.get(candidate.instance.key)
        if failure is not None:
            rejected.append(Rejection(candidate=candidate, status=failure.status, reason=failure.message))
        elif candidate.instance.key not in invalid:
            built.append(candidate)
    return BuiltLibrary(
        path=result.library,
        recipe=build_dir.recipe,
        built=tuple(built),
        rejected=tuple(rejected),
        summary=result.summary,
        code_objects=code_objects,
    )
