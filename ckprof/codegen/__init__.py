"""From instances to source trees."""

from __future__ import annotations

from ckprof.codegen.entry import ABI_INCLUDE_DIR, kernel_symbol
from ckprof.codegen.source_tree import (
    KernelFiles,
    SourceTree,
    TreeRequest,
    generate_tree,
    write_library_source,
)

__all__ = [
    "ABI_INCLUDE_DIR",
    "KernelFiles",
    "SourceTree",
    "TreeRequest",
    "generate_tree",
    "kernel_symbol",
    "write_library_source",
]
