"""The rule set ``default``: ten tiles with one wave grid and one MMA tile each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline, Scheduler
from ckprof_plugins.rule_sets.gemm_config import (
    Features,
    GemmConfig,
    entry_of,
    make_instance,
    upstream_accepts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.architecture import Sizes
    from ckprof.plugin.protocols import RuleSetEntry, RuleSetRequest

_VECTORS: Final = (4, 8, 8)


#: tile, wave grid, MMA tile, and whether there is a compv4 kernel, with twice the ``tile_k``
_ROWS: Final[tuple[tuple[Sizes, Sizes, Sizes, bool], ...]] = (
    ((16, 64, 64), (1, 4, 1), (16, 16, 16), True),
    ((32, 64, 64), (2, 2, 1), (16, 16, 16), True),
    ((64, 64, 64), (4, 1, 1), (16, 16, 16), True),
    ((32, 128, 64), (1, 4, 1), (32, 32, 16), False),
    ((64, 128, 64), (2, 2, 1), (32, 32, 16), False),
    ((128, 128, 64), (4, 4, 1), (32, 32, 16), False),
    ((16, 64, 128), (1, 4, 1), (16, 16, 32), True),
    ((32, 64, 128), (2, 2, 1), (16, 16, 32), True),
    ((64, 64, 128), (4, 1, 1), (16, 16, 32), True),
    ((128, 64, 128), (8, 2, 1), (16, 16, 32), False),
)

_BACKWARD: Final = (
    (GemmPipeline.COMPV3, Epilogue.CSHUFFLE),
    (GemmPipeline.MEM, Epilogue.DEFAULT),
)

#: Direction -> its GEMM pipelines and epilogues, in order.
_GEMM_PIPELINES: Final = {
    "fwd": ((GemmPipeline.COMPV3, Epilogue.CSHUFFLE), (GemmPipeline.COMPV4, Epilogue.CSHUFFLE)),
    "bwd_data": _BACKWARD,
    "bwd_weight": _BACKWARD,
}


class DefaultRuleSet:
    """A few dozen kernels per direction."""

    id = "default"
    label = "ten tiles, one wave grid and one MMA tile each"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels; every configuration exists for each data type."""
        configs = (
            config
            for direction in request.directions
            for ndim in request.ndims
            for config in _configs(direction, ndim, request)
        )
        return [
            entry_of(make_instance(config, number), request.arch) for number, config in enumerate(configs)
        ]


def _configs(direction: str, ndim: int, request: RuleSetRequest) -> Iterator[GemmConfig]:
    stages = (False, True) if direction == "bwd_weight" else (False,)
    for gemm_pipeline, epilogue in _GEMM_PIPELINES.get(direction, ()):
        doubled = gemm_pipeline is GemmPipeline.COMPV4
        for tile, wave_grid, mma_tile, double_buffered in _ROWS:
            if doubled and not double_buffered:
                continue
            m, n, k = tile
            for two_stage in stages:
                for dtype in request.dtypes:
                    config = GemmConfig(
                        direction=direction,
                        ndim=ndim,
                        dtype=dtype,
                        tile=(m, n, 2 * k if doubled else k),
                        wave_grid=wave_grid,
                        mma_tile=mma_tile,
                        vectors=_VECTORS,
                        gemm_pipeline=gemm_pipeline,
                        scheduler=Scheduler.INTRAWAVE,
                        epilogue=epilogue,
                        features=Features(two_stage=two_stage),
                        double_smem_buffer=doubled,
                    )
                    if upstream_accepts(config, request.arch, tagged=False):
                        yield config
