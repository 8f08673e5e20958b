"""Catalogs written as list lines again, in the spelling of CK Tile's own kernels.

The text is a subset of what a record says: it names neither the second stage of backward weight nor the data
types' role in it. :func:`says_all` tells which records come back unchanged when the line is converted.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.model.dtype import DataType
from ckprof.strings import ck_tile, kinds
from ckprof.strings.text import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    import msgspec

    from ckprof.model.catalog import Catalog

#: catalog variant -> kind of text
KERNELS: Final = MappingProxyType(
    {
        "forward": ck_tile.FORWARD,
        "bwd_data": ck_tile.BACKWARD_DATA,
        "bwd_weight": ck_tile.BACKWARD_WEIGHT,
    }
)
DEPTHWISE_KERNEL: Final = "GroupedConvolutionForwardDepthwise"

#: what catalogs say -> CK Tile's name of the GEMM pipeline
_PIPELINES: Final = MappingProxyType(
    {word: name for name, word in ck_tile.PIPELINES.items() if word is not None and name != "BASIC_V2"}
    | {"basic_v1": "BASIC_V1"}
)
#: names that come back as another one
_AMBIGUOUS: Final = frozenset({"basic_v1", "comp_async"})
_SCHEDULERS: Final = kinds.spelled(kinds.TILE_SCHEDULER)
_SPECIALIZATIONS: Final = kinds.spelled(kinds.SPECIALIZATION)
_REDUCTIONS: Final = kinds.spelled(kinds.REDUCTION)


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
    values: dict[str, Any] = {
        **{name: getattr(record, name) for name in record.__struct_fields__},
        "ndim": catalog.ndim,
        "layout_input": layout.input,
        "layout_weight": layout.weight,
        "layout_output": layout.output,
        "type_a": dtype,
        "type_b": dtype,
        "type_result": dtype,
        "specialization": _spelled(_SPECIALIZATIONS, record, "specialization"),
        "pipeline_name": _spelled(_PIPELINES, record, "pipeline"),
        "scheduler": _spelled(_SCHEDULERS, record, "scheduler"),
    }
    if catalog.variant == "bwd_weight" and record.streamk_enabled:
        values["streamk_reduction_strategy"] = _spelled(_REDUCTIONS, record, "streamk_reduction_strategy")
    return render(kernel, values)


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
