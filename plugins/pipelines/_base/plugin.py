"""Announces the instance strings of CK Tile's kernels, which several families print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl
from ckprof_plugins.pipelines._base.string_kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.strings.kind import StringKind


@hookimpl
def ckprof_register_string_kinds() -> Sequence[StringKind]:
    """Add the strings of forward, backward data, backward weight and depthwise kernels."""
    return KINDS
