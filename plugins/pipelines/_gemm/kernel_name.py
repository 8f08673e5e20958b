"""The names of GEMM kernels.

A name identifies a kernel for people and for files. It is written here and never read back: what a kernel is
travels as data beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._gemm.instance import GemmInstance

#: Vector sizes that a name leaves out.
DEFAULT_VECTOR_SIZES = (4, 8, 8)

Sizes = tuple[int, int, int]


def gemm_kernel_name(
    *,
    direction: str,
    dtype: str,
    layout: str,
    ndim: int,
    gemm_pipeline: str,
    epilogue: str,
    scheduler: str,
    tile: Sizes,
    wave_grid: Sizes,
    mma_tile: Sizes,
    vector_sizes: Sizes = DEFAULT_VECTOR_SIZES,
    num_wave_groups: int = 1,
    num_groups_to_merge: int = 1,
    double_smem_buffer: bool = False,
    two_stage: bool = False,
    specialization: str = "default",
    explicit_gemm: bool = False,
    stream_k_strategy: str | None = None,
    stream_k_persistent: bool = False,
    split_image: bool = False,
    compute_type: str | None = None,
    pads: tuple[bool, bool, bool] = (True, True, True),
) -> str:
    """Return the name of the kernel that these values describe.

    Every value that distinguishes two kernels is in the name; those that have their usual value are left out.
    All families are named by the same rule.

    :param stream_k_strategy: ``tree`` or ``linear`` for a stream-K kernel, else ``None``.
    :param compute_type: what operands are rounded to, e.g. ``tf32``; ``None`` for nothing.
    :param pads: whether M, N and K are padded.
    """
    parts = [
        f"grouped_conv_{direction}_{dtype}_{layout.lower()}_{ndim}d",
        f"_{gemm_pipeline}_{epilogue}_{scheduler}",
        *("_" + "x".join(map(str, sizes)) for sizes in (tile, wave_grid, mma_tile)),
    ]
    if vector_sizes != DEFAULT_VECTOR_SIZES:
        parts.append("_vec" + "_".join(map(str, vector_sizes)))
    if num_wave_groups != 1:
        parts.append(f"_wg{num_wave_groups}")
    if num_groups_to_merge != 1:
        parts.append(f"_gm{num_groups_to_merge}")
    if double_smem_buffer:
        parts.append("_dsb")
    if two_stage:
        parts.append("_2stage")
    if specialization != "default":
        parts.append(f"_{specialization}")
    if explicit_gemm:
        parts.append("_explicit_gemm")
    if stream_k_strategy is not None:
        parts.append(f"_streamk_{stream_k_strategy}")
        if stream_k_persistent:
            parts.append("_persistent")
    if split_image:
        parts.append("_large_tensor")
    if compute_type is not None:
        parts.append(f"_{compute_type}")
    if not all(pads):
        parts.append("_pad" + "".join(str(int(pad)) for pad in pads))
    return "".join(parts)


def name_of_instance(
    instance: GemmInstance,
    *,
    two_stage: bool = False,
    stream_k_strategy: str | None = None,
    stream_k_persistent: bool = False,
) -> str:
    """Return the name of an instance's kernel, a C++ identifier.

    The further arguments are those of :func:`gemm_kernel_name` that not every family has.
    """
    return gemm_kernel_name(
        direction=instance.direction,
        dtype=instance.dtype.value,
        layout=instance.layout.name,
        ndim=instance.ndim,
        gemm_pipeline=instance.gemm_pipeline.value,
        epilogue=instance.epilogue.value,
        scheduler=instance.scheduler.value,
        tile=instance.tile.sizes,
        wave_grid=instance.wave_grid.sizes,
        mma_tile=instance.mma_tile.sizes,
        vector_sizes=instance.vector_sizes,
        num_wave_groups=instance.num_wave_groups,
        num_groups_to_merge=instance.num_groups_to_merge,
        double_smem_buffer=instance.double_smem_buffer,
        two_stage=two_stage,
        specialization=instance.specialization.value,
        explicit_gemm=instance.explicit_gemm,
        stream_k_strategy=stream_k_strategy,
        stream_k_persistent=stream_k_persistent,
        split_image=instance.split_image,
        compute_type=instance.compute_type.value if instance.compute_type else None,
        pads=instance.pads,
    )
