"""A source tree of Composable Kernel that has CK Builder's reflection."""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path
from typing import Final

from ckprof.errors import InputError, ToolchainError

#: the set that has every instance of a factory
SET: Final = "profiler"
#: devices for which factories differ
ARCHS: Final = ("gfx942", "gfx950")
_REFLECTION: Final = Path("ck_tile", "builder", "reflect")
_BUILDER: Final = Path("experimental", "builder", "include")
_INSTANCES: Final = Path("library", "src", "tensor_operation_instance", "gpu")
#: a root may be a checkout of the whole repository, or lie in a package
_BELOW: Final = ("", "projects/composablekernel", "aiter_meta/3rdparty/composable_kernel")
#: templates, from which the library's build makes sources with some of the instances each
TEMPLATE: Final = ".in"
_DEFINITION: Final = re.compile(r"^\s*void\s+(add_device_\w+?)(?:_shard)?\s*\(", re.MULTILINE)


class BuilderTree:
    """The parts of a source tree that reflection needs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def includes(self) -> tuple[Path, ...]:
        """Folders that are searched for headers, less those of ckprof."""
        return (self.root / "include", self.root / "library" / "include", self.root / _BUILDER)

    @property
    def is_configured(self) -> bool:
        """Whether CMake has left the header with the configuration."""
        return (self.root / "include" / "ck" / "config.h").is_file()

    @property
    def traits(self) -> tuple[str, ...]:
        """The headers with the descriptions of device operations, as sources include them; helpers first."""
        folder = self.root / _BUILDER / _REFLECTION
        names = sorted(path.name for path in folder.glob("instance_traits*.hpp"))
        # the others use what it declares, and do not all include it
        names.sort(key=lambda name: name != "instance_traits_util.hpp")
        return tuple((_REFLECTION / name).as_posix() for name in names)

    @cached_property
    def sources(self) -> dict[str, Path]:
        """Name of a function that adds instances -> the source that defines it, or the template of it."""
        found: dict[str, Path] = {}
        for path in sorted((self.root / _INSTANCES).glob("grouped_conv*/**/*")):
            if path.suffix in (".cpp", TEMPLATE):
                for name in _DEFINITION.findall(path.read_text(encoding="utf-8", errors="replace")):
                    found.setdefault(name, path)
        return found

    @property
    def version(self) -> str:
        """The first release that the change log names."""
        try:
            text = (self.root / "CHANGELOG.md").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        heading = re.search(r"^##\s+(.*)$", text, re.MULTILINE)
        return heading[1].strip() if heading else ""


def find_tree(given: Path | None) -> BuilderTree:
    """Return the tree at a path, else at ``$CK_ROOT``.

    :raises InputError: the path does not exist.
    :raises ToolchainError: the tree has no reflection, or none was named.
    """
    named = given or (Path(os.environ["CK_ROOT"]) if os.environ.get("CK_ROOT") else None)
    if named is None:
        raise ToolchainError(
            "CK Builder's strings are printed by a source tree of Composable Kernel: name one with --from, "
            "--builder or $CK_ROOT"
        )
    path = named.expanduser()
    if not path.is_dir():
        raise InputError("there is no such folder", named)
    for base in (path, path.parent):
        for below in _BELOW:
            root = base / below
            if (root / _BUILDER / _REFLECTION / "instance_traits.hpp").is_file():
                return _complete(BuilderTree(root.resolve()), named)
    raise ToolchainError(
        f"{named}: no CK Builder below it (need {_BUILDER / _REFLECTION}/instance_traits.hpp): a source tree "
        "from November 2025 on has it, headers alone and older trees do not"
    )


def _complete(tree: BuilderTree, named: Path) -> BuilderTree:
    if not (tree.root / _INSTANCES).is_dir():
        raise ToolchainError(
            f"{named}: the tree has CK Builder, but not the sources of its instances ({_INSTANCES})"
        )
    return tree
