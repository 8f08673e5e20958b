"""What is compared: stored predictions, a build, headers or a revision of them, a compiler, or a list."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, ToolchainError
from ckprof.kernels.manifest import read_tree
from ckprof.paths import cache_dir
from ckprof.sanitize import one_line
from ckprof_plugins.tuning.gate.baseline import read_baseline
from ckprof_plugins.tuning.stored.reading import origins_of, read_store

if TYPE_CHECKING:
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.requests import BuildOptions
    from ckprof_plugins.tuning.gate.baseline import PredictionBaseline

#: ending of lists
_LIST: Final = ".conf"
#: separates a tree from its revision
_AT: Final = "@"
#: seconds that Git gets to list or pack a tree
_GIT_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSide:
    """One of two states."""

    #: as the user named it
    name: str
    #: figures that were predicted before; ``None`` for a state that is built
    baseline: PredictionBaseline | None = None
    #: folder of a build, whose kernels are as they were built
    folder: Path | None = None
    #: folder of headers, ``None`` for those of both sides
    headers: Path | None = None
    #: what of it counts, in Git; empty for the folder as it is
    revision: str = ""
    #: ``None`` for that of both sides
    compiler: str | None = None
    #: list of instances, ``None`` for that of both sides, and what is chosen of it
    conf: Path | None = None
    selection: Selection | None = None

    @classmethod
    def of(cls, name: str, direction: str = "") -> GateSide:
        """Return what a name means.

        :param direction: which predictions of a store are meant; empty where it has those of one.
        :raises InputError: it is nothing that can be compared, or a file that is no baseline.
        """
        path = Path(name)
        if origins_of(name):
            return cls(name=name, baseline=read_store(name).side(direction))
        if name and path.is_dir():
            is_built = read_tree(path) is not None
            return cls(name=name, folder=path) if is_built else cls(name=name, headers=path)
        if path.suffix == _LIST and path.is_file():
            return cls(name=name, conf=path)
        if path.is_file() and not os.access(path, os.X_OK):
            return cls(name=name, baseline=read_baseline(path))
        folder, at, revision = name.rpartition(_AT)
        if at and revision and not revision.startswith("-") and Path(folder).is_dir():
            return cls(name=name, headers=Path(folder), revision=revision)
        words = name.split()
        if words and (shutil.which(words[0]) or os.access(words[0], os.X_OK)):
            return cls(name=name, compiler=name)
        raise InputError(
            "is neither a baseline of 'ckprof predict --write', nor a store of 'ckprof sweep --predict', nor "
            "a folder of a build or of headers, nor FOLDER@REVISION, nor a list (.conf), nor a compiler that "
            "can be called",
            name or "''",
        )

    def build_options(self, options: BuildOptions) -> BuildOptions:
        """Return how this side is built.

        :param options: of both sides.
        :raises InputError: there is no such revision.
        :raises ToolchainError: there is no Git.
        """
        if self.compiler is not None:
            return replace(options, compiler=self.compiler)
        if self.headers is None:
            return options
        return replace(
            options, ck_root=tree_of(self.headers, self.revision) if self.revision else self.headers
        )


def git(folder: Path, *words: str) -> bytes:
    """Return what a command of Git prints about the repository of a folder.

    :raises InputError: it fails.
    :raises ToolchainError: there is no Git.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, check=False, timeout=_GIT_S
        )
    except FileNotFoundError:
        raise ToolchainError("revisions of a tree need git; install it: apt-get install git") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"'git {words[0]}' takes longer than {_GIT_S:.0f} s", folder) from None
    if done.returncode:
        said = one_line(done.stderr.decode(errors="replace").strip()).removeprefix("fatal: ")
        raise InputError(f"'git {' '.join(words)}' fails: {said}", folder)
    return done.stdout


def tree_of(folder: Path, revision: str) -> Path:
    """Return a folder that has what a revision has in place of another folder; kept in the cache.

    :param folder: below which everything counts, in a repository.
    :param revision: whatever Git takes as one.
    :raises InputError: it is in no repository, or has no such revision, or not the folder.
    :raises ToolchainError: there is no Git.
    """
    below = git(folder, "rev-parse", "--show-prefix").decode().strip()
    root = Path(git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n"))
    # a word that begins with a dash would be an option
    tree = (
        git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}:{below}").decode().split()[-1]
    )
    place = cache_dir() / "trees" / tree
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f".{tree}.{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with tarfile.open(fileobj=BytesIO(git(root, "archive", tree))) as archive:
            archive.extractall(partial, filter="data")
        partial.rename(place)
    except OSError as exc:
        if not place.is_dir():
            raise InputError(
                f"revision {revision} cannot be written to {place}: {exc.strerror}", folder
            ) from exc
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place
