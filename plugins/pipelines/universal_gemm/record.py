"""The records of catalogs of plain matrix products. Their field order is the key order of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from ckprof.model.catalog import CatalogRecord

if TYPE_CHECKING:
    from ckprof.plugin.protocols import CatalogVariant

#: catalog variant whose records these are
VARIANT: Final = "gemm"

Number = Annotated[int, msgspec.Meta(ge=0)]
Size = Annotated[int, msgspec.Meta(ge=1)]


class UniversalGemmRecord(CatalogRecord, frozen=True, forbid_unknown_fields=True, gc=False):
    """One kernel. ``warp_*`` is the grid of waves of a block, ``warp_tile_*`` the tile of one MMA.

    A vector size of 0 leaves it to the kernel; either all of them are 0 or none. A kernel of one product does
    not say that it is not batched.
    """

    id: Number
    tile_m: Size
    tile_n: Size
    tile_k: Size
    warp_m: Size
    warp_n: Size
    warp_k: Size
    warp_tile_m: Size
    warp_tile_n: Size
    warp_tile_k: Size
    pipeline: str
    scheduler: str
    epilogue: str
    pad_m: bool
    pad_n: bool
    pad_k: bool
    persistent: bool = False
    vector_size_a: Number = 0
    vector_size_b: Number = 0
    vector_size_c: Number = 0
    elementwise_op: str = "PassThrough"
    num_d_tensors: Number = 0
    batched: bool | msgspec.UnsetType = msgspec.UNSET


def catalog_variant() -> CatalogVariant:
    """Return the kind of catalogs that hold the records."""
    from ckprof.plugin.protocols import CatalogVariant
    from ckprof_plugins.operations.gemm.problem import GEMM_TYPES, LAYOUTS

    return CatalogVariant(
        name=VARIANT,
        direction="gemm",
        record_type=UniversalGemmRecord,
        pipeline="universal_gemm",
        layouts=LAYOUTS,
        dtypes=GEMM_TYPES,
    )
