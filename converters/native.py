"""Catalogs written as list lines again, in the spelling of CK Tile's own kernels.

The text is a subset of what a record says: it names neither the second stage of backward weight nor the data
types' role in it. :func:`says_all` tells which records come back unchanged when the line is converted.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.model.dtype import DataType

if TYPE_CHECKING:
    from collections.abc import Mapping

    import msgspec

    from ckprof.model.catalog import Catalog

#: catalog variant -> name of the kernel
KERNELS: Final = MappingProxyType(
    {
        "forward": "GroupedConvolutionForwardKernel",
        "bwd_data": "GroupedConvolutionBackwardDataKernel",
        "bwd_weight": "GroupedConvolutionBackwardWeightKernel",
    }
)
DEPTHWISE_KERNEL: Final = "GroupedConvolutionForwardDepthwise"

_PIPELINES: Final = MappingProxyType(
    {
        "compv1": "BASIC_V1",
        "basic_v1": "BASIC_V1",
        "mem": "MEMORY",
        "compv3": "COMPUTE_V3",
        "compv4": "COMPUTE_V4",
        "compv5": "COMPUTE_V5",
        "compv6": "COMPUTE_V6",
        "basic_async_v1": "BASIC_ASYNC_V1",
        "comp_async": "COMPUTE_ASYNC",
        "wavelet": "WAVELET",
    }
)
#: names that come back as another one
_AMBIGUOUS: Final = frozenset({"basic_v1", "comp_async"})
_SCHEDULERS: Final = MappingProxyType(
    {"intrawave": "Intrawave", "interwave": "Interwave", "default": "Default"}
)
_SPECIALIZATIONS: Final = MappingProxyType(
    {
        "default": "Default",
        "filter1x1_pad0": "Filter1x1Pad0",
        "filter1x1_stride1_pad0": "Filter1x1Stride1Pad0",
        "filter3x3": "Filter3x3",
    }
)
_REDUCTIONS: Final = MappingProxyType({"0": "0", "LINEAR": "1", "TREE": "2"})


def to_native(catalog: Catalog) -> list[str]:
    """Return one line per record, in order.

    :raises InputError: the variant has no native spelling, or a record holds an unknown word.
    """
    return [native_line(catalog, record) for record in catalog.records]


def native_line(catalog: Catalog, record: Any) -> str:
    """Return the line of one record; see :func:`to_native`."""
    if catalog.variant == "forward_depthwise":
        numbers = [str(getattr(record, name)) for name in record.__struct_fields__[1:]]
        return f"{DEPTHWISE_KERNEL}<{','.join(numbers)}>"
    kernel = KERNELS.get(catalog.variant)
    if kernel is None:
        known = ", ".join((*KERNELS, "forward_depthwise"))
        raise InputError(f"catalog variant {catalog.variant!r} has no native spelling (known: {known})")
    layout, dtype = catalog.layout, catalog.dtype.value
    fields: list[Any] = [
        *(catalog.ndim, _spelled(_SPECIALIZATIONS, record, "specialization")),
        *(layout.input, layout.weight, "EmptyTuple", layout.output),
        *(record.vector_size_a, record.vector_size_b, record.vector_size_c),
        *(record.num_groups_to_merge, int(record.split_image), int(record.explicit_gemm)),
        *(record.tile_m, record.tile_n, record.tile_k),
        *(record.warp_m, record.warp_n, record.warp_k),
        *(record.warp_tile_m, record.warp_tile_n, record.warp_tile_k),
        *(dtype, dtype),
        *(_spelled(_PIPELINES, record, "pipeline"), _spelled(_SCHEDULERS, record, "scheduler")),
        *(int(record.double_smem_buffer), record.num_wave_groups),
        *("fp32", dtype, "EmptyTuple", "PassThrough"),
    ]
    if catalog.variant == "bwd_weight":
        fields.append(int(record.streamk_enabled))
        if record.streamk_enabled:
            fields.append(_spelled(_REDUCTIONS, record, "streamk_reduction_strategy"))
            fields.append(int(record.streamk_persistent))
    return f"{kernel}<{','.join(str(field) for field in fields)}>"


def says_all(catalog: Catalog, record: Any) -> bool:
    """Say whether converting the record's line gives the record again, but for its id."""
    if catalog.variant not in KERNELS:
        return True
    second_stage = (
        catalog.variant == "bwd_weight"
        and catalog.dtype is not DataType.FP32
        and record.vector_size_c == 1
        and not record.streamk_enabled
    )
    stream_k_possible = catalog.variant == "bwd_weight" or not record.streamk_enabled
    dropped = (
        record.streamk_enabled and catalog.dtype is DataType.FP32 and record.pipeline == "basic_async_v1"
    )
    return (
        record.two_stage is second_stage
        and stream_k_possible
        and not dropped
        and record.pipeline not in _AMBIGUOUS
        and record.epilogue == "cshuffle"
        and (record.streamk_enabled or _without_stream_k(record))
    )


def _without_stream_k(record: Any) -> bool:
    return record.streamk_reduction_strategy is None and not record.streamk_persistent


def _spelled(words: Mapping[str, str], record: msgspec.Struct, name: str) -> str:
    value = getattr(record, name)
    if value not in words:
        known = ", ".join(words)
        raise InputError(
            f"instance {record.id}: {name} {value!r} has no native spelling (known: {known})"  # type: ignore[attr-defined]
        )
    return words[value]
