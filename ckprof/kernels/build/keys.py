"""Content keys of everything that a build produces.

A key holds all that can change the bytes of a product and nothing else: no path of a checkout, no date. So
two checkouts share their objects, and whatever changes makes a new key instead of a wrong hit.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import ckprof.kernels.source
from ckprof.errors import ToolchainError
from ckprof.kernels.build.code_flags import environment_flags
from ckprof.kernels.build.digests import FolderDigests, digest_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.recipe import BuildRecipe

#: raised whenever compile commands or the layout of the cache change
BUILD_SCHEMA: Final = 1


def abi_dir() -> Path:
    """Return the folder with the C interface between a kernel library and its user."""
    return Path(ckprof.kernels.source.__path__[0], "abi")


def abi_version(folder: Path | None = None) -> int:
    """Return the number of that interface.

    :param folder: where ``ckprof_abi.h`` lies, by default :func:`abi_dir`.
    :raises ToolchainError: the header is missing or has no number.
    """
    header = (folder or abi_dir()) / "ckprof_abi.h"
    try:
        text = header.read_text()
    except OSError as exc:
        raise ToolchainError(f"{header}: cannot be read ({exc.strerror}); reinstall ckprof") from exc
    version = re.search(r"^#define CKPROF_ABI_VERSION (\d+)", text, re.MULTILINE)
    if not version:
        raise ToolchainError(f"{header}: no CKPROF_ABI_VERSION; reinstall ckprof")
    return int(version[1])


class Keys:
    """The keys of one recipe.

    :param recipe: how things are compiled.
    :param folders: digests of header folders.
    """

    def __init__(self, recipe: BuildRecipe, folders: FolderDigests) -> None:
        self._recipe = recipe
        self._folders = folders
        self._kernel_flags = "\0".join(recipe.kernel_flags)
        self._base = digest_parts(
            f"schema {BUILD_SCHEMA}",
            f"abi {abi_version()}",
            recipe.compiler.identity,
            "\0".join(recipe.compiler.command[1:]),
            "\0".join((*recipe.compile_flags, *recipe.unit_flags)),
            recipe.machine_identity,
            *(folders.of(folder) for folder in recipe.digested_dirs or recipe.include_dirs),
            *environment_flags(recipe),
        )

    def prefix(self) -> str:
        """Return the key of the precompiled prefix header.

        Compilers note in it where headers were found, so this key alone holds their paths.
        """
        paths = "\0".join(str(folder.resolve()) for folder in self._recipe.include_dirs)
        return digest_parts("prefix", self._base, self._kernel_flags, self._recipe.prefix_header, paths)

    def kernel(self, name: str, sources: Sequence[Path]) -> str:
        """Return the key of the object of a kernel.

        :param name: name of its translation unit.
        :param sources: every generated file that goes into it.
        :raises OSError: one cannot be read.
        """
        texts = [path.read_bytes() for path in sources]
        return digest_parts(
            "kernel", self._base, self._kernel_flags, self._recipe.prefix_header, name, *texts
        )

    def unit(self, kernels: Sequence[str]) -> str:
        """Return the key of the object of several kernels in one translation unit.

        :param kernels: their own keys, in the order of the source.
        """
        return digest_parts("unit", *kernels)

    def plain(self, source: Path, *, generated: bool = False) -> str:
        """Return the key of the object of a source without prefix header, and of the headers beside it.

        :param generated: the source needs nothing beside it.
        :raises OSError: it cannot be read.
        """
        beside = () if generated else (self._folders.of(source.parent),)
        return digest_parts("plain", self._base, source.name, source.read_bytes(), *beside)

    def library(self, file_name: str, objects: Sequence[str]) -> str:
        """Return the key of a library.

        :param file_name: name of its file.
        :param objects: keys of the objects, in the order they are linked.
        """
        return digest_parts(
            "library",
            f"schema {BUILD_SCHEMA}",
            self._recipe.compiler.identity,
            "\0".join((*self._recipe.linker, *self._recipe.link_flags)),
            file_name,
            *objects,
        )
