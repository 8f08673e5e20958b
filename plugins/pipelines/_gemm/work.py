"""A problem as the matrix products of a GEMM kernel.

The sizes are those of CK Tile's implicit GEMM, see :mod:`ckprof_plugins.directions._convolution.gemm_sizes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.gemm_work import GemmWork
from ckprof_plugins.directions._convolution.gemm_sizes import (
    backward_data_sizes,
    backward_weight_sizes,
    forward_sizes,
)
from ckprof_plugins.directions._convolution.kernel import ConvKernel

if TYPE_CHECKING:
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.pipelines._gemm.instance import GemmInstance

_GEMM_SIZES: Final = {
    ConvKernel.FORWARD: forward_sizes,
    ConvKernel.BACKWARD_DATA: backward_data_sizes,
    ConvKernel.BACKWARD_WEIGHT: backward_weight_sizes,
}


def gemm_work(
    instance: GemmInstance, kernel: ConvKernel, problem: Convolution, splits: int
) -> GemmWork | None:
    """Return the products, or ``None`` where the kernel does not divide a problem that way.

    :param kernel: which of CK Tile's kernels the instance is.
    :param splits: parts of the reduction.
    """
    if instance.ndim != problem.ndim or instance.num_groups_to_merge != 1 or instance.fold_stride:
        return None
    m, n, k = _GEMM_SIZES[kernel](problem)
    size = instance.dtype.properties.size_bytes
    elements = problem.input_elements + problem.weight_elements + problem.output_elements
    grid = instance.wave_grid
    return GemmWork(
        m=m,
        n=n,
        k=k,
        batch=problem.groups,
        tile_m=instance.tile.m,
        tile_n=instance.tile.n,
        tile_k=instance.tile.k,
        waves=grid.m * grid.n * grid.k,
        splits=splits,
        tensor_bytes=elements * size,
        element_bytes=size,
    )
