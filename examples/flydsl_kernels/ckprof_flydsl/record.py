"""How an instance stands in a catalog and in a conf."""

from __future__ import annotations

import msgspec

from ckprof.model.strings.argument_kinds import POSITIVE, words
from ckprof.model.strings.fields import Field
from ckprof.model.strings.kind import StringKind
from ckprof.model.types import DataType
from ckprof.plugin.protocols import CatalogVariant
from ckprof_converters.conf_family import ConfFamily
from ckprof_plugins.directions._convolution.layout import LAYOUTS as CONV_LAYOUTS
from ckprof_plugins.operations.gemm.problem import LAYOUTS as MATRIX_LAYOUTS

#: id of the family
FLYDSL = "flydsl"
#: types that the kernels have
DTYPES = (DataType.FP16, DataType.BF16)
#: operation -> name in lines, variant of catalogs, and layouts that the kernels have
KINDS = {
    "fwd": (
        "FlyDslForward",
        "forward_flydsl",
        tuple(one for one in CONV_LAYOUTS if one.name in ("nwgc", "nhwgc", "ndhwgc")),
    ),
    "gemm": ("FlyDslGemm", "gemm_flydsl", tuple(one for one in MATRIX_LAYOUTS if one.name == "rcr")),
}


class FlyDslRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One instance in a catalog; the order of the fields is the order of the keys."""

    id: int
    tile_m: int
    tile_n: int
    tile_k: int
    waves_m: int
    vector_size: int
    mfma_k: int


NUMBERS = tuple(name for name in FlyDslRecord.__struct_fields__ if name != "id")

#: operation -> ``FlyDslForward<nhwgc,bf16,64,64,32,2,8,16>``: what kernels print, and what stands in a conf
STRINGS = {
    operation: StringKind(
        id=f"flydsl_{operation}",
        title=f"FlyDSL, {operation}",
        name=name,
        direction=operation,
        fields=(
            Field(name="layout_name", kind=words(tuple(one.name for one in layouts))),
            Field(name="input_type", kind=words(tuple(dtype.value for dtype in DTYPES))),
            *(Field(name=number, kind=POSITIVE) for number in NUMBERS),
        ),
    )
    for operation, (name, _, layouts) in KINDS.items()
}

FAMILIES = tuple(
    ConfFamily(
        id=f"flydsl-{operation}",
        title=STRINGS[operation].title,
        direction=operation,
        names=(name,),
        fields=STRINGS[operation].fields,
        variant=variant,
        record_type=FlyDslRecord,
        layout_name_field="layout_name",
        layouts=layouts,
        dtypes=DTYPES,
        dtype_fields=("input_type",),
    )
    for operation, (name, variant, layouts) in KINDS.items()
)

VARIANTS = tuple(
    CatalogVariant(
        name=variant,
        direction=operation,
        record_type=FlyDslRecord,
        pipeline=FLYDSL,
        layouts=layouts,
        dtypes=DTYPES,
    )
    for operation, (_, variant, layouts) in KINDS.items()
)
