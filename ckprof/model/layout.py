"""Layouts of tensors: what every operation's have."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Layout(Protocol):
    """The memory orders of an operation's tensors: a frozen dataclass, part of the identity of instances."""

    @property
    def name(self) -> str:
        """Spelling of catalogs and file names, in lower case."""

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions, 0 for operations that have none."""

    def order(self, tensor: str) -> str:
        """Return the letters of a tensor's axes, slowest first.

        :param tensor: one of the operation's tensors.
        """
