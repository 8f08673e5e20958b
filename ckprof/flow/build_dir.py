"""Where a library is generated and built."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from ckprof.codegen.embedding import DEFAULT_CHUNK_SIZE, Embedding
from ckprof.codegen.manifest import chunk_size_of, direction_of
from ckprof.errors import InputError, UsageError
from ckprof.model.recipe import Product
from ckprof.paths import work_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.flow.candidates import Candidate
    from ckprof.model.recipe import BuildRecipe, BuildRequest
    from ckprof.plugin.protocols import Operation, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlace:
    """What the user said of the folder."""

    #: the folder itself; ``None`` for one below ``base``
    folder: Path | None = None
    #: where folders are made; ``None`` for the cache
    base: Path | None = None
    #: make the tree ready for other build systems, wherever it lies
    embed: bool = False
    #: kernels per registration source; ``None`` keeps what an earlier tree has, or else the default
    chunk_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildDir:
    """A folder that is ready to be built in, for which target."""

    direction: Operation
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


def prepare_build_dir(
    candidates: Sequence[Candidate],
    direction: Operation,
    target: Target,
    request: BuildRequest,
    place: BuildPlace,
) -> BuildDir:
    """Decide where the sources and the library of these candidates go, and make the folder.

    Unless the user names a folder, its name is a digest of everything that the library depends on:
    direction, target, instances, compiler, flags and headers. So the same call finds its library again, and
    different calls never share a folder.

    Trees in a folder that the user names, and those of sources only, are made ready for other build systems.

    :raises ToolchainError: the target has no usable compiler or headers.
    :raises UsageError: a chunk would hold no kernel, or the folder holds another direction.
    :raises InputError: the folder cannot be made.
    """
    recipe = target.recipe(request)
    root = place.folder.absolute() if place.folder else _root(candidates, direction, recipe, request, place)
    if place.folder and not root.parent.is_dir():
        raise InputError(f"there is no folder {root.parent}; make it first", root)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise InputError(f"cannot make the folder: {exc.strerror}", root) from None
    _check_writable(root)
    owner = direction_of(root)
    if owner not in (None, direction.id):
        raise UsageError(
            f"{root} holds the kernels of {owner}: those of {direction.id} need a folder of their own"
        )
    embedding = None
    # what a program embeds is a library
    if (place.folder or request.sources_only or place.embed) and recipe.product is Product.LIBRARY:
        size = place.chunk_size if place.chunk_size is not None else chunk_size_of(root)
        embedding = Embedding(recipe=recipe, chunk_size=DEFAULT_CHUNK_SIZE if size is None else size)
    return BuildDir(
        direction=direction,
        target=target,
        arch=request.arch,
        root=root,
        recipe=recipe,
        embedding=embedding,
    )


def _check_writable(root: Path) -> None:
    """Find out now what would end a build after minutes.

    :raises InputError: the folder takes no file.
    """
    try:
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(b" " * 4096)
    except OSError as exc:
        raise InputError(f"cannot write into the folder: {exc.strerror}", root) from None


def _root(
    candidates: Sequence[Candidate],
    direction: Operation,
    recipe: BuildRecipe,
    request: BuildRequest,
    place: BuildPlace,
) -> Path:
    # every list by itself: what ends one and begins the next must not look alike
    parts = (
        (direction.id, recipe.target, recipe.arch, recipe.api_level, request.purpose.value),
        ("embed",) if place.embed else (),
        (recipe.compiler.identity, recipe.machine_identity),
        recipe.compile_flags,
        recipe.kernel_flags,
        recipe.link_flags,
        recipe.location_flags,
        tuple(str(folder) for folder in recipe.include_dirs),
        tuple(candidate.instance.key for candidate in candidates),
    )
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
    base = place.base.absolute() if place.base else work_dir()
    return base / f"{direction.id}-{recipe.target}-{digest}"
