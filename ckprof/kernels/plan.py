"""What a library is made of: its objects, the commands that compile missing ones, and the linked file.

The prefix header is put in front of every kernel with ``-include``. Both families of compilers look for a
precompiled form next to it (``.gch``, ``.pch``) and read the text where there is none. So one that cannot
precompile only costs time, and a kernel may be compiled before the precompiled form is ready.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError, system_errors
from ckprof.files import read_own, write_atomically, write_if_changed
from ckprof.kernels.cache import OBJECT, RECORD
from ckprof.kernels.keys import digest_file
from ckprof.kernels.step import Step
from ckprof.model.recipe import CompilerFamily
from ckprof.paths import UNWRITABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.kernels.cache import ObjectCache
    from ckprof.kernels.keys import Keys
    from ckprof.kernels.units import Unit
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
        with self._cache.writing():
            write_if_changed(self.header, self._recipe.prefix_header)

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
        if making := self._recipe.precompile_flags:
            return (*(flag.format(output=output) for flag in making), str(self.header))
        flags = _EMIT_FLAGS[self._recipe.compiler.family]
        return (*flags, "-x", "c++-header", str(self.header), "-o", str(output))

    def use_flags(self, *, precompiled: bool) -> tuple[str, ...]:
        """Return the flags that put the header in front of a kernel.

        :param precompiled: whether the precompiled form will be there; compilers that find it by themselves
            look for it in any case.
        """
        using = self._recipe.precompiled_flags
        if not using:
            return ("-include", str(self.header))
        if not precompiled:
            # the kernel names what it needs by itself
            return ()
        return tuple(flag.format(precompiled=self.precompiled) for flag in using)


def include_flags(recipe: BuildRecipe) -> tuple[str, ...]:
    """Return the flags for header folders, which leave no path of this machine in an object."""
    flags: list[str] = []
    for position, folder in enumerate(recipe.include_dirs):
        flags += [f"-I{folder}", f"-ffile-prefix-map={folder}=include{position}"]
    return tuple(flags)


def compile_command(
    recipe: BuildRecipe,
    unit: Unit,
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


LINK_STEP: Final = "link"


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
        #: False: kernels read headers as text
        self.precompiles = self._prefix.wanted

    def steps(self, missing: list[Unit], staging: Path) -> list[Step]:
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
        ready = self.precompiles and self._prefix.is_ready()
        # a round of kernels is faster compiled at once than after a header for them
        if self.precompiles and len(kernels) > self._jobs and not ready:
            steps.append(self._prefix.step(staging))
            # the other CPUs have something to do meanwhile: kernels that read the header as text
            early = max(0, self._jobs - 1 - len(plain))
            waiting = {unit.key for unit in kernels[early:]}
        # those that no library can do without come first, they take longest
        for unit in (*plain, *kernels):
            waits = unit.key in waiting
            folder = staging / unit.key
            folder.mkdir(parents=True, exist_ok=True)
            prefix = self._prefix if unit.holds_kernels else None
            output = folder / OBJECT
            steps.append(
                Step(
                    id=unit.key,
                    name=unit.name,
                    command=compile_command(self._recipe, unit, output, prefix, precompiled=ready or waits),
                    cwd=unit.root,
                    output=output,
                    entry=self._cache.entry(unit.key),
                    stamp=RECORD,
                    after=(PREFIX_STEP,) if waits else (),
                    time_share=len(unit.parts),
                )
            )
        return steps


class LibraryFile:
    """A library in a build's folder.

    :param folder: the folder.
    :param name: the library's name without prefix and suffix.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"lib{name}.so"
        self._folder = folder
        self._key_file = folder / f"lib{name}.key.json"
        self._stamp = folder / f"lib{name}.stamp.json"
        self._objects = folder / f"lib{name}.objects"
        self._output = folder / f".lib{name}.so.new"

    def is_current(self, key: str) -> bool:
        """Say whether the library is the one with that content key, and intact."""
        try:
            if json.loads(read_own(self._key_file))["key"] != key:
                return False
            stamp = json.loads(read_own(self._stamp))
            return bool(
                stamp["size"] == self.path.stat().st_size and stamp["digest"] == digest_file(self.path)
            )
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def link_step(self, recipe: BuildRecipe, objects: list[Path], after: Iterable[str]) -> Step:
        """Return the step that links the library. Until :meth:`confirm` it counts as out of date.

        :param recipe: how things are linked.
        :param objects: what is linked, in that order.
        :param after: steps that make them.
        """
        self._key_file.unlink(missing_ok=True)
        self._objects.write_text(response_text(objects), encoding="utf-8")
        return Step(
            id=LINK_STEP,
            name=self.path.name,
            command=link_command(recipe, response_file=self._objects, output=self._output),
            cwd=self._folder,
            output=self._output,
            final=self.path,
            stamp=str(self._stamp),
            after=tuple(after),
        )

    def confirm(self, key: str) -> None:
        """Note that the library is the one with that content key.

        :raises ToolchainError: the folder cannot be written.
        """
        with system_errors(ToolchainError, UNWRITABLE, self._folder):
            write_atomically(self._key_file, json.dumps({"key": key}))

    def discard(self) -> None:
        """Remove the library of an earlier build."""
        for path in (self._key_file, self._stamp, self.path, self._output):
            path.unlink(missing_ok=True)


def link_command(recipe: BuildRecipe, *, response_file: Path, output: Path) -> tuple[str, ...]:
    """Return the command that links a shared library.

    :param recipe: how things are linked.
    :param response_file: file with the names of the objects.
    :param output: the library.
    """
    return (
        *(recipe.linker or recipe.compiler.command),
        "-shared",
        "-o",
        str(output),
        f"@{response_file}",
        *recipe.link_flags,
    )


def response_text(objects: list[Path]) -> str:
    """Return the content of a response file; both families read it with a shell's rules for quotes."""

    def quoted(path: Path) -> str:
        return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'

    return "".join(f"{quoted(path)}\n" for path in objects)
