"""Builds the library of a tree of generated kernels.

Nothing is compiled twice: each object has a content key and lies in a cache that builds share. What is
missing is compiled by ninja, with one process per translation unit. A kernel that does not compile costs one
outcome: where several kernels share a translation unit, halves of it are compiled again until the one is
found. If some fail, the library is linked from the others.
"""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError, system_errors
from ckprof.kernels import build_systems, compile_step
from ckprof.kernels.keys import FolderDigests, Keys
from ckprof.kernels.plan import (
    LINK_STEP,
    PREFIX_STEP,
    LibraryFile,
    Planner,
)
from ckprof.kernels.step import StepFiles, explain
from ckprof.kernels.units import (
    common_part_of,
    compilers_for_kernels,
    functions_per_unit,
    job_count,
    kernel_unit,
    locate,
    memory_budget_bytes,
    partition,
    plain_unit,
    translation_unit,
)
from ckprof.model.outcome import Status
from ckprof.model.recipe import Product
from ckprof.model.results import BuildSummary
from ckprof.paths import UNWRITABLE
from ckprof.private_folders import lock_file, private_folder, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckprof.kernels.cache import ObjectCache
    from ckprof.kernels.keys import KernelFolder
    from ckprof.kernels.step import Step, StepResult
    from ckprof.kernels.units import Unit
    from ckprof.model.recipe import BuildRecipe


_SLOWEST: Final = 10
_LOG_NAME: Final = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """What a build made."""

    #: the library with every kernel that compiled; ``None`` if none did
    library: Path | None = None
    #: content key of the instance -> how its compilation failed; the compiler's first errors, and where the
    #: rest can be read
    failures: Mapping[str, tuple[Status, str]] = field(default_factory=dict)
    #: content key of the instance -> the object that holds its kernel, maybe among others
    objects: Mapping[str, Path] = field(default_factory=dict)
    summary: BuildSummary = field(default_factory=BuildSummary)
    #: content key of the instance -> content key of its object, by itself even if it shares one with others
    object_keys: Mapping[str, str] = field(default_factory=dict)


