"""The rule set ``rdna``: forward kernels for the RDNA devices whose matrix products are 16x16x16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.types import DataType
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, Scheduler
from ckprof_plugins.rule_sets.gemm_config import GemmConfig, entry_of, make_instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.plugin.protocols import RuleSetEntry, RuleSetRequest

#: those that upstream's table has; gfx115x have no row, products of gfx1250 are 16x16x32
DEVICES: Final = frozenset({"gfx1100", "gfx1200", "gfx1201"})

_MMA_TILE: Final = (16, 16, 16)
_TILE_K: Final = 32
_VECTORS: Final = (2, 2, 8)
_NDIMS: Final = (2, 3)
_DTYPES: Final = (DataType.FP16, DataType.BF16)


def rdna_configs(request: RuleSetRequest) -> Iterator[GemmConfig]:
    """Yield one kernel per type, number of dimensions and wave grid; each wave has one product of a tile."""
    if request.arch.name not in DEVICES or "fwd" not in request.directions:
        return
    for dtype in _DTYPES:
        for ndim in _NDIMS:
            if dtype in request.dtypes and ndim in request.ndims:
                for grid in request.arch.wave_grids:
                    yield GemmConfig(
                        direction="fwd",
                        ndim=ndim,
                        dtype=dtype,
                        tile=(_MMA_TILE[0] * grid[0], _MMA_TILE[1] * grid[1], _TILE_K),
                        wave_grid=grid,
                        mma_tile=_MMA_TILE,
                        vectors=_VECTORS,
                        gemm_pipeline=GemmPipeline.COMPV3,
                        scheduler=Scheduler.INTRAWAVE,
                    )


class RdnaRuleSet:
    """A kernel per wave grid; none for other devices, directions and types."""

    id = "rdna"
    label = f"forward kernels in fp16 and bf16 for {', '.join(sorted(DEVICES))}"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels."""
        configs = enumerate(rdna_configs(request))
        return [entry_of(make_instance(config, number), request.arch) for number, config in configs]
