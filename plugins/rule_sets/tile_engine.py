"""The rule set ``tile-engine``: the ten common tiles in every variant that upstream's sweep builds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from ckprof_plugins.pipelines.kernel_name import DEFAULT_VECTOR_SIZES
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, Scheduler
from ckprof_plugins.rule_sets.gemm_config import Features, GemmConfig, entry_of, make_instance
from ckprof_plugins.rule_sets.tiles import ROWS, compv4_defect, is_split_image

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.plugin.protocols import RuleSetEntry, RuleSetRequest

_DIRECTIONS: Final = ("fwd", "bwd_data", "bwd_weight")
_BOTH: Final = (False, True)
_INTRAWAVE: Final = (Scheduler.INTRAWAVE,)
#: GEMM pipeline -> its schedulers, and whether there is one LDS buffer or two
_VARIANTS: Final = {
    GemmPipeline.COMPV1: (tuple(Scheduler), _BOTH),
    GemmPipeline.MEM: (tuple(Scheduler), _BOTH),
    GemmPipeline.COMPV3: (_INTRAWAVE, _BOTH),
    GemmPipeline.COMPV4: (_INTRAWAVE, (True,)),
    GemmPipeline.COMPV5: (_INTRAWAVE, _BOTH),
    GemmPipeline.COMPV6: (_INTRAWAVE, _BOTH),
}


class TileEngineRuleSet:
    """Thirty kernels per tile: every one of the table of variants, with and without ``_si``."""

    id = "tile-engine"
    label = "the tile engine's sweep: ten tiles in thirty variants each"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels, tile by tile; what a direction does not have is named by its rule.

        :raises InputError: ``--si-as`` has no meaning.
        """
        return list(_entries(request))


def _entries(request: RuleSetRequest) -> Iterator[RuleSetEntry]:
    splits = is_split_image(request.plugin_options)
    number = 0
    directions = [name for name in _DIRECTIONS if name in request.directions]
    for direction, ndim, dtype, row in product(directions, request.ndims, request.dtypes, ROWS):
        tile, wave_grid, mma_tile, _ = row
        for pipeline, (schedulers, buffers) in _VARIANTS.items():
            defect = compv4_defect(tile) if pipeline is GemmPipeline.COMPV4 else None
            for scheduler, doubled, immediate in product(schedulers, buffers, _BOTH):
                config = GemmConfig(
                    direction=direction,
                    ndim=ndim,
                    dtype=dtype,
                    tile=tile,
                    wave_grid=wave_grid,
                    mma_tile=mma_tile,
                    vectors=DEFAULT_VECTOR_SIZES,
                    gemm_pipeline=pipeline,
                    scheduler=scheduler,
                    features=Features(split_image=immediate and splits),
                    double_smem_buffer=doubled,
                )
                instance = make_instance(config, number)
                if immediate and not splits:
                    instance = replace(instance, store_immediate=True)
                yield entry_of(instance, request.arch, defect)
                number += 1
