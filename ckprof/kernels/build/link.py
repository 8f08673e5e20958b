"""The linked library and the record that tells whether it is up to date."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ckprof.errors import ToolchainError
from ckprof.files import write_atomically
from ckprof.kernels.build.digests import digest_file
from ckprof.kernels.build.plan import LINK_STEP
from ckprof.kernels.build.step import Step

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ckprof.model.recipe import BuildRecipe


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
            if json.loads(self._key_file.read_text())["key"] != key:
                return False
            stamp = json.loads(self._stamp.read_text())
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
        try:
            write_atomically(self._key_file, json.dumps({"key": key}))
        except OSError as exc:
            raise ToolchainError(f"{self._folder}: cannot be written: {exc.strerror or exc}") from exc

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
