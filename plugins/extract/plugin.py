"""The hooks of the extractors of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import ListExtractor


@hookimpl
def ckprof_register_extractors() -> Sequence[ListExtractor]:
    """Offer the lists of an installed Composable Kernel, and those that CK Builder prints."""
    from ckprof_plugins.extract.extractors import BuilderExtractor, LibraryExtractor

    return [LibraryExtractor(), BuilderExtractor()]
