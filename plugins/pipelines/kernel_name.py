"""The names of GEMM kernels.

A name identifies a kernel for people and for files. It is written here and never read back: what a kernel is
travels as data beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_plugins.pipelines.vocabulary import Specialization

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.gemm_instance import GemmInstance

#: Vector sizes that a name leaves out.
DEFAULT_VECTOR_SIZES = (4, 8, 8)


def gemm_kernel_name(instance: GemmInstance, *, two_stage: bool = False, stream_k: str = "") -> str:
    """Return the name of an instance's kernel, a C++ identifier.

    Every value that distinguishes two kernels is in the name; those that have their usual value are left out.
    All families are named by the same rule.

    :param two_stage: a second kernel converts the sums.
    :param stream_k: how a stream-K kernel reduces, e.g. ``tree`` or ``tree_persistent``; empty for others.
    """
    i = instance
    sizes = (i.tile, i.wave_grid, i.mma_tile)
    parts = (
        f"grouped_conv_{i.direction}_{i.dtype.value}_{i.layout.name.lower()}_{i.ndim}d",
        f"_{i.gemm_pipeline.value}_{i.epilogue.value}_{i.scheduler.value}",
        *(f"_{extent}" for extent in sizes),
        "_vec{}_{}_{}".format(*i.vector_sizes) if i.vector_sizes != DEFAULT_VECTOR_SIZES else "",
        f"_wg{i.num_wave_groups}" if i.num_wave_groups != 1 else "",
        f"_gm{i.num_groups_to_merge}" if i.num_groups_to_merge != 1 else "",
        "_dsb" if i.double_smem_buffer else "",
        "_2stage" if two_stage else "",
        f"_{i.specialization.value}" if i.specialization is not Specialization.DEFAULT else "",
        "_explicit_gemm" if i.explicit_gemm else "",
        f"_streamk_{stream_k}" if stream_k else "",
        "_large_tensor" if i.split_image else "",
        "_folded" if i.fold_stride else "",
        f"_{i.compute_type.value}" if i.compute_type else "",
        f"_{i.elementwise_op.value}" if i.elementwise_op else "",
        f"_d{i.d_layouts.replace(',', '_')}" if i.d_layouts else "",
        f"_b{i.dtype_b.value}" if i.dtype_b else "",
        f"_c{i.dtype_result.value}" if i.dtype_result else "",
        f"_d{i.d_dtypes.replace(',', '_')}" if i.d_dtypes else "",
        "" if all(i.pads) else "_pad" + "".join(str(int(pad)) for pad in i.pads),
    )
    return "".join(parts)
