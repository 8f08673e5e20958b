"""From selected instances to a kernel library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.build.builder import build_library
from ckprof.build.cache import ObjectCache
from ckprof.codegen.library_api import api_sources, library_name
from ckprof.codegen.source_tree import TreeRequest, generate_tree
from ckprof.flow.code_objects import read_ahead, write_code_objects
from ckprof.flow.validity import check_validity
from ckprof.model.outcome import Status
from ckprof.model.recipe import Product
from ckprof.model.results import BuildSummary
from ckprof.paths import object_cache_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ckprof.build.builder import BuildResult
    from ckprof.codegen.source_tree import SourceTree
    from ckprof.flow.build_dir import BuildDir
    from ckprof.flow.candidates import Candidate
    from ckprof.flow.validity import InvalidInstance
    from ckprof.model.recipe import BuildRecipe
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.plugin.protocols import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A candidate that has no kernel in the library."""

    candidate: Candidate
    status: Status
    reason: str
    #: the rules that it violates
    unmet_requirements: tuple[UnmetRequirement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildLimits:
    """What a build may take."""

    #: compilers at once; ``None`` for as many as cores and memory allow
    jobs: int | None
    #: seconds that one compiler process may take
    compile_timeout_s: float


def generate(
    candidates: Sequence[Candidate], build_dir: BuildDir, *, keep_invalid: bool = False
) -> tuple[SourceTree, list[Rejection]]:
    """Write the sources of all valid candidates.

    :param keep_invalid: write those that a rule rejects as well.
    :returns: the tree, and the candidates that were left out because a rule rejects them.
    """
    valid: Sequence[Candidate] = candidates
    rejected: list[Rejection] = []
    if not keep_invalid:
        checked = check_validity(candidates, build_dir.arch, build_dir.recipe.api_level)
        valid = checked.valid
        rejected = [rejection_of(one) for one in checked.invalid]
    tree = generate_tree(
        TreeRequest(
            root=build_dir.root,
            library_name=library_name(build_dir.direction),
            direction=build_dir.direction,
            arch=build_dir.arch,
            api_level=build_dir.recipe.api_level,
            instances=[candidate.instance for candidate in valid],
            pipelines={candidate.pipeline.id: candidate.pipeline for candidate in valid},
            names={candidate.instance.key: candidate.name for candidate in valid},
            embedding=build_dir.embedding,
        )
    )
    return tree, rejected


def build(
    candidates: Sequence[Candidate],
    build_dir: BuildDir,
    limits: BuildLimits,
    *,
    keep_invalid: bool = False,
    on_progress: Callable[[int, int, str], None],
) -> BuiltLibrary:
    """Generate and compile all valid candidates into one library.

    :param on_progress: called with (done, total, name) after each compile step.
    :raises ToolchainError: the build system itself failed.
    """
    with build_dir.lock:
        tree, rejected = generate(candidates, build_dir, keep_invalid=keep_invalid)
        if not tree.kernels:
            return _library(candidates, build_dir, rejected, None, None)
        result = build_library(
            tree,
            build_dir.recipe,
            jobs=limits.jobs,
            timeout_s=limits.compile_timeout_s,
            work_dir=build_dir.root,
            cache=ObjectCache(object_cache_dir()),
            further_sources=api_sources(build_dir.direction),
            on_progress=on_progress,
        )
        code_objects = None
        if build_dir.recipe.product is Product.CODE_OBJECTS and result.objects:
            code_objects = write_code_objects(tree, build_dir.recipe, result.objects)
            read_ahead(build_dir.target, build_dir.arch, result.objects.values())
    return _library(candidates, build_dir, rejected, result, code_objects)


def _library(
    candidates: Sequence[Candidate],
    build_dir: BuildDir,
    rejected: list[Rejection],
    result: BuildResult | None,
    code_objects: Path | None,
) -> BuiltLibrary:
    failures = result.failures if result is not None else {}
    invalid = {rejection.candidate.instance.key for rejection in rejected}
    built: list[Candidate] = []
    for candidate in candidates:
        failure = failures.get(candidate.instance.key)
        if failure is not None:
            rejected.append(Rejection(candidate=candidate, status=failure.status, reason=failure.message))
        elif candidate.instance.key not in invalid:
            built.append(candidate)
    return BuiltLibrary(
        direction=build_dir.direction,
        candidates=tuple(candidates),
        path=result.library if result is not None else None,
        recipe=build_dir.recipe,
        built=tuple(built),
        rejected=tuple(rejected),
        summary=result.summary if result is not None else BuildSummary(),
        code_objects=code_objects,
        object_keys=result.object_keys if result is not None else {},
    )


def rejection_of(invalid: InvalidInstance) -> Rejection:
    """Return what becomes of an instance that is not valid."""
    return Rejection(
        candidate=invalid.candidate,
        status=Status.UNSUPPORTED,
        reason=invalid.reason,
        unmet_requirements=invalid.unmet_requirements,
    )
