"""The rule set ``hopper``: tiles that ckprof's engines serve best on NVIDIA's H100 and H200.

What an instance's tile, pipeline and vectors mean there is said in the documentation of the cuda target. The
table has what was fastest for some layer or product, and narrow vectors for channels that wider ones do not
divide. Fields without meaning there are filled in so that the instances are valid: the deepest tile that the
architecture's local memory holds, and the first grid of waves with the largest MMA tile that fits.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.operations.gemm.problem import GEMM_TYPES, LAYOUTS
from ckprof_plugins.pipelines.gemm_instance import Extent
from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance
from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline, Scheduler
from ckprof_plugins.rule_sets.gemm_config import (
    Features,
    GemmConfig,
    entry_of,
    fitting_pairs,
    make_instance,
    mma_k,
    vector_code,
    vectors_fit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.architecture import Architecture, Sizes
    from ckprof.model.types import DataType
    from ckprof.plugin.protocols import RuleSetRequest
    from ckprof_plugins.operations.gemm.problem import MatrixLayout

_TABLE: Final = Path(__file__).with_name("hopper_tiles.json")
_GEMM: Final = "gemm"
#: of a block tile along K, best first
_DEPTHS: Final = (64, 32, 16)
#: left to the kernel
_OWN_VECTORS: Final = (0, 0, 0)


class _Tiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tiles that all go with each of some pipelines, and with each of some vectors."""

    tiles: tuple[str, ...]
    pipelines: tuple[GemmPipeline, ...]
    #: of A, B and the result, in the letters of :func:`vector_code`; products choose theirs if there are none
    vectors: tuple[str, ...] = ()
    two_stage: bool = False
    fold_stride: bool = False


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    #: grids of waves, the preferred ones first
    waves: tuple[str, ...]
    #: direction of convolutions -> tiles
    operations: dict[str, tuple[_Tiles, ...]]
    gemm: tuple[_Tiles, ...]


class HopperRuleSet:
    """All directions, and products of matrices."""

    id = "hopper"
    label = "tiles that the cuda target serves best on H100 and H200"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels: of convolutions, then of products."""
        configs = [
            config
            for direction in request.directions
            for ndim, dtype in product(request.ndims, request.dtypes)
            for config in _configs(direction, ndim, dtype, request.arch)
        ]
        convolutions = [make_instance(config, number) for number, config in enumerate(configs)]
        products = _products(request, len(convolutions)) if _GEMM in request.directions else ()
        return [
            *(entry_of(instance, request.arch) for instance in convolutions),
            *(RuleSetEntry(instance) for instance in products),
        ]


@lru_cache(maxsize=1)
def _table() -> _Table:
    return msgspec.json.decode(_TABLE.read_bytes(), type=_Table)


def _configs(direction: str, ndim: int, dtype: DataType, arch: Architecture) -> Iterator[GemmConfig]:
    for row in _table().operations.get(direction, ()):
        for tile, gemm_pipeline, code in product(row.tiles, row.pipelines, row.vectors):
            vectors = vector_code(code, dtype)
            shape = _shape(tile, gemm_pipeline, vectors, dtype, arch)
            if shape is not None:
                yield GemmConfig(
                    direction,
                    ndim,
                    dtype,
                    *shape,
                    vectors=vectors,
                    gemm_pipeline=gemm_pipeline,
                    scheduler=Scheduler.INTRAWAVE,
                    features=Features(two_stage=row.two_stage, fold_stride=row.fold_stride),
                    double_smem_buffer=gemm_pipeline is GemmPipeline.COMPV4,
                )


def _shape(
    sides: str, gemm_pipeline: GemmPipeline, vectors: Sizes, dtype: DataType, arch: Architecture
) -> tuple[Sizes, Sizes, Sizes] | None:
    """Return tile, wave grid and MMA tile; ``None`` if the architecture has none for these sides."""
    m, n = map(int, sides.split("x"))
    size_bytes = dtype.properties.size_bytes
    buffers = 2 if gemm_pipeline is GemmPipeline.COMPV4 else 1
    for depth in _DEPTHS:
        tile = (m, n, depth)
        if (m + n) * depth * size_bytes * buffers > arch.lds_bytes:
            continue
        pairs = fitting_pairs(tile, arch, dtype)
        for text in _table().waves:
            x, y, z = map(int, text.split("x"))
            grid = (x, y, z)
            shapes = [mma for of_grid, mma in pairs if of_grid == grid and 32 <= sum(mma) <= 64]
            for mma in sorted(shapes, reverse=True):
                whole = (*mma, mma_k(mma, depth, dtype))
                known = whole in arch.mma_tiles.get(dtype.value, ())
                if known and vectors_fit(vectors, tile, grid, size_bytes):
                    return tile, grid, whole
    return None


def _products(request: RuleSetRequest, first: int) -> Iterator[UniversalGemmInstance]:
    dtypes = [dtype for dtype in request.dtypes if dtype in GEMM_TYPES]
    kernels = (
        (layout, dtype, tile, gemm_pipeline, vector_code(code, dtype) if code else _OWN_VECTORS)
        for layout, dtype in product(LAYOUTS, dtypes)
        for row in _table().gemm
        for tile, gemm_pipeline, code in product(row.tiles, row.pipelines, row.vectors or ("",))
    )
    number = first
    for kernel in kernels:
        instance = _product(number, *kernel, request.arch)
        if instance is not None:
            number += 1
            yield instance


def _epilogue(tile: Sizes, grid: Sizes, mma: Sizes) -> Epilogue:
    """Return the one that shuffles, unless it would move a number of MMA tiles that is no power of two."""
    repeats = (tile[axis] // (grid[axis] * mma[axis]) for axis in (0, 1))
    return Epilogue.CSHUFFLE if all(count & (count - 1) == 0 for count in repeats) else Epilogue.DEFAULT


def _product(
    number: int,
    layout: MatrixLayout,
    dtype: DataType,
    tile: str,
    gemm_pipeline: GemmPipeline,
    vectors: Sizes,
    arch: Architecture,
) -> UniversalGemmInstance | None:
    shape = _shape(tile, gemm_pipeline, (1, 1, 1), dtype, arch)
    if shape is None:
        return None
    sides, grid, mma = (Extent(m=m, n=n, k=k) for m, n, k in shape)
    return UniversalGemmInstance(
        id=number,
        direction=_GEMM,
        ndim=layout.ndim,
        layout=layout,
        dtype=dtype,
        tile=sides,
        wave_grid=grid,
        mma_tile=mma,
        gemm_pipeline=gemm_pipeline,
        scheduler=Scheduler.INTRAWAVE,
        epilogue=_epilogue(*shape),
        pad_m=True,
        pad_n=True,
        pad_k=True,
        persistent=False,
        vector_size_a=vectors[0],
        vector_size_b=vectors[1],
        vector_size_c=vectors[2],
    )
