"""Finds out which objects a library needs and which of them must be compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.kernels.build.cache import OBJECT, RECORD
from ckprof.kernels.build.precompiled import PREFIX_STEP, PrefixHeader, compile_command
from ckprof.kernels.build.step import Step

if TYPE_CHECKING:
    from ckprof.kernels.build.cache import ObjectCache
    from ckprof.kernels.build.keys import Keys
    from ckprof.kernels.build.sources import KernelSources
    from ckprof.kernels.build.units import TranslationUnit
    from ckprof.model.recipe import BuildRecipe

LINK_STEP: Final = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One translation unit."""

    #: content key of its object
    key: str
    #: for people
    name: str
    source: Path
    #: folder in which it is compiled
    root: Path
    #: the kernel that it holds; ``None`` for what every library needs
    kernel: KernelSources | None = None


def kernel_unit(kernel: KernelSources, root: Path, keys: Keys) -> Unit:
    """Return the translation unit of a kernel.

    :raises ToolchainError: its sources cannot be read.
    """
    try:
        key = keys.kernel(kernel.entry.relative_to(root).as_posix(), (kernel.entry, kernel.header))
    except OSError as exc:
        raise ToolchainError(
            f"{exc.filename}: cannot be read ({exc.strerror}); generate the sources again"
        ) from exc
    return Unit(key=key, name=kernel.name, source=kernel.entry, root=root, kernel=kernel)


def plain_unit(source: Path, keys: Keys, *, generated: bool = False) -> Unit:
    """Return the translation unit of a source that every library needs.

    :param generated: the source needs nothing beside it.

    :raises ToolchainError: it cannot be read.
    """
    try:
        key = keys.plain(source, generated=generated)
    except OSError as exc:
        raise ToolchainError(f"{source}: cannot be read ({exc.strerror})") from exc
    return Unit(key=key, name=source.name, source=source, root=source.parent)


class Planner:
    """Turns missing objects into steps.

    :param recipe: how things are compiled.
    :param cache: where objects are kept.
    :param keys: content keys of the recipe.
    :param jobs: processes at once.
    """

    def __init__(self, recipe: BuildRecipe, cache: ObjectCache, keys: Keys, jobs: int) -> None:
        self._recipe = recipe
        self._cache = cache
        self._jobs = jobs
        self._prefix = PrefixHeader(recipe, cache, keys.prefix())
        self._precompiles = self._prefix.wanted

    def give_up_precompiling(self) -> None:
        """Let kernels read headers as text: the header could not be precompiled."""
        self._precompiles = False

    def steps(self, missing: list[TranslationUnit], staging: Path) -> list[Step]:
        """Return the steps that compile translation units.

        :param missing: what to compile.
        :param staging: folder for what is being written.
        :raises ToolchainError: the cache cannot be written.
        """
        plain = [unit for unit in missing if not unit.holds_kernels]
        kernels = [unit for unit in missing if unit.holds_kernels]
        if kernels:
            self._prefix.write()
        steps: list[Step] = []
        waiting: set[str] = set()
        ready = self._precompiles and self._prefix.is_ready()
        # a round of kernels is faster compiled at once than after a header for them
        if self._precompiles and len(kernels) > self._jobs and not ready:
            steps.append(self._prefix.step(staging))
            # the other CPUs have something to do meanwhile: kernels that read the header as text
            early = max(0, self._jobs - 1 - len(plain))
            waiting = {unit.key for unit in kernels[early:]}
        # those that no library can do without come first, they take longest
        for unit in (*plain, *kernels):
            waits = unit.key in waiting
            steps.append(
                self._step(unit, staging, after=(PREFIX_STEP,) if waits else (), precompiled=ready or waits)
            )
        return steps

    def _step(
        self, unit: TranslationUnit, staging: Path, after: tuple[str, ...], *, precompiled: bool
    ) -> Step:
        folder = staging / unit.key
        folder.mkdir(parents=True, exist_ok=True)
        output = folder / OBJECT
        command = compile_command(
            self._recipe,
            unit,
            output,
            self._prefix if unit.holds_kernels else None,
            precompiled=precompiled,
        )
        return Step(
            id=unit.key,
            name=unit.name,
            command=command,
            cwd=unit.root,
            output=output,
            entry=self._cache.entry(unit.key),
            stamp=RECORD,
            after=after,
            time_share=len(unit.members),
        )
