"""The rule set ``gemm``: the default configuration of the dispatcher's generator of plain matrix products."""

from __future__ import annotations

from dataclasses import fields
from itertools import product
from typing import TYPE_CHECKING, Final

from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GEMM_TYPES, LAYOUTS
from ckprof_plugins.pipelines.gemm_instance import Extent
from ckprof_plugins.pipelines.universal_gemm.instance import MultiDGemmInstance, UniversalGemmInstance
from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline, Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.types import DataType
    from ckprof.plugin.protocols import RuleSetRequest
    from ckprof_plugins.operations.gemm.problem import MatrixLayout

_OPERATION: Final = "gemm"
_TILES_MN: Final = (128, 256)
_TILES_K: Final = (32, 64)
_WAVES: Final = (2, 4)
_MMA_MN: Final = (16, 32)
_MMA_K: Final = 16
#: how products are combined with D tensors, and how many there are (the counts are inferred: built-in ones)
_MULTI_D: Final = ((ElementwiseOp.MULTI_D_ADD, 1), (ElementwiseOp.MULTI_D_ADD, 2))


class GemmRuleSet:
    """One GEMM pipeline, the sizes of tiles, waves and MMA tiles combined, one by one and persistent.

    First without D tensors, then added to one and to two of them. The configuration also lists Relu and Gelu,
    which have one operand: there are no such kernels with D tensors.
    """

    id = "gemm"
    label = "the dispatcher's default configuration of plain matrix products"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels of every layout and type, tiles outermost."""
        if _OPERATION not in request.directions:
            return []
        dtypes = [dtype for dtype in request.dtypes if dtype in GEMM_TYPES]
        plain = [
            _instance(number, shape, layout, dtype)
            for number, (shape, layout, dtype) in enumerate(product(_shapes(), LAYOUTS, dtypes))
        ]
        with_d = [
            _with_d(config, len(plain) * (1 + operation) + number, *combination)
            for operation, combination in enumerate(_MULTI_D)
            for number, config in enumerate(plain)
        ]
        return [RuleSetEntry(instance) for instance in (*plain, *with_d)]


def _shapes() -> Iterator[tuple[int | bool, ...]]:
    yield from product(_TILES_MN, _TILES_MN, _TILES_K, _WAVES, _WAVES, _MMA_MN, _MMA_MN, (False, True))


def _instance(
    number: int, shape: tuple[int | bool, ...], layout: MatrixLayout, dtype: DataType
) -> UniversalGemmInstance:
    tile_m, tile_n, tile_k, wave_m, wave_n, mma_m, mma_n, persistent = shape
    return UniversalGemmInstance(
        id=number,
        direction=_OPERATION,
        ndim=layout.ndim,
        layout=layout,
        dtype=dtype,
        tile=Extent(m=tile_m, n=tile_n, k=tile_k),
        wave_grid=Extent(m=wave_m, n=wave_n, k=1),
        mma_tile=Extent(m=mma_m, n=mma_n, k=_MMA_K),
        gemm_pipeline=GemmPipeline.COMPV4,
        scheduler=Scheduler.INTRAWAVE,
        epilogue=Epilogue.CSHUFFLE,
        pad_m=False,
        pad_n=False,
        pad_k=False,
        persistent=bool(persistent),
        vector_size_a=0,
        vector_size_b=0,
        vector_size_c=0,
    )


def _with_d(
    plain: UniversalGemmInstance, number: int, operation: ElementwiseOp, count: int
) -> MultiDGemmInstance:
    shared = {field.name: getattr(plain, field.name) for field in fields(plain)}
    return MultiDGemmInstance(**{**shared, "id": number}, elementwise_op=operation, num_d_tensors=count)
