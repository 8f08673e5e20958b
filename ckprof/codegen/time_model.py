"""The place of a time model in a source tree: a header that ranks the tree's kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.codegen.source_tree import KernelFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeModelHeader:
    """A header that is rendered once the kernels of the tree are known."""

    #: its file name
    header: str
    #: C++ name of the function that ranks the kernels
    rank: str
    #: tells models apart: a tree is generated again when it changes
    digest: str
    #: writes the header for kernels in the order of the library's table
    render: Callable[[Sequence[KernelFiles]], str] = field(repr=False, compare=False)