def build_tree(
    tree: KernelFolder,
    recipe: BuildRecipe,
    *,
    work_dir: Path,
    cache: ObjectCache,
    timeout_s: float,
    jobs: int | None = None,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> BuildResult:
    """Compile what is missing and link what is out of date.

    Two builds may share a cache; two builds in the same folder wait for each other. After an interruption the
    next build goes on with what is missing.

    :param tree: generated sources.
    :param recipe: how to compile and link.
    :param work_dir: folder for the library, the logs of kernels that do not compile and files of the build.
    :param cache: where objects are kept.
    :param timeout_s: of one kernel's compilation, without the seconds in which it waits for a CPU.
    :param jobs: compilers at once, ``None`` for one per usable CPU; in any case bounded by free memory.
    :param on_progress: called with steps done, all steps and the name of the step that has just ended.
    :raises ToolchainError: something that every kernel needs cannot be built.
    """
    with system_errors(ToolchainError, UNWRITABLE, work_dir):
        lock = lock_file(private_folder(work_dir) / "build.lock")
        lock.acquire()
    try:
        started = time.monotonic()
        build = _Build(tree, recipe, work_dir.absolute(), cache, timeout_s, jobs, on_progress)
        kernels = [kernel_unit(kernel, tree.root, build.keys) for kernel in tree.kernels]
        object_keys = {_instance_key(unit): unit.key for unit in kernels}
        sources = (*recipe.support_sources, *tree.shared_sources) if build.links else ()
        support = [plain_unit(source, build.keys) for source in sources]
        while kernels := [unit for unit in kernels if _instance_key(unit) not in build.failures]:
            if build.attempt(kernels, support):
                break
        return build.result(object_keys, started)
    finally:
        lock.release()


class _Build:
    def __init__(
        self,
        tree: KernelFolder,
        recipe: BuildRecipe,
        work_dir: Path,
        cache: ObjectCache,
        timeout_s: float,
        jobs: int | None,
        on_progress: Callable[[int, int, str], None] | None,
    ) -> None:
        self._tree = tree
        self._recipe = recipe
        self._jobs = job_count(jobs, recipe.compile_memory_bytes)
        self._most = functions_per_unit(recipe, self._jobs, memory_budget_bytes())
        self._timeout_s = timeout_s
        self._work_dir = work_dir
        self._cache = cache
        self._on_progress = on_progress
        self._files = StepFiles(work_dir)
        self.keys = Keys(recipe, FolderDigests(cache.folder_digests))
        self._planner = Planner(recipe, cache, self.keys, self._jobs)
        self._library = LibraryFile(work_dir, tree.library_name)
        #: the product is a library
        self.links = recipe.product is Product.LIBRARY
        #: the library is there, with all kernels of the last attempt
        self._linked = False
        #: content key of the instance -> how its compilation failed
        self.failures: dict[str, tuple[Status, str]] = {}
        self._objects: dict[str, Path] = {}
        #: key of a unit -> largest group in which it may still be, after a group with it has failed
        self._limits: dict[str, int] = {}
        #: of groups that failed: content key of each instance -> name of its kernel; what the compiler said
        self._failed_groups: list[tuple[Mapping[str, str], str]] = []
        #: steps that have ended, and how many kernels each of them compiled
        self._ended: list[tuple[Step, StepResult, int]] = []

    def result(self, object_keys: Mapping[str, str], started: float) -> BuildResult:
        """Return what the last attempt gave, and tidy up."""
        if not self._linked:
            self._library.discard()
        compiled = sum(count for _, result, count in self._ended if result.ok)
        if compiled:
            self._cache.prune()
        times = [(step.name, result.wall_s) for step, result, _ in self._ended if step.id != LINK_STEP]
        return BuildResult(
            library=self._library.path if self._linked else None,
            failures=self.failures,
            objects=self._objects,
            object_keys=object_keys,
            summary=BuildSummary(
                compiled=compiled,
                from_cache=len(self._tree.kernels) - compiled - len(self.failures),
                failed=len(self.failures),
                wall_s=time.monotonic() - started,
                cpu_s=sum(result.cpu_s for _, result, _ in self._ended),
                peak_memory_bytes=max((result.peak_memory_bytes for _, result, _ in self._ended), default=0),
                jobs=self._jobs,
                slowest=tuple(sorted(times, key=lambda item: -item[1])[:_SLOWEST]),
                units=tuple(
                    (count, result.wall_s) for _, result, count in self._ended if count and result.ok
                ),
                separated=self._separated(),
            ),
        )

    def _separated(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Return the largest groups whose kernels all compile, but not together, and why."""
        blameless = [one for one in self._failed_groups if one[0].keys().isdisjoint(self.failures)]
        return tuple(
            (tuple(names.values()), reason)
            for names, reason in blameless
            if not any(names.keys() < others.keys() for others, _ in blameless)
        )

    def attempt(self, kernels: list[Unit], support: list[Unit]) -> bool:
        """Build everything of these kernels; on failure, say no and note what to do differently."""
        units = [*kernels, *support]
        if self.links:
            symbols = [unit.kernel.symbol for unit in kernels if unit.kernel is not None]
            units.append(plain_unit(self._tree.write_library_source(symbols), self.keys, generated=True))
        key = self.keys.library(self._library.path.name, [unit.key for unit in units])
        if self.links and self._library.is_current(key):
            self._linked = True
            return True
        objects_by_key = locate(units, self._cache, self._recipe.product)
        absent = [unit for unit in units if unit.key not in objects_by_key]
        groups = partition(
            [unit for unit in absent if unit.kernel is not None],
            # of what holds no kernel, the library's own table takes no time
            compilers_for_kernels(self._jobs, sum(unit.key not in objects_by_key for unit in support)),
            self._limits,
            self._most,
            lambda unit: common_part_of(unit, self._recipe.fields_without_cost),
        )
        # the longest first
        groups += [[unit] for unit in absent if unit.kernel is None]
        missing = [translation_unit(group, self.keys) for group in groups]
        for group in missing:
            objects_by_key |= {unit.key: self._cache.object_path(group.key) for unit in group.parts}
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, self._files.folder, ignore_errors=True)
            staging = stack.enter_context(self._cache.staging()) if missing else None
            steps = self._planner.steps(missing, staging) if staging is not None else []
            link: list[Step] = []
            if self.links:
                objects = list(dict.fromkeys(objects_by_key[unit.key] for unit in units))
                link.append(
                    self._library.link_step(self._recipe, objects, after=[group.key for group in missing])
                )
            if steps or link:
                self._execute([*steps, *link])
            compiled = {unit.key: len(unit.parts) for unit in missing if unit.holds_kernels}
            for step in (*steps, *link):
                if (result := self._files.result(step.id)) is not None:
                    self._ended.append((step, result, compiled.get(step.id, 0)))
            if self._lost_prefix(steps):
                return False
            if not self._check(missing):
                return False
            if self.links:
                self._require(LINK_STEP, f"linking {self._library.path.name}")
                self._library.confirm(key)
                self._linked = True
        self._objects = {_instance_key(unit): objects_by_key[unit.key] for unit in kernels}
        return True

    def _lost_prefix(self, steps: list[Step]) -> bool:
        """Say whether kernels were to use a precompiled header that could not be made."""
        if not self._recipe.precompile_flags or not any(step.id == PREFIX_STEP for step in steps):
            return False
        result = self._files.result(PREFIX_STEP)
        if result is not None and result.ok:
            return False
        self._planner.precompiles = False
        return True

    def _execute(self, steps: list[Step]) -> None:
        with system_errors(ToolchainError, UNWRITABLE, self._work_dir):
            shutil.rmtree(self._files.folder, ignore_errors=True)
            self._files.write(steps, self._timeout_s)
            (self._work_dir / "build.ninja").write_text(
                build_systems.render(steps, self._files), encoding="utf-8"
            )
        build_systems.run(self._work_dir, self._jobs, self._on_progress)

    def _check(self, missing: list[Unit]) -> bool:
        """Say whether everything was compiled; note kernels that were not, or the groups to look for them in.

        :raises ToolchainError: something that every library needs did not compile.
        """
        passed = True
        for group in missing:
            result = self._files.result(group.key)
            storage = result is not None and result.status == compile_step.STORAGE
            if not group.holds_kernels or storage:
                self._require(group.key, f"compiling {group.name}")
            elif result is None:
                raise ToolchainError(
                    f"{self._work_dir}: compiling {group.name} left no record; "
                    "check that the folder can be written and the disk is not full"
                )
            elif result.ok:
                if group.members:
                    symbols = [(unit.key, unit.kernel.symbol) for unit in group.members if unit.kernel]
                    self._cache.note_group(group.key, symbols)
            else:
                passed = False
                status, message = self._failure(group, result)
                if group.members:
                    # the next groups are half as large
                    self._limits |= dict.fromkeys(
                        (unit.key for unit in group.members), (len(group.members) + 1) // 2
                    )
                    names = {_instance_key(unit): unit.name for unit in group.members}
                    self._failed_groups.append((names, message))
                else:
                    self.failures[_instance_key(group)] = status, message
        return passed

    def _failure(self, group: Unit, result: StepResult) -> tuple[Status, str]:
        log = self._keep_log(group.key, group.name)
        timed_out = result.status == compile_step.TIMEOUT
        message = explain(result, log, self._timeout_s * len(group.parts))
        status = Status.COMPILE_TIMEOUT if timed_out else Status.COMPILE_ERROR
        return status, f"{message}\nfull log: {log}"

    def _require(self, step_id: str, what: str) -> None:
        """Raise unless a step has succeeded."""
        result = self._files.result(step_id)
        if result is not None and result.ok:
            return
        log = self._keep_log(step_id, step_id if step_id == LINK_STEP else what.rsplit(" ", 1)[-1])
        why = explain(result, log, self._timeout_s)
        if result is not None and result.status == compile_step.STORAGE:
            temporary = str(temporary_folder())
            if temporary in why and str(self._cache.root) not in why:
                raise ToolchainError(
                    f"{temporary}: the compiler cannot write its temporary files: {why}; "
                    "free some space or set TMPDIR to a folder that can be written"
                )
            raise self._cache.unwritable(why)
        raise ToolchainError(f"{what} failed:\n{why}\nfull log: {log}")

    def _keep_log(self, step_id: str, name: str) -> Path:
        """Move a step's log to where the next build does not remove it."""
        kept = self._work_dir / "logs" / f"{name[:_LOG_NAME]}.log"
        try:
            kept.parent.mkdir(exist_ok=True)
            self._files.log(step_id).replace(kept)
        except OSError:
            return self._files.log(step_id)
        return kept


def _instance_key(unit: Unit) -> str:
    assert unit.kernel is not None  # noqa: S101 - only asked of kernels
    return unit.kernel.key
