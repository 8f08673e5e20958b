"""Operands whose fastest axis is not K, where local memory can be read with rows and columns exchanged.

GEMM pipelines either read such operands so, or turn them in registers. Headers lay their tiles out for the
former in both cases, and what turns them takes the rows of that layout for columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.architecture import API_LEVEL_2025_07, API_LEVEL_2025_11
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline

if TYPE_CHECKING:
    from ckprof.model.architecture import Architecture
    from ckprof_plugins.pipelines._gemm.tile_rules import TiledCandidate

_CAPABILITY: Final = "transposed_lds_reads"
#: API levels of which that is known
_LEVELS: Final = frozenset({API_LEVEL_2025_07, API_LEVEL_2025_11})
#: GEMM pipelines that read them so there
_READ_TRANSPOSED: Final = frozenset({GemmPipeline.MEM, GemmPipeline.COMPV3, GemmPipeline.COMPV4})
#: those of them that all the same turn the last one in registers where there are two blocks along K
_LAST_OF_TWO_TURNED: Final = frozenset({(API_LEVEL_2025_07, GemmPipeline.COMPV3)})


def laid_out_for_transposed_reads(candidate: TiledCandidate) -> bool:
    """Say whether the level's headers lay such operands out for these reads on the architecture."""
    return candidate.api_level in _LEVELS and _CAPABILITY in candidate.arch.capabilities


def reads_transposed(candidate: TiledCandidate) -> bool:
    """Say whether the kernel reads such operands transposed from local memory."""
    return laid_out_for_transposed_reads(candidate) and candidate.instance.gemm_pipeline in _READ_TRANSPOSED


def turns_last_of_two(gemm_pipeline: GemmPipeline, arch: Architecture, api_level: str) -> bool:
    """Say whether the level's headers turn such operands twice, in the last of two blocks along K."""
    return _CAPABILITY in arch.capabilities and (api_level, gemm_pipeline) in _LAST_OF_TWO_TURNED


def taken_for_columns(candidate: TiledCandidate, name: str, fast: int, other: int) -> tuple[str, str] | None:
    """Return what the level lacks of a kernel that turns an operand in registers, and what it has instead.

    :param name: of the operand.
    :param fast: elements of its tile along the fastest axis, and
    :param other: along K.
    """
    if fast == other or not laid_out_for_transposed_reads(candidate):
        return None
    instance = candidate.instance
    what = f"{instance.gemm_pipeline.value} for {instance.direction} on {candidate.arch.name}"
    tile = f"with {other} x {fast} elements of {name}"
    return f"right {what} {tile}: it takes rows for columns in LDS", "square tiles"
