"""What the build needs to know about generated sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ckprof.model.instance import Instance


class KernelFiles(Protocol):
    """The generated files of one kernel."""

    @property
    def instance(self) -> Instance:
        """What the kernel was generated from."""

    @property
    def name(self) -> str:
        """The kernel's name, unique in its tree."""

    @property
    def header(self) -> Path:
        """The kernel itself."""

    @property
    def entry(self) -> Path:
        """The translation unit that includes the header and offers the kernel to the library."""

    @property
    def symbol(self) -> str:
        """What the translation unit defines for the library's list of kernels."""

    @property
    def weight(self) -> int:
        """What its compilation costs, compared with others."""


class SourceTree(Protocol):
    """A folder of generated kernels."""

    @property
    def root(self) -> Path:
        """The folder."""

    @property
    def library_name(self) -> str:
        """Name of the library, a part of its file's name."""

    @property
    def kernels(self) -> Sequence[KernelFiles]:
        """The kernels, in the order in which a library lists them."""


if TYPE_CHECKING:
    #: writes the source that lists the kernels with these symbols, and returns its path
    LibraryWriter = Callable[[SourceTree, Sequence[str]], Path]
