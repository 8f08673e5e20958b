"""What the build needs to know about generated sources: those of a tree, or of a task of a build pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


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

    def fields(self) -> Mapping[str, object]:
        """Return the fields of the instance that decide about its machine code, as far as they are known."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedSources(KernelSources):
    """Those of a kernel whose machine code can be told from that of others."""

    #: what the linker's names of its device functions contain; empty if they do not tell whose they are
    device_marker: str = ""


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
