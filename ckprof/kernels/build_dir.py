"""Where a library is generated and built."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError, UsageError, system_errors
from ckprof.kernels.keys import environment_flags
from ckprof.kernels.manifest import chunk_size_of, direction_of
from ckprof.kernels.requests import DEFAULT_CHUNK_SIZE
from ckprof.model.recipe import BuildRequest, Product
from ckprof.paths import work_dir
from ckprof.private_folders import lock_file, private_folder
from ckprof.sanitize import encodable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filelock import FileLock

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.requests import BuildOptions
    from ckprof.model.recipe import BuildRecipe, Purpose
    from ckprof.plugin.protocols import Operation, SourceAddition, Target
    from ckprof.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildDir:
    """A folder that is ready to be built in, for which target.

    :raises UsageError: a chunk would hold no kernel.
    """

    direction: Operation
    target: Target
    arch: str
    root: Path
    recipe: BuildRecipe
    #: kernels per registration source; ``None``: the sources are not made ready for another build system
    chunk_size: int | None = None
    #: what plugins write beside the kernels
    additions: tuple[SourceAddition, ...] = ()

    def __post_init__(self) -> None:
        if self.chunk_size is not None and self.chunk_size < 1:
            raise UsageError(f"a chunk of {self.chunk_size} kernels: expected 1 or more")

    @property
    def lock(self) -> FileLock:
        """Keeps two processes from writing the same tree at once.

        :raises InputError: it cannot be made.
        """
        path = self.root.with_name(f"{self.root.name}.lock")
        with system_errors(InputError, "cannot make the lock of the folder", path):
            return lock_file(path)


def build_dir_for(
    session: Session,
    candidates: Sequence[Candidate],
    options: BuildOptions,
    purpose: Purpose,
    *,
    sources_only: bool = False,
    embed: bool = False,
) -> BuildDir:
    """Decide where the sources and the library of these candidates go, and make the folder.

    Unless the user names a folder, its name is a digest of everything that the library depends on:
    direction, target, instances, compiler, flags and headers. So the same call finds its library again, and
    different calls never share a folder.

    Trees in a folder that the user names, and those of sources only, are made ready for other build systems.

    :param candidates: of one direction, at least one.
    :param sources_only: nothing will be compiled here.
    :param embed: make the tree ready for other build systems wherever it lies.
    :raises ToolchainError: the target has no usable compiler or headers.
    :raises UsageError: a chunk would hold no kernel, or the folder holds another direction.
    :raises InputError: the folder cannot be made.
    """
    settings, target = session.settings, session.target(options.target)
    direction = session.registry.operation(candidates[0].instance.direction)
    request = BuildRequest(
        arch=options.arch or settings.arch or target.default_arch,
        operation=direction.id,
        compiler=options.compiler or settings.compiler,
        purpose=purpose,
        ck_root=options.ck_root,
        extra_flags=options.cxx_flags,
        api_level=options.api_level,
        device=options.device,
        sources_only=sources_only,
    )
    recipe = session.recipe(target, request)
    for pipeline in {id(candidate.pipeline): candidate.pipeline for candidate in candidates}.values():
        recipe = pipeline.compilation([candidate.instance for candidate in candidates], recipe)
    if options.build_dir is not None:
        root = options.build_dir.absolute()
    else:
        base = Path(settings.work_dir).absolute() if settings.work_dir else work_dir()
        # every list by itself: what ends one and begins the next must not look alike
        parts = (
            (direction.id, recipe.target, recipe.arch, recipe.api_level, purpose.value),
            ("embed",) if embed else (),
            (recipe.compiler.identity, recipe.machine_identity),
            recipe.compile_flags,
            recipe.kernel_flags,
            recipe.link_flags,
            recipe.location_flags,
            tuple(str(folder) for folder in recipe.include_dirs),
            tuple(candidate.instance.key for candidate in candidates),
            *filter(None, (recipe.compiler.added_words, environment_flags(recipe))),
        )
        digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
        root = base / f"{direction.id}-{recipe.target}-{digest}"
    _make(root, direction, is_named=options.build_dir is not None)
    build_dir = BuildDir(direction=direction, target=target, arch=request.arch, root=root, recipe=recipe)
    # what a program embeds is a library
    if (options.build_dir or sources_only or embed) and recipe.product is Product.LIBRARY:
        size = options.chunk_size if options.chunk_size is not None else chunk_size_of(root)
        return replace(build_dir, chunk_size=DEFAULT_CHUNK_SIZE if size is None else size)
    return build_dir


def _make(root: Path, direction: Operation, *, is_named: bool) -> None:
    """Make a folder, and find out now what would end a build after minutes.

    :param is_named: the user has named it: the folder that it is in must exist.
    :raises InputError: it cannot be made, or takes no file.
    :raises ToolchainError: other users could have put something there.
    :raises UsageError: it holds another direction.
    """
    if is_named and not root.parent.is_dir():
        raise InputError(f"there is no folder {root.parent}; make it first", root)
    if encodable(str(root)) != str(root):
        raise InputError("the name is not UTF-8, as build files are; choose another folder", root)
    with system_errors(InputError, "cannot make the folder", root):
        private_folder(root)
    with system_errors(InputError, "cannot write into the folder", root):
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(b" " * 4096)
    owner = direction_of(root)
    if owner not in (None, direction.id):
        raise UsageError(
            f"{root} holds the kernels of {owner}: those of {direction.id} need a folder of their own"
        )
