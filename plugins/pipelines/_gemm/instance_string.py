"""CK Builder's text for a GEMM kernel: what ``GetInstanceString()`` of the built kernel says.

The text is composed here from the instance alone, so that it can be compared with what the kernel says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.model.strings.rendering import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.strings.kind import StringKind
    from ckprof_plugins.pipelines._gemm.instance import GemmInstance


def _elementwise(instance: GemmInstance) -> Mapping[str, str]:
    """Return the fields of what is done with the elements of the result; those of most kernels are fixed.

    Strings have none for what is done with operands.
    """
    if instance.elementwise_op is None or instance.elementwise_op.properties.operands:
        return {}
    values = {"operation_result": instance.elementwise_op.value}
    if instance.d_tensors:
        further = instance.types.further_of(len(instance.d_tensors))
        types = ",".join(dtype.spelled for dtype in further)
        values |= {"layout_extra": f"tuple({instance.d_layouts})", "type_extra": f"tuple({types})"}
    return values


def gemm_instance_string(
    instance: GemmInstance,
    kind: StringKind,
    *,
    result_type: str | None = None,
    stream_k: Mapping[str, object] | None = None,
) -> str:
    """Return the text: the kernel class and its fields, separated by commas without spaces.

    :param kind: of the instance's direction.
    :param result_type: what the kernel itself stores; ``None`` for the type of the tensors.
    :param stream_k: reduction strategy and persistence of a stream-K kernel, by field names.
    """
    types = instance.types
    tile, waves, mma = instance.tile, instance.wave_grid, instance.mma_tile
    return render(
        kind,
        {
            "ndim": instance.ndim,
            "specialization": instance.specialization.enumerator,
            "layout_input": instance.layout.input,
            "layout_weight": instance.layout.weight,
            "layout_output": instance.layout.output,
            **_elementwise(instance),
            "vector_size_a": instance.vector_size_a,
            "vector_size_b": instance.vector_size_b,
            "vector_size_c": instance.vector_size_c,
            "num_groups_to_merge": instance.num_groups_to_merge,
            "split_image": instance.split_image,
            "explicit_gemm": instance.explicit_gemm,
            "tile_m": tile.m,
            "tile_n": tile.n,
            "tile_k": tile.k,
            "warp_m": waves.m,
            "warp_n": waves.n,
            "warp_k": waves.k,
            "warp_tile_m": mma.m,
            "warp_tile_n": mma.n,
            "warp_tile_k": mma.k,
            "type_a": types.operands[0].spelled,
            "type_b": types.operands[1].spelled,
            "pipeline_name": instance.gemm_pipeline.properties.enumerator,
            "scheduler": instance.scheduler.enumerator,
            "double_smem_buffer": instance.double_smem_buffer,
            "num_wave_groups": instance.num_wave_groups,
            "type_accumulator": types.acc.spelled,
            "type_result": result_type or types.result.spelled,
            "streamk_enabled": stream_k is not None,
            **(stream_k or {}),
        },
    )
