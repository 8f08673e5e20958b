"""What is in the key of an object of the cache, and what a store says of the code of a kernel: decided here.

A key holds all that can change the bytes of a product and nothing else: no path of a checkout, no date. So
two checkouts share their objects, and whatever changes makes a new key instead of a wrong hit.

The key of a kernel's **object** has: version of the build and of the C interface; the compiler by its
identity and the words of its command; flags of the target, of units, of kernels and of the user; what
``-march=native`` means on this machine; the content of all folders of headers; the variables of
:data:`_VARIABLES`, and those that the recipe names; the prefix header; and name and content of its sources.

The **toolchain** of a measurement in a store (:class:`~ckprof.store.key.ToolchainKey`) has what of that is
not the kernel's own: compiler, :func:`code_flags` and the digest of the headers. What is the kernel's own is
in its :class:`~ckprof.store.key.KernelKey`: the content key of the instance, and the digest of its object.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import ckprof.kernels
from ckprof.errors import ToolchainError
from ckprof.files import read_own, write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.recipe import BuildRecipe


#: a file changed this recently may change again without its time stamp moving on
_SETTLED_NS: Final = 2_000_000_000


def digest_parts(*parts: str | bytes) -> str:
    """Return a digest that depends on every part and on where one ends and the next begins."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def digest_file(path: Path) -> str:
    """Return the digest of a file's bytes.

    :raises OSError: it cannot be read.
    """
    state = hashlib.blake2b(digest_size=20)
    with path.open("rb") as stream:
        while block := stream.read(65_536):
            state.update(block)
    return state.hexdigest()


class FolderDigests:
    """Digests of folders by the relative names and the contents of all files below them.

    Reading thousands of headers for every build is slow, so a digest is kept together with names, sizes and
    times of change and holds as long as these do.

    :param store: folder for known digests; ``None`` reads all files every time.
    """

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self._known: dict[Path, str] = {}

    def of(self, folder: Path) -> str:
        """Return the digest of a folder; that of a missing folder is that of an empty one."""
        folder = folder.resolve()
        if folder not in self._known:
            self._known[folder] = self._look_up(folder)
        return self._known[folder]

    def _look_up(self, folder: Path) -> str:
        started = time.time_ns()
        files = sorted(_files(folder))
        listing = repr([(name, size, changed) for name, size, changed, _ in files])
        signature = digest_parts(listing)
        memo = self._store / f"{digest_parts(str(folder))}.json" if self._store is not None else None
        if memo is not None:
            with suppress(OSError, ValueError, KeyError, TypeError):
                record = json.loads(read_own(memo))
                if record["signature"] == signature:
                    return str(record["digest"])
        digest = digest_parts(*(part for name, _, _, path in files for part in (name, path.read_bytes())))
        settled = all(changed + _SETTLED_NS < started for _, _, changed, _ in files)
        if memo is not None and settled:
            with suppress(OSError):  # only costs time: the next run reads the files again
                write_atomically(memo, json.dumps({"signature": signature, "digest": digest}))
        return digest


def _files(folder: Path) -> list[tuple[str, int, int, Path]]:
    """Return relative name, size, time of change and path of every file below a folder."""
    files: list[tuple[str, int, int, Path]] = []
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            try:
                status = path.stat()
            except OSError:
                continue  # a dangling link cannot be included either
            files.append((path.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns, path))
    return files


#: variables from which the usual compilers take folders of headers, tools, changes of their command line, and
#: what the date is
_VARIABLES: Final = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "CCC_OVERRIDE_OPTIONS",
    "SOURCE_DATE_EPOCH",
)


def environment_flags(recipe: BuildRecipe, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what the environment adds to the command line of a recipe's compiler, as ``NAME=value``.

    ``CXXFLAGS`` is not among it: no compiler reads it.
    """
    names = (*_VARIABLES, *recipe.variables)
    return tuple(f"{name}={environment[name]}" for name in names if environment.get(name, "").strip())


def code_flags(recipe: BuildRecipe) -> tuple[str, ...]:
    """Return all flags that kernels are compiled with, but for folders of headers."""
    compiler = recipe.compiler.added_words
    return (*compiler, *recipe.compile_flags, *recipe.kernel_flags, *environment_flags(recipe))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSources:
    """The generated files of one kernel."""

    #: content key of the instance
    key: str
    #: kernel name, unique in the tree: the stem of both files
    name: str
    #: the kernel itself
    header: Path
    #: the translation unit that includes the header and offers the kernel to the library
    entry: Path
    #: C symbol of the kernel's table row
    symbol: str
    #: what its compilation costs, in device functions
    weight: int = 1
    #: what the linker's names of its device functions contain; empty if they do not tell whose they are
    device_marker: str = ""

    def fields(self) -> Mapping[str, object]:
        """Return the fields of the instance that decide about its machine code, as far as they are known."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFolder:
    """A folder of generated kernels, of which objects can be made."""

    root: Path
    #: the library's name without prefix and suffix
    library_name: str
    #: one per distinct content key, in the order in which a library lists them
    kernels: tuple[KernelSources, ...]

    @property
    def shared_sources(self) -> tuple[Path, ...]:
        """What is compiled once and linked into the library beside its kernels and its table."""
        return ()

    def write_library_source(self, symbols: Sequence[str]) -> Path:
        """Write the source that lists the kernels with these symbols, and return its path."""
        raise NotImplementedError("only whole trees are linked")


#: raised whenever compile commands or the layout of the cache change
BUILD_SCHEMA: Final = 1


def abi_dir() -> Path:
    """Return the folder with the C interface between a kernel library and its user."""
    return Path(*ckprof.kernels.__path__, "abi")


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
