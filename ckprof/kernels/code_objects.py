"""The code objects of a build and the list of what lies in them.

Below the root of a source tree:

.. code-block:: text

    code_objects/<key>.co    machine code of one or more kernels
    code_objects.json        which kernel lies in which file, and how it was compiled
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from ckprof.errors import CkprofError, InputError, system_errors
from ckprof.files import write_atomically
from ckprof.kernels import manifest
from ckprof.kernels.compile_step import MESSAGES_FILE
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Target
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.kernels.keys import KernelSources
    from ckprof.kernels.source_tree import SourceTree
    from ckprof.model.recipe import BuildRecipe

FILE: Final = "code_objects.json"
FOLDER: Final = "code_objects"
#: compilers say it, and assemblers of devices in messages that they call information
_WARNING: Final = re.compile(r"\bwarning\b|performance loss", re.IGNORECASE)
#: characters of a warning after which the rest is cut: names of functions are in it
_LONGEST_WARNING: Final = 400


class KernelCode(msgspec.Struct, frozen=True, kw_only=True):
    """Where the machine code of one kernel lies."""

    name: str
    #: content key of the instance
    key: str
    #: path; in the list, below the root of the tree
    file: str
    #: what the names of its device functions contain
    marker: str
    #: what the compiler warned about, each once
    warnings: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file)


class CodeObjects(msgspec.Struct, frozen=True, kw_only=True):
    """The machine code of a build."""

    schema: Literal["ckprof-code-objects"] = "ckprof-code-objects"
    version: Literal[1] = 1
    #: that wrote the list; of no influence
    generator: str = __version__
    target: str
    arch: str
    api_level: str
    #: compiler, flags and API level, for people
    compiler: str
    kernels: tuple[KernelCode, ...]


def write_code_objects(tree: SourceTree, recipe: BuildRecipe, objects: Mapping[str, Path]) -> Path:
    """Copy the code objects of a build out of the cache, and list them.

    :param objects: content key of an instance -> the object that holds its kernel.
    :returns: the root of the tree.
    :raises InputError: the folder cannot be written.
    """
    folder = tree.root / FOLDER
    content = code_objects_of(tree.kernels, recipe, objects)
    # an entry of the cache is called after its key
    names = {kernel.path: f"{kernel.path.parent.name}.co" for kernel in content.kernels}
    with system_errors(InputError, "cannot be written", folder):
        folder.mkdir(exist_ok=True)
        for path, name in names.items():
            if not _same(path, folder / name):
                shutil.copyfile(path, folder / name)
        for stale in set(folder.glob("*.co")) - {folder / name for name in names.values()}:
            stale.unlink()
        kernels = (
            msgspec.structs.replace(kernel, file=f"{FOLDER}/{names[kernel.path]}")
            for kernel in content.kernels
        )
        content = msgspec.structs.replace(content, kernels=tuple(kernels))
        text = msgspec.json.format(msgspec.json.encode(content), indent=1).decode()
        write_atomically(tree.root / FILE, text + "\n")
    return tree.root


def code_objects_of(
    kernels: Iterable[KernelSources], recipe: BuildRecipe, objects: Mapping[str, Path]
) -> CodeObjects:
    """Return the list of code objects where they lie.

    :param objects: content key of an instance -> the object that holds its kernel.
    """
    return CodeObjects(
        target=recipe.target,
        arch=recipe.arch,
        api_level=recipe.api_level,
        compiler=recipe.compiler.description,
        kernels=tuple(
            KernelCode(
                name=kernel.name,
                key=kernel.key,
                file=str(path),
                marker=kernel.device_marker,
                warnings=_warnings(path.parent / MESSAGES_FILE),
            )
            for kernel in kernels
            if (path := objects.get(kernel.key)) is not None
        ),
    )


def read_ahead(target: Target, arch: str, paths: Iterable[Path]) -> None:
    """Let the target read code objects, if it can, so that they are ready when it is asked.

    :param paths: the code objects; each is read once.
    """
    if not offers(target, Target.inspect):
        return
    for path in set(paths):
        try:
            target.inspect(path, arch)
        except CkprofError:
            return  # reported when someone asks


def _warnings(path: Path) -> tuple[str, ...]:
    """Return the warnings among the messages of a compiler, each once."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    warnings = (line.strip()[:_LONGEST_WARNING] for line in text.splitlines() if _WARNING.search(line))
    return tuple(dict.fromkeys(warnings))


def _same(source: Path, copy: Path) -> bool:
    try:
        return copy.stat().st_size == source.stat().st_size and copy.read_bytes() == source.read_bytes()
    except OSError:
        return False


def read_code_objects(root: Path) -> CodeObjects:
    """Return what a build has left in its folder.

    :raises InputError: there is no list of code objects, or it cannot be used.
    """
    path = root / FILE
    try:
        code = msgspec.json.decode(path.read_bytes(), type=CodeObjects)
    except OSError as exc:
        raise InputError(
            f"neither {FILE} nor {manifest.FILE} of a build can be read ({exc.strerror}): expected a "
            "folder of 'ckprof build --build-dir', or a report of 'ckprof inspect --format json'",
            root,
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise InputError(f"not a list of code objects: {exc}", path) from None
    kernels = (msgspec.structs.replace(kernel, file=str(root / kernel.file)) for kernel in code.kernels)
    return msgspec.structs.replace(code, kernels=tuple(kernels))
