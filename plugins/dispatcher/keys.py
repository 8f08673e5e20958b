"""Keys of CK's dispatcher: what its registry tells two kernels of grouped convolution apart by.

A key has no field for some of what distinguishes instances. Its text of the specialization has it, after the
value that CK's own registration writes, so that two kernels never share a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof_plugins.pipelines.depthwise_family import DepthwiseInstance
from ckprof_plugins.pipelines.gemm_families import StreamKInstance, TwoStageInstance
from ckprof_plugins.pipelines.gemm_instance import GemmInstance
from ckprof_plugins.pipelines.kernel_name import DOUBLE_BUFFER_MARK, TWO_STAGE_MARK
from ckprof_plugins.pipelines.vocabulary import SmemBuffering

if TYPE_CHECKING:
    from ckprof.model.instance import Instance
    from ckprof_plugins.directions._convolution.kernel import ConvOperation

#: numbers of spatial dimensions that the dispatcher's problems have
_DIMENSIONS = (2, 3)
#: blocks per compute unit and what else CK's registration writes for every depthwise kernel
_DEPTHWISE = {"pipeline": "depthwise", "scheduler": "none", "epilogue": "none", "block_per_cu": 2}


def unregistrable(instance: Instance) -> str:
    """Return why CK's dispatcher cannot run an instance; empty if it can."""
    if not isinstance(instance, (GemmInstance, DepthwiseInstance)):
        return f"its keys have no place for kernels of {instance.pipeline}"
    if instance.ndim not in _DIMENSIONS:
        return f"its problems have 2 or 3 dimensions, not {instance.ndim}"
    if isinstance(instance, GemmInstance) and instance.elementwise_op is not None:
        return f"it hands no operation such as {instance.elementwise_op.value} to a kernel"
    return ""


def signature_of(instance: Instance, operation: ConvOperation) -> dict[str, Any]:
    """Return the fields of a key that say what is computed."""
    types = dict(zip(operation.tensors, instance.types.of_tensors, strict=True))
    return {
        **{f"dtype_{part}": types[name].value for part, name in _TENSORS.items()},
        "layout": instance.layout.name.lower(),
        "ndim_spatial": instance.ndim,
    }


_TENSORS = {"in": "input", "wei": "weight", "out": "output"}


def algorithm_of(instance: GemmInstance | DepthwiseInstance) -> dict[str, Any]:
    """Return the fields of a key that say how: tiles, waves, vectors, pipeline and features."""
    if isinstance(instance, DepthwiseInstance):
        i = instance
        sizes = ((i.tile_h, i.tile_w, i.filt), (i.str_h, i.str_w, 0), (i.pad_h, i.pad_w, i.nbatch))
        vectors = (i.in_vec, i.in_vec, i.out_vec)
        return {**_sizes(sizes, vectors), **_DEPTHWISE, "specialization": f"sub{i.sub_h}x{i.sub_w}"}
    sizes = (instance.tile.sizes, instance.wave_grid.sizes, instance.mma_tile.sizes)
    streams = isinstance(instance, StreamKInstance)
    return {
        **_sizes(sizes, instance.vector_sizes),
        "pipeline": instance.gemm_pipeline.value,
        "scheduler": instance.scheduler.value,
        "epilogue": instance.epilogue.value,
        "block_per_cu": instance.block_per_cu,
        "num_wave_groups": instance.num_wave_groups,
        "num_groups_to_merge": instance.num_groups_to_merge,
        "specialization": "_".join((instance.specialization.value, *_marks(instance))),
        "large_tensor": instance.split_image,
        "streamk_enabled": streams,
        "streamk_reduction": instance.strategy.word if isinstance(instance, StreamKInstance) else "none",
        "streamk_persistent": isinstance(instance, StreamKInstance) and instance.persistent,
    }


def _sizes(sizes: tuple[tuple[int, int, int], ...], vectors: tuple[int, int, int]) -> dict[str, Any]:
    named = zip(("tile", "wave", "warp"), sizes, strict=True)
    return {
        **{f"{name}_{axis}": size for name, part in named for axis, size in zip("mnk", part, strict=True)},
        **{f"vector_size_{name}": size for name, size in zip("abc", vectors, strict=True)},
    }


def _marks(instance: GemmInstance) -> list[str]:
    """Return what distinguishes an instance and has no field, in the order of kernel names."""
    chooses = instance.gemm_pipeline.properties.buffering is SmemBuffering.EITHER
    padding = instance.channel_padding
    two_stage = isinstance(instance, TwoStageInstance) or getattr(instance, "two_stage", False)
    marks = {
        DOUBLE_BUFFER_MARK: chooses and instance.double_smem_buffer,
        TWO_STAGE_MARK: two_stage,
        "explicit_gemm": instance.explicit_gemm,
        "folded": instance.fold_stride,
        f"padded_{padding.value}" if padding else "unpadded": padding is not None,
        instance.compute_type.value if instance.compute_type else "": instance.compute_type is not None,
    }
    return [mark for mark, has in marks.items() if has]
