"""The records of the catalogs that the converters write. Their field order is the key order of the file."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from ckprof.model.catalog import CatalogRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

RecordId = Annotated[int, msgspec.Meta(ge=0)]
Extent = Annotated[int, msgspec.Meta(ge=1)]
Padding = Annotated[int, msgspec.Meta(ge=0)]


class GemmRecord(CatalogRecord, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One implicit-GEMM kernel, of any direction.

    ``warp_*`` is the grid of waves of a block, ``warp_tile_*`` the tile of one MMA instruction. Files have
    ``compute_type`` and what follows it only where they are set.
    """

    id: RecordId
    tile_m: Extent
    tile_n: Extent
    tile_k: Extent
    warp_m: Extent
    warp_n: Extent
    warp_k: Extent
    warp_tile_m: Extent
    warp_tile_n: Extent
    warp_tile_k: Extent
    vector_size_a: Extent
    vector_size_b: Extent
    vector_size_c: Extent
    pipeline: str
    scheduler: str
    epilogue: str
    double_smem_buffer: bool
    num_groups_to_merge: Extent
    num_wave_groups: Extent
    specialization: str
    two_stage: bool
    explicit_gemm: bool
    split_image: bool
    streamk_enabled: bool
    streamk_reduction_strategy: str | None
    streamk_persistent: bool
    #: what operands are rounded to before they are multiplied, e.g. ``tf32``; absent for their own type
    compute_type: str | None = None
    #: what is done with the elements of the result, e.g. ``AddClamp``; absent if they are stored as they are
    elementwise_op: str | None = None
    #: layouts of the D tensors that it takes, separated by commas, e.g. ``NHWGK,G_K``; absent for none
    d_layouts: str | None = None
    #: types of the second operand and of the result, where they are not the usual ones of the catalog's type
    dtype_b: str | None = None
    dtype_result: str | None = None
    #: types of the D tensors, separated by commas; absent if all have that of the result
    d_dtypes: str | None = None
    #: the stride along the last axis is seen as channels; absent if not
    fold_stride: bool | None = None
    #: the name says ``_si``, a word of upstream's table of variants; absent if not
    store_immediate: bool | None = None
    #: channels are padded to the vectors, ``inside`` or ``outside`` of the time; absent if they are not
    channel_padding: str | None = None


class DepthwiseRecord(CatalogRecord, frozen=True, forbid_unknown_fields=True, gc=False):
    """One direct depthwise kernel."""

    id: RecordId
    tile_h: Extent
    tile_w: Extent
    filt: Extent
    str_h: Extent
    str_w: Extent
    pad_h: Padding
    pad_w: Padding
    nbatch: Extent
    sub_h: Extent
    sub_w: Extent
    in_vec: Extent
    out_vec: Extent


def record_values(family: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the :class:`GemmRecord` that describes an instance.

    :param family: id of its pipeline.
    :param fields: those of :meth:`ckprof.model.instance.Instance.fields` that catalogs do not say once
        for all; pads that are set have no place in records.
    """
    from ckprof_plugins.pipelines.gemm_instance import tiled_values

    values = tiled_values(family, fields)
    reduction, persistent = values.pop("strategy", None), values.pop("persistent", False)
    return {
        "two_stage": family == "two_stage",
        **{name: value for name, value in values.items() if not (name.startswith("pad_") and value)},
        "streamk_enabled": family == "stream_k",
        "streamk_reduction_strategy": reduction,
        "streamk_persistent": persistent,
    }


#: what a record says where the lines of a family do not
GEMM_DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "epilogue": "cshuffle",
        "scheduler": "intrawave",
        "version": "v1",
        "direct_load": False,
        "double_smem_buffer": False,
        "num_groups_to_merge": 1,
        "num_wave_groups": 1,
        "two_stage": False,
        "explicit_gemm": False,
        "split_image": False,
        "streamk_enabled": False,
        "streamk_reduction_strategy": None,
        "streamk_persistent": False,
        "compute_type": None,
        "elementwise_op": None,
        "d_layouts": None,
        "dtype_b": None,
        "dtype_result": None,
        "d_dtypes": None,
        "fold_stride": None,
        "store_immediate": None,
        "channel_padding": None,
    }
)
