"""Commands for sources and for the prefix header that they share.

The prefix header is put in front of every kernel with ``-include``. Both families of compilers look for a
precompiled form beside it (``.gch``, ``.pch``) and read the text where there is none. So one that cannot
precompile only costs time, and a kernel may be compiled before the precompiled form is ready.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.files import write_if_changed
from ckprof.kernels.build.cache import RECORD
from ckprof.kernels.build.step import Step
from ckprof.model.recipe import CompilerFamily

if TYPE_CHECKING:
    from ckprof.kernels.build.cache import ObjectCache
    from ckprof.kernels.build.units import TranslationUnit
    from ckprof.model.recipe import BuildRecipe

HEADER: Final = "prefix.hpp"
PREFIX_STEP: Final = "prefix"
_SUFFIX: Final = {CompilerFamily.GCC: ".gch", CompilerFamily.CLANG: ".pch"}
_EMIT_FLAGS: Final = {
    CompilerFamily.GCC: (),
    # the key already tells when a header changed; templates are instantiated once instead of in every kernel
    CompilerFamily.CLANG: ("-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates"),
}


class PrefixHeader:
    """The prefix header of a recipe in the cache.

    :param recipe: how things are compiled.
    :param cache: where it is kept.
    :param key: its content key.
    """

    def __init__(self, recipe: BuildRecipe, cache: ObjectCache, key: str) -> None:
        self._recipe = recipe
        self._cache = cache
        self._key = key
        self.folder = cache.prefix_entry(key)
        self.header = self.folder / HEADER
        self.precompiled = self.folder / (HEADER + _SUFFIX[recipe.compiler.family])

    @property
    def wanted(self) -> bool:
        """Whether there is something to precompile and a compiler that can."""
        return bool(self._recipe.prefix_header) and self._recipe.compiler.precompiles

    def is_ready(self) -> bool:
        """Say whether the precompiled form is there and intact; a damaged one is removed."""
        return self.wanted and self._cache.find_prefix(self._key, self.precompiled.name) is not None

    def write(self) -> None:
        """Write the header itself.

        :raises ToolchainError: the cache cannot be written.
        """
        try:
            write_if_changed(self.header, self._recipe.prefix_header)
        except OSError as exc:
            raise self._cache.unwritable(exc.strerror or str(exc)) from exc

    def step(self, staging: Path) -> Step:
        """Return the step that precompiles it.

        :param staging: folder for what is being written.
        """
        output = staging / self.precompiled.name
        command = (
            *self._recipe.compiler.command,
            *self._recipe.compile_flags,
            *self._recipe.location_flags,
            *self._recipe.kernel_flags,
            *include_flags(self._recipe),
            *self._emit(output),
        )
        return Step(
            id=PREFIX_STEP,
            name="precompiled header",
            command=command,
            cwd=self.folder,
            output=output,
            final=self.precompiled,
            stamp=str(self.folder / RECORD),
            optional=True,
        )

    def _emit(self, output: Path) -> tuple[str, ...]:
        precompiling = self._recipe.precompiling
        if precompiling is not None:
            return (*(flag.format(output=output) for flag in precompiling.make), str(self.header))
        flags = _EMIT_FLAGS[self._recipe.compiler.family]
        return (*flags, "-x", "c++-header", str(self.header), "-o", str(output))

    def use_flags(self, *, precompiled: bool) -> tuple[str, ...]:
        """Return the flags that put the header in front of a kernel.

        :param precompiled: whether the precompiled form will be there; compilers that find it by themselves
            look for it in any case.
        """
        precompiling = self._recipe.precompiling
        if precompiling is None:
            return ("-include", str(self.header))
        if not precompiled:
            # the kernel names what it needs by itself
            return ()
        return tuple(flag.format(precompiled=self.precompiled) for flag in precompiling.use)


def include_flags(recipe: BuildRecipe) -> tuple[str, ...]:
    """Return the flags for header folders, which leave no path of this machine in an object."""
    flags: list[str] = []
    for position, folder in enumerate(recipe.include_dirs):
        flags += [f"-I{folder}", f"-ffile-prefix-map={folder}=include{position}"]
    return tuple(flags)


def compile_command(
    recipe: BuildRecipe,
    unit: TranslationUnit,
    output: Path,
    prefix: PrefixHeader | None,
    *,
    precompiled: bool = True,
) -> tuple[str, ...]:
    """Return the command that compiles one translation unit, to be run in its folder.

    Compilers derive names that must be unique from the content key.

    :param recipe: how things are compiled.
    :param unit: what to compile; its folder is searched for headers as well.
    :param output: the object.
    :param prefix: of kernels, the header to put in front.
    :param precompiled: whether its precompiled form will be there.
    """
    flags: tuple[str, ...] = ()
    if prefix is not None:
        flags = (*recipe.kernel_flags, *prefix.use_flags(precompiled=precompiled))
    return (
        *recipe.compiler.command,
        *recipe.compile_flags,
        *recipe.location_flags,
        *flags,
        "-I.",
        *include_flags(recipe),
        f"-ffile-prefix-map={unit.root}=.",
        f"-frandom-seed={unit.key}",
        *(flag.format(key=unit.key) for flag in recipe.unit_flags),
        "-c",
        str(unit.source.relative_to(unit.root)),
        "-o",
        str(output),
    )
