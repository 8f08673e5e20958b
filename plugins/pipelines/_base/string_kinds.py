"""The kinds of instance strings that the kernels print, by direction."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ckprof.strings import ck_tile
from ckprof_plugins.pipelines._base.operation import OPERATIONS

_BY_CLASS: Final = {kind.name: kind for kind in ck_tile.KINDS if not kind.literals}

#: direction id -> kind of the GEMM kernels
GEMM_KINDS: Final = MappingProxyType(
    {
        direction: replace(_BY_CLASS[operation.kernel_class], direction=direction)
        for direction, operation in OPERATIONS.items()
    }
)

#: kind of the depthwise kernels
DEPTHWISE_KIND: Final = replace(
    ck_tile.DEPTHWISE,
    direction=next(id_ for id_, kind in GEMM_KINDS.items() if kind.name == ck_tile.DEPTHWISE.name),
)

KINDS: Final = (*GEMM_KINDS.values(), DEPTHWISE_KIND)
