"""The names of matrix-product kernels: those of CK Tile's dispatcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_plugins.pipelines.universal_gemm.instance import BatchedGemmInstance, MultiDGemmInstance

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance


def kernel_name(instance: UniversalGemmInstance) -> str:
    """Return the name, in which every field of the instance has a place.

    The dispatcher's generator has no batched kernels: ``_batched`` stands where it says what else is special.
    """
    layout, variant = instance.layout.name, ""
    if isinstance(instance, MultiDGemmInstance):
        # the letter of D, which lies as E does
        layout += layout[-1]
        variant = f"_multid_{instance.elementwise_op.value}_d{instance.num_d_tensors}"
    elif isinstance(instance, BatchedGemmInstance):
        variant = "_batched"
    words = (
        "gemm",
        instance.dtype.value,
        layout,
        instance.gemm_pipeline.value,
        instance.epilogue.value,
        instance.scheduler.value,
        *(str(flag) for flag in (*instance.pads, instance.persistent)),
        *(str(sizes) for sizes in (instance.tile, instance.wave_grid, instance.mma_tile)),
    )
    name = "_".join(words)
    if instance.imposes_vectors:
        name = f"{name}_vec{'_'.join(map(str, instance.vector_sizes))}"
    return f"{name}{variant}"
