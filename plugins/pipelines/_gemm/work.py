"""A problem as the matrix products of a GEMM kernel.

The sizes are those of CK Tile's implicit GEMM: forward N*out x K with C*filter as reduction, backward weight
K x C*filter with N*out, backward data N*input x C with K*filter over all strides together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ckprof.model.gemm_work import GemmWork
from ckprof_plugins.directions.operation import ConvKernel

if TYPE_CHECKING:
    from ckprof.model.problem import ConvProblem
    from ckprof_plugins.pipelines._gemm.instance import GemmInstance


def gemm_work(
    instance: GemmInstance, kernel: ConvKernel, problem: ConvProblem, splits: int
) -> GemmWork | None:
    """Return the products, or ``None`` where the kernel does not divide a problem that way.

    :param kernel: which of CK Tile's kernels the instance is.
    :param splits: parts of the reduction.
    """
    if instance.ndim != problem.ndim or instance.num_groups_to_merge != 1:
        return None
    pixels = problem.batch * math.prod(problem.output)
    taps = math.prod(problem.filter)
    channels, features = problem.in_channels, problem.out_channels
    if kernel is ConvKernel.FORWARD:
        m, n, k = pixels, features, channels * taps
    elif kernel is ConvKernel.BACKWARD_WEIGHT:
        m, n, k = features, channels * taps, pixels
    else:
        # each tap reaches every stride-th element of the image
        m, n = problem.batch * math.prod(problem.input), channels
        k = -(-features * taps // math.prod(problem.strides))
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
